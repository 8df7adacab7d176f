"""A short run of the fuzzer of uploads."""

import pytest

from tests.fuzzing.files import FAILED, STORED, SharedReader, read_upload, run
from tests.fuzzing.seed_files import seed_files


@pytest.mark.parametrize("name", seed_files())
def test_files_are_valid_before_they_are_damaged(tmp_path, name):
    with SharedReader() as reader:
        assert read_upload(reader, tmp_path, seed_files()[name]) == STORED


def test_damaged_files_are_stored_or_refused(tmp_path):
    outcomes = run(200, seed=14, kept=tmp_path / "kept")
    assert outcomes[FAILED] == 0
    assert outcomes[STORED] > 0
    assert outcomes.total() == 200
