"""Files of audited rows: slices and batches contain what was written, worst first."""

from pathlib import Path

import numpy as np
import pytest

from app.audits.records import AuditedRows
from app.audits.store import read_batches, read_rows, write_rows


@pytest.fixture
def rows() -> AuditedRows:
    """Rows for more than one batch of a file, with ties in quality."""
    generator = np.random.default_rng(0)
    n_rows = 150_000
    quality = generator.integers(0, 1000, n_rows) / 1000
    labels = [generator.integers(0, 3, n_rows).astype(np.int32) for _ in range(2)]
    return AuditedRows(np.arange(n_rows), *labels, quality, generator.random(n_rows) < 0.3)


@pytest.fixture
def path(rows: AuditedRows, tmp_path: Path) -> Path:
    path = tmp_path / "issues.arrow"
    write_rows(path, rows.worst_first())
    return path


def _same(actual: AuditedRows, expected: AuditedRows) -> None:
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(vars(actual)[name], values)


def _selected(rows: AuditedRows, flagged: bool | None) -> AuditedRows:
    """Return the selected rows, worst first, in the simplest way: sort all rows and select."""
    order = sorted(range(len(rows)), key=lambda i: (rows.quality[i], i))
    selected = np.array([i for i in order if flagged is None or rows.is_issue[i] == flagged])
    return AuditedRows(*(values[selected] for values in vars(rows).values()))


@pytest.mark.parametrize("flagged", [None, True, False])
def test_slices_and_batches_are_the_sorted_rows(rows: AuditedRows, path: Path, flagged: bool | None) -> None:
    expected = _selected(rows, flagged)
    for offset in (0, 1, 65_530, len(expected) - 3):
        part = AuditedRows(*(values[offset : offset + 10] for values in vars(expected).values()))
        _same(read_rows(path, flagged, offset, 10), part)
    batches = [vars(batch) for batch in read_batches(path, flagged)]
    assert len(batches) > 1
    _same(AuditedRows(*(np.concatenate([batch[name] for batch in batches]) for name in vars(expected))), expected)


@pytest.mark.parametrize("flagged", [None, True, False])
def test_a_slice_beyond_the_end_is_empty(path: Path, flagged: bool | None) -> None:
    assert len(read_rows(path, flagged, 2**61, 10)) == 0


def test_the_same_rows_are_the_same_bytes(rows: AuditedRows, path: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "again.arrow", rows.worst_first())
    assert (tmp_path / "again.arrow").read_bytes() == path.read_bytes()
