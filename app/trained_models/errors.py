"""Errors of trained models."""

from app.errors import Conflict, NotFound, ServiceError, StoredFileMissing


class ModelNotFound(NotFound):
    code, title = "model_not_found", "Model not found"


class AliasNotFound(NotFound):
    code, title = "alias_not_found", "Alias not found"


class ModelInUse(Conflict):
    """An alias or a default version points to the model, or an unfinished job needs it."""

    code, title = "model_in_use", "Model in use"


class ModelNameTaken(Conflict):
    """Other models have the name, or had it: then `NAME:1` would mean another model than before."""

    code, title = "model_name_taken", "Model name taken"


class ArtifactMissing(StoredFileMissing):
    """A file is missing from the store. The client did not cause this and cannot solve it."""

    code, title = "artifact_missing", "Model file missing"


class ArtifactDamaged(ServiceError):
    """The checksum of a file in the store is wrong."""

    code, title = "artifact_damaged", "Model file damaged"


class ArtifactUnsupported(ServiceError):
    """This version cannot read the format of a file in the store, for example after a downgrade."""

    code, title = "artifact_unsupported", "Model file of another version"
