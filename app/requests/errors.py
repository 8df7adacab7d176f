"""Errors of requests that are well-formed but do not fit their data set."""

from app.errors import Invalid


class InvalidTrainingRequest(Invalid):
    """A model or an evaluation does not fit the data set."""

    code, title = "invalid_training_request", "Invalid training request"


class InvalidNoiseRequest(Invalid):
    """Injected noise or a correction does not fit the data set or the model."""

    code, title = "invalid_noise", "Invalid noise"
