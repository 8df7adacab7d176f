"""What can go wrong with trained models."""

from app.errors import NotFound, ServiceError


class ModelNotFound(NotFound):
    code, title = "model_not_found", "Model not found"


class ArtifactMissing(ServiceError):
    """The store lacks a file that it should hold: nothing that a client did, nothing that a client can mend."""

    code, title = "artifact_missing", "Model file missing"


class ArtifactDamaged(ServiceError):
    """The store holds a file that fails its own checksum."""

    code, title = "artifact_damaged", "Model file damaged"


class ArtifactUnsupported(ServiceError):
    """The store holds a file in a format that this version does not read, as after a downgrade."""

    code, title = "artifact_unsupported", "Model file of another version"
