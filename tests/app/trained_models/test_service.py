"""Versions under concurrency, and deletion of artifacts that no row refers to."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.exc import IntegrityError

from app.storage.database import reading
from app.trained_models.errors import ArtifactMissing, ModelNotFound
from app.trained_models.service import TrainedModelService, delete_model, remove_unreferenced
from app.trained_models.store import ArtifactStore
from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.registered import like, register
from tests.stored_files import put


class TestRegister:
    def test_versions_count_within_a_name(self, context):
        first = make_trained_model(context)
        assert [first.version, register(context, like(first)).version] == [1, 2]
        assert register(context, like(first, name="other")).version == 1

    def test_a_deleted_version_is_not_used_again(self, context):
        first = make_trained_model(context)
        second = register(context, like(first))
        delete_model(context.sessions, context.artifact_store, str(second.id))
        assert register(context, like(first)).version == 3

    def test_concurrent_registrations_get_different_versions(self, context):
        new = like(make_trained_model(context))
        with ThreadPoolExecutor(8) as threads:
            rows = list(threads.map(lambda _: register(context, new), range(24)))
        assert sorted(row.version for row in rows) == list(range(2, 26))

    def test_a_missing_artifact_is_refused(self, context):
        row = make_trained_model(context)
        with pytest.raises(ArtifactMissing):
            register(context, like(row, artifact_sha256="0" * 64))

    def test_a_deleted_data_set_is_an_error_and_not_retried_forever(self, context):
        row = make_trained_model(context)
        with pytest.raises(IntegrityError):
            register(context, like(row, dataset_id=row.id))


class TestResolve:
    @pytest.fixture
    def models(self, context):
        first = make_trained_model(context)
        return {"first": first, "second": register(context, like(first))}

    @pytest.mark.parametrize(
        ("reference", "which"), [("credit-risk", "second"), ("credit-risk:1", "first"), ("credit-risk:2", "second")]
    )
    def test_by_name(self, context, models, reference, which):
        with reading(context.sessions) as session:
            assert TrainedModelService(session, context.artifact_store).resolve(reference).id == models[which].id

    def test_by_id(self, context, models):
        with reading(context.sessions) as session:
            service = TrainedModelService(session, context.artifact_store)
            assert service.resolve(str(models["first"].id)).version == 1
            assert service.get(models["first"].id).version == 1

    @pytest.mark.parametrize("reference", ["nobody", "credit-risk:3", "@best", "a\0b", "\ud800", "x" * 101])
    def test_unknown(self, context, models, reference):
        with (
            reading(context.sessions) as session,
            pytest.raises(ModelNotFound, match="There is no trained model"),
        ):
            TrainedModelService(session, context.artifact_store).resolve(reference)


class TestDelete:
    def test_a_file_is_not_deleted_while_another_model_has_the_same_bytes(self, context):
        first = make_trained_model(context)
        second = register(context, like(first))
        for row, is_kept in ((first, True), (second, False)):
            delete_model(context.sessions, context.artifact_store, str(row.id))
            assert context.artifact_store.holds(row.artifact_sha256) is is_kept


class TestGarbageCollection:
    def test_only_old_artifacts_without_a_row_are_deleted(self, context):
        row, store, day = make_trained_model(context), context.artifact_store, 86_400.0
        old = put(store, lambda path: path.write_bytes(b"left")).sha256
        new = put(store, lambda path: path.write_bytes(b"just now")).sha256
        foreign = context.settings.artifacts_folder / "notes.bristlecone"
        foreign.write_bytes(b"not ours")
        then = time.time() - 2 * day
        os.utime(foreign, (then, then))
        for sha256 in (row.artifact_sha256, old):
            os.utime(store.path(sha256), (then, then))
        assert set(dict(store.files())) == {row.artifact_sha256, old, new}
        assert remove_unreferenced(context.sessions, store, day) == 1
        assert [store.holds(sha256) for sha256 in (row.artifact_sha256, old, new)] == [True, False, True]
        assert foreign.exists()
        assert remove_unreferenced(context.sessions, store, day) == 0

    def test_a_file_that_was_put_again_is_not_deleted(self, context):
        class PutAgain(ArtifactStore):
            """Store in which a worker puts the same bytes between the listing and the deletion."""

            def files(self):
                listed = list(super().files())
                for _ in listed:
                    put(self, lambda path: path.write_bytes(b"left"))
                return iter(listed)

        store = PutAgain(context.settings.artifacts_folder, context.settings.staging_folder)
        sha256, day = put(store, lambda path: path.write_bytes(b"left")).sha256, 86_400.0
        then = time.time() - 2 * day
        os.utime(store.path(sha256), (then, then))
        assert remove_unreferenced(context.sessions, store, day) == 0
        assert store.holds(sha256)
