"""Files that are named after the SHA-256 of their bytes."""

import hashlib
from pathlib import Path

import pytest

from app.trained_models.errors import ArtifactMissing
from app.trained_models.store import ArtifactStore
from tests.stored_files import put, remove


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    folder, staging = tmp_path / "artifacts", tmp_path / "staging"
    folder.mkdir()
    staging.mkdir()
    return folder, staging


@pytest.fixture
def store(folders: tuple[Path, Path]) -> ArtifactStore:
    return ArtifactStore(*folders)


class TestPut:
    def test_names_the_file_after_its_bytes(self, store, folders):
        stored = put(store, lambda path: path.write_bytes(b"tree"))
        assert (stored.sha256, stored.size_bytes) == (hashlib.sha256(b"tree").hexdigest(), 4)
        assert store.path(stored.sha256).read_bytes() == b"tree"
        assert [path.name for path in folders[0].iterdir()] == [f"{stored.sha256}.bristlecone"]

    def test_same_bytes_twice_are_one_file(self, store, folders):
        first, second = (put(store, lambda path: path.write_bytes(b"tree")) for _ in range(2))
        assert first.sha256 == second.sha256
        assert len(list(folders[0].iterdir())) == 1

    def test_a_failed_write_leaves_nothing(self, store, folders):
        def broken(path: Path) -> None:
            path.write_bytes(b"half")
            raise OSError("disk full")

        with pytest.raises(OSError, match="disk full"):
            store.stage(broken)
        assert [list(folder.iterdir()) for folder in folders] == [[], []]


class TestPath:
    def test_absent(self, store):
        with pytest.raises(ArtifactMissing):
            store.path("0" * 64)

    @pytest.mark.parametrize("name", ["", "../secret", "0" * 63, "A" * 64, "0" * 64 + "\n"])
    def test_only_digests_are_accepted(self, store, name):
        with pytest.raises(ValueError, match="not a SHA-256"):
            store.path(name)


class TestDelete:
    def test_deletes_the_file_and_accepts_a_missing_one(self, store):
        stored = put(store, lambda path: path.write_bytes(b"tree"))
        remove(store, stored.sha256)
        remove(store, stored.sha256)
        assert not store.holds(stored.sha256)
