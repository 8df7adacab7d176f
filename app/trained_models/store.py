"""Artifact files of trained models."""

from app.storage.content_store import ContentStore
from app.trained_models.errors import ArtifactMissing


class ArtifactStore(ContentStore):
    """Store of artifacts, by the SHA-256 of their bytes."""

    suffix = ".bristlecone"
    missing = ArtifactMissing
    way_out = "restore it or train the model again"
