"""Artifact files of trained models."""

from app.storage.content_store import ContentStore
from app.trained_models.errors import ArtifactMissing


class ArtifactStore(ContentStore):
    suffix = ".bristlecone"
    missing = ArtifactMissing
    way_out = "restore it or train the model again"
