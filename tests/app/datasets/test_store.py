"""Data sets are read from the store as they were stored."""

import gzip
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from app.datasets.errors import DatasetFileDamaged, DatasetFileMissing
from app.datasets.formats import PlainFile, decompressed
from app.datasets.ingestion import ingest
from app.datasets.options import UploadOptions
from app.datasets.store import DatasetStore
from app.datasets.stored_table import TrainingTable
from app.settings import Limits
from tests.app.datasets.tables import arrow_file, arrow_stream, parquet
from tests.shared_material import shared_path

SETS = ["credit", "vehicle", "titanic", "unsw_nb15.test", "mnist.test"]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "staging").mkdir()
    return DatasetStore(tmp_path / "store", tmp_path / "staging")


@pytest.fixture
def stored(store, tmp_path):
    """Return a function that stores bytes and returns their profile and the arrays."""

    def make(content, target="y", exclude=()):
        source = tmp_path / "source"
        source.write_bytes(content)
        file = PlainFile(source, hashlib.sha256(content).hexdigest(), len(content))
        options = UploadOptions(target=target, name="t", exclude=exclude)
        fingerprint = options.fingerprint(file.sha256)
        with store.staged() as canonical:
            table = ingest(file, None, options, Limits(), canonical)
            store.publish(canonical, fingerprint)
        return table, store.load(fingerprint)

    return make


def expected_matrix(table, names):
    columns = [table.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names]
    return np.column_stack(columns)


class TestRealSets:
    @pytest.mark.parametrize("name", SETS)
    def test_parquet(self, stored, name):
        path = shared_path("data", f"{name}.parquet")
        original = pq.read_table(path)
        extra = [column for column in original.column_names if column.startswith("target_")]
        table, arrays = stored(path.read_bytes(), "target", extra)
        names = [column for column in original.column_names if not column.startswith("target")]
        assert [feature.name for feature in table.features] == names
        used = [feature.name for feature in table.features if feature.reason is None]
        constant = [feature.name for feature in table.features if feature.reason == "constant"]
        assert used + constant == sorted(names, key=constant.__contains__)
        np.testing.assert_array_equal(arrays.X, expected_matrix(original, used))
        assert all(len(original.column(name).unique()) == 1 for name in constant)
        assert np.array(table.target.labels)[arrays.y].tolist() == original.column("target").to_pylist()
        assert arrays.X.flags.f_contiguous
        assert np.isnan(arrays.X).sum() == sum(feature.missing for feature in table.features)

    @pytest.mark.parametrize("name", ["credit", "vehicle"])
    def test_the_same_set_as_csv_gives_the_same_arrays(self, stored, tmp_path, name):
        path = shared_path("data", f"{name}.parquet")
        original = pq.read_table(path)
        cells = [column.to_pylist() for column in original.columns]
        rows = [["" if cell is None or cell != cell else str(cell) for cell in row] for row in zip(*cells, strict=True)]
        lines = [original.column_names, *rows]
        _, from_csv = stored("".join(",".join(line) + "\n" for line in lines).encode(), "target")
        _, from_parquet = stored(path.read_bytes(), "target")
        np.testing.assert_array_equal(from_csv.X, from_parquet.X)
        np.testing.assert_array_equal(from_csv.y, from_parquet.y)


