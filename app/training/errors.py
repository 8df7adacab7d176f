"""Errors of training requests."""

from app.errors import Invalid


class IncompatibleTestDataset(Invalid):
    """The test data set lacks features of the training data, or has other kinds or more classes."""

    code, title = "incompatible_test_dataset", "Incompatible test data set"
