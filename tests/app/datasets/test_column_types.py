"""Column types are detected from the whole file, by the documented rules."""

import math

import pyarrow as pa
import pytest

from app.datasets.column_types import ColumnKind
from app.datasets.formats import FileFormat, PlainFile
from app.datasets.ingestion import ingest
from app.datasets.options import UploadOptions
from app.datasets.profiling import MAX_DISTINCT, narrowest_integer
from app.settings import Limits
from tests.app.datasets.tables import parquet


@pytest.fixture
def ingested(tmp_path):
    """Return a function that ingests bytes; the label column is `y`."""

    def make(content, file_format=FileFormat.CSV, **types):
        source = tmp_path / "source"
        source.write_bytes(content)
        (tmp_path / "canonical").unlink(missing_ok=True)
        options = UploadOptions(target="y", name="t", types={name: ColumnKind(kind) for name, kind in types.items()})
        return ingest(PlainFile(source, "", 0), file_format, options, Limits(), tmp_path / "canonical")

    return make


def csv_column(*values):
    """Return a file with the column `a`, another feature and two alternating classes."""
    return "a,b,y\n" + "".join(f"{value},{row}.5,{row % 2}\n" for row, value in enumerate(values))


class TestText:
    @pytest.mark.parametrize(
        ("values", "kind", "categories", "missing"),
        [
            (["1", "2.5", "-3e2", "+4", " 5 ", ".5"], "numeric", None, 0),
            (["1", "", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", " ? "], "numeric", None, 10),
            (["", "NA"], "ignored", None, 2),
            (["1", "2", "x"], "categorical", ["1", "2", "x"], 0),
            (["1", "0x1f"], "categorical", ["0x1f", "1"], 0),
            (["b", " a", "a ", "?"], "categorical", ["a", "b"], 1),
            (["True", "false", "TRUE", ""], "categorical", ["false", "true"], 1),
            (["true", "1"], "categorical", ["1", "true"], 0),
            (["true", "", "TRUE"], "categorical", ["false", "true"], 1),
            (["01234", "94105"], "categorical", ["01234", "94105"], 0),
            (["0", "0.5", "10"], "numeric", None, 0),
            (["inf", "x"], "categorical", ["inf", "x"], 0),
            (['"u,v"', '"say ""hi"""'], "categorical", ['say "hi"', "u,v"], 0),
        ],
    )
    def test_kind(self, ingested, values, kind, categories, missing):
        feature = ingested(csv_column(*values).encode()).features[0]
        assert (feature.kind, feature.categories, feature.missing) == (kind, categories, missing)

    def test_a_text_far_below_the_first_block_is_noticed(self, ingested):
        """Blocks have 1 MiB; the only text comes after 3 MiB of numbers."""
        content = csv_column(*(f"{row % 9}{'.':0<40}" for row in range(80_000)), "tail").encode()
        assert len(content) > 3 * 1024**2
        feature = ingested(content).features[0]
        assert feature.kind == "categorical"
        assert len(feature.categories) == 10

    def test_requested_categorical(self, ingested):
        feature = ingested(csv_column("02134", "2134", "10").encode(), a="categorical").features[0]
        assert feature.categories == ["02134", "10", "2134"]

    @pytest.mark.parametrize(
        ("header", "names"), [("a;b;y", ["a", "b"]), ("a\tb\ty", ["a", "b"]), ('"a;b",c,y', ["a;b", "c"])]
    )
    def test_delimiter(self, ingested, header, names):
        mark = {";": ";", "\t": "\t"}.get(header[1], ",")
        content = f"{header}\n1{mark}2{mark}0\n3{mark}4{mark}1\n"
        assert [feature.name for feature in ingested(content.encode()).features] == names

    def test_tsv_keeps_commas(self, ingested):
        features = ingested(b"a,b\ty\n1\t0\n2\t1\n", FileFormat.TSV).features
        assert [feature.name for feature in features] == ["a,b"]

    def test_byte_order_mark_line_ends_and_blank_lines(self, ingested):
        table = ingested(b"\xef\xbb\xbf\r\na,y\r\n1,0\r\n\r\n2,1\r\n")
        assert ([feature.name for feature in table.features], table.n_rows) == (["a"], 2)


class TestNumbers:
    def test_statistics(self, ingested):
        feature = ingested(csv_column(4, "", 1, 1).encode()).features[0]
        assert (feature.missing, feature.min, feature.max, feature.mean, feature.distinct) == (1, 1, 4, 2.0, 2)

    def test_distinct_is_null_beyond_its_limit(self, ingested):
        at_cap, above = (ingested(csv_column(*range(MAX_DISTINCT + extra)).encode()).features[0] for extra in (0, 1))
        assert (at_cap.distinct, above.distinct) == (MAX_DISTINCT, None)

    def test_mean_of_large_values_does_not_overflow(self, ingested):
        feature = ingested(csv_column(1e308, 1.1e308, 1e308).encode()).features[0]
        assert feature.mean is None or math.isclose(feature.mean, 3.1e308 / 3)

    @pytest.mark.parametrize(
        ("low", "high", "name"),
        [
            (0, 255, "uint8"), (0, 256, "uint16"), (-1, 127, "int8"), (-1, 128, "int16"), (-129, 0, "int16"),
            (0, 2**32 - 1, "uint32"), (-(2**31), 2**31 - 1, "int32"), (0, 2**64 - 1, "uint64"), (-(2**63), 0, "int64"),
        ],
    )  # fmt: skip
    def test_narrowest_integer(self, low, high, name):
        assert str(narrowest_integer(low, high)) == name


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (["10", "9", "9"], [9, 10]),
            (["1.0", "2.0", "2"], [1, 2]),
            (["0.5", "-1", "0.5"], [-1.0, 0.5]),
            (["10", "9", "x"], ["10", "9", "x"]),
            (["True", "FALSE", "true"], [False, True]),
        ],
    )
    def test_in_text(self, ingested, labels, expected):
        rows = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
        found = ingested(f"a,y\n{rows}".encode()).target
        assert found.labels == expected
        assert [type(label) for label in found.labels] == [type(label) for label in expected]
        assert sum(found.counts) == 3

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [([1.0, 2.0], [1, 2]), ([True, False], [False, True]), (["b", "a"], ["a", "b"]), ([10, 9], [9, 10])],
    )
    def test_in_parquet(self, ingested, labels, expected):
        found = ingested(parquet(a=[1, 2], y=labels), FileFormat.PARQUET).target
        assert found.labels == expected
        assert [type(label) for label in found.labels] == [type(label) for label in expected]

    def test_requested_categorical_stays_text(self, ingested):
        assert ingested(b"a,y\n1,01\n2,1\n", y="categorical").target.labels == ["01", "1"]


