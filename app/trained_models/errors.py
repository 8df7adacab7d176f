"""Errors of trained models."""

from app.errors import NotFound, ServiceError


class ModelNotFound(NotFound):
    code, title = "model_not_found", "Model not found"


class ArtifactMissing(ServiceError):
    """A file is missing from the store. The client did not cause this and cannot solve it."""

    code, title = "artifact_missing", "Model file missing"


class ArtifactDamaged(ServiceError):
    """The checksum of a file in the store is wrong."""

    code, title = "artifact_damaged", "Model file damaged"


class ArtifactUnsupported(ServiceError):
    """This version cannot read the format of a file in the store, for example after a downgrade."""

    code, title = "artifact_unsupported", "Model file of another version"
