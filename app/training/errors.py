"""Errors of training requests."""

from app.errors import Invalid


class IncompatibleTestDataset(Invalid):
    """Test data set that lacks features of the training data, or has features of other kinds or more classes."""

    code, title = "incompatible_test_dataset", "Incompatible test data set"