class TestTypedFiles:
    @pytest.mark.parametrize("missing", [None, "NA", " "])
    def test_text_is_read_as_in_text_files(self, ingested, missing):
        content = parquet(a=["1", " 2", missing], y=[0, 1, 1])
        numeric = ingested(content, FileFormat.PARQUET).features[0]
        assert (numeric.kind, numeric.min, numeric.max, numeric.missing) == ("numeric", 1, 2, 1)
        assert ingested(content, FileFormat.PARQUET, a="categorical").features[0].categories == ["1", "2"]

    def test_declared_categories_stay_categories(self, ingested):
        content = parquet(a=pa.array(["1", "2", "NA"]).dictionary_encode(), y=[0, 1, 1])
        feature = ingested(content, FileFormat.PARQUET).features[0]
        assert (feature.categories, feature.missing) == (["1", "2"], 1)

    def test_declared_categories_of_numbers_and_dates(self, ingested):
        days = pa.array([0, 1, 0], pa.date32())
        content = parquet(
            a=pa.array([101, 7, None]).dictionary_encode(), b=days.dictionary_encode(), c=days, y=[0, 1, 1]
        )
        found = ingested(content, FileFormat.PARQUET)
        assert [feature.categories for feature in found.features] == [["101", "7"], None, None]
        again = ingested(content, FileFormat.PARQUET, a="numeric")
        assert (again.features[0].kind, again.features[0].max) == ("numeric", 101)

    def test_numbers_stay_labels_and_dates_are_their_text(self, ingested):
        content = parquet(a=[1, 2, 3], y=pa.array([7, 8, 8]).dictionary_encode())
        assert ingested(content, FileFormat.PARQUET).target.labels == [7, 8]
        content = parquet(a=[1, 2, 3], y=pa.array([19723, 19724, 19724], pa.date32()))
        assert ingested(content, FileFormat.PARQUET).target.labels == ["2024-01-01", "2024-01-02"]

    def test_numbers_as_categories(self, ingested):
        content = parquet(a=[1.0, 2.5, None], y=[0, 1, 1])
        assert ingested(content, FileFormat.PARQUET, a="categorical").features[0].categories == ["1", "2.5"]