class TestArrays:
    def test_categories_and_missing_values(self, stored):
        _, arrays = stored(b"a,b,y\n1,u,q\n,v,p\n3,,q\n0,u,q\n")
        nan = np.nan
        np.testing.assert_array_equal(arrays.X, [[1, 0], [nan, 1], [3, nan], [0, 0]])
        np.testing.assert_array_equal(arrays.y, [1, 0, 1, 1])
        assert (arrays.X.dtype, arrays.y.dtype) == (np.float32, np.int64)

    @pytest.mark.parametrize(
        ("values", "dtype"),
        [
            ([0, 2**24], np.float32),
            ([0, 2**24 + 1], np.float64),
            ([-(2**24) - 1, 0], np.float64),
            ([0.5, None], np.float32),
            ([0.1, None], np.float64),
            (pa.array([0.1, 0.2], pa.float32()), np.float32),
            ([1e300, 1.0], np.float64),
        ],
    )
    def test_float32_only_if_it_is_exact(self, stored, values, dtype):
        _, arrays = stored(parquet(a=values, y=[0, 1]))
        assert arrays.X.dtype == dtype
        expected = [np.nan if value is None else value for value in pa.array(values).to_pylist()]
        np.testing.assert_array_equal(arrays.X[:, 0].astype(np.float64), expected)

    def test_negative_zero_is_the_label_zero(self, stored):
        _, arrays = stored(parquet(a=[1, 2, 3], y=[0.0, -0.0, 1.0]))
        assert arrays.y.tolist() == [0, 0, 1]

    def test_every_format_gives_the_same_arrays(self, stored):
        columns = {"a": [1.5, None, 3.0], "b": ["u", "v", None], "c": [True, False, None], "y": [1, 0, 1]}
        table = pa.table(columns)
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(table, sink)
        files = [sink.getvalue().to_pybytes(), parquet(**columns), arrow_stream(**columns), arrow_file(**columns)]
        arrays = [stored(content)[1] for content in files]
        for other in arrays[1:]:
            np.testing.assert_array_equal(other.X, arrays[0].X)
            np.testing.assert_array_equal(other.y, arrays[0].y)

    def test_many_row_groups(self, stored):
        rng = np.random.default_rng(0)
        values = rng.normal(size=(300_000, 12))
        labels = rng.integers(0, 3, len(values))
        content = parquet(**{f"x{index}": values[:, index] for index in range(12)}, y=labels)
        _, arrays = stored(content)
        np.testing.assert_array_equal(arrays.X, values)
        np.testing.assert_array_equal(arrays.y, labels)

    def test_wide(self, stored):
        values = np.arange(3 * 2_000).reshape(3, -1)
        _, arrays = stored(parquet(**{f"x{index}": values[:, index] for index in range(2_000)}, y=[0, 1, 1]))
        np.testing.assert_array_equal(arrays.X, values)


class TestFiles:
    def test_missing(self, store):
        with pytest.raises(DatasetFileMissing):
            store.load("0" * 64)

    @pytest.mark.parametrize("position", [0.001, 0.3, 0.6, 0.999])
    def test_one_flipped_byte_is_noticed_or_harmless(self, stored, store, tmp_path, position):
        content = parquet(a=np.arange(20_000) % 1009, y=np.arange(20_000) % 2)
        _, before = stored(content)
        (path,) = (tmp_path / "store").iterdir()
        damaged = bytearray(path.read_bytes())
        damaged[int(position * len(damaged))] ^= 0xFF
        path.write_bytes(damaged)
        try:
            after = store.load(path.stem)
        except DatasetFileDamaged:
            return
        assert isinstance(after, TrainingTable)
        np.testing.assert_array_equal(after.X, before.X)
        np.testing.assert_array_equal(after.y, before.y)

    def test_staging_is_emptied_if_the_block_raises(self, store, tmp_path):
        def fail():
            with store.staged() as path:
                path.write_bytes(b"half")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert list((tmp_path / "staging").iterdir()) == []

    @pytest.mark.parametrize("compress", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)])
    def test_compressed_parts_are_joined(self, tmp_path, compress):
        source = tmp_path / "source"
        source.write_bytes(compress(b"a,y\n1,") + compress(b"0\n2,1\n"))
        plain = decompressed(PlainFile(source, "", 0), tmp_path / "plain", 1000)
        assert plain.path.read_bytes() == b"a,y\n1,0\n2,1\n"
        assert plain.sha256 == hashlib.sha256(b"a,y\n1,0\n2,1\n").hexdigest()
