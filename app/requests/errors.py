"""Errors of well-formed requests that are incompatible with their data set."""

from app.errors import Invalid


class InvalidTrainingRequest(Invalid):
    """Model or evaluation that is incompatible with the data set."""

    code, title = "invalid_training_request", "Invalid training request"


class JobTooLarge(Invalid):
    """Job that may need more memory than a job may have."""

    code, title = "job_too_large", "Job too large"


class InvalidNoiseRequest(Invalid):
    """Injected noise or correction that is incompatible with the data set or the model."""

    code, title = "invalid_noise", "Invalid noise"
