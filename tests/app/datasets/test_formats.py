"""Files of every format and encoding, and what files of other types are told."""

import gzip
import io
import json
import zipfile

import openpyxl
import pyarrow as pa
import pytest

from app.settings import MEBIBYTE, Limits
from tests.app.datasets.tables import code_and_detail, ndjson, parquet, upload

ROWS = [("é", 1.5, True, "u"), ("b", None, False, "v"), ("b", 3.0, True, "u"), ("é", 4.25, None, "v")]
HEADER = ("name", "amount", "flag", "y")
CSV = "name,amount,flag,y\né,1.5,true,u\nb,,false,v\nb,3.0,true,u\né,4.25,,v\n"
OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
KINDS = {"name": "categorical", "amount": "numeric", "flag": "categorical"}


def workbook(*sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


FILES = {
    "CSV": ("t.csv", CSV.encode(), {}),
    "UTF-8 with a mark": ("t.csv", CSV.encode("utf-8-sig"), {}),
    "UTF-16 with a mark": ("t.csv", CSV.encode("utf-16"), {}),
    "UTF-32 with a mark": ("t.csv", CSV.encode("utf-32"), {}),
    "UTF-32 with a mark, other byte order": ("t.csv", b"\0\0\xfe\xff" + CSV.encode("utf-32-be"), {}),
    "UTF-16 without a mark, named": ("t.csv", CSV.encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "latin-1, named": ("t.csv", CSV.encode("latin-1"), {"encoding": "latin-1"}),
    "semicolons": ("t.csv", CSV.replace(",", ";").encode(), {}),
    "bars": ("t.csv", CSV.replace(",", "|").encode(), {}),
    "a delimiter that is named": ("t.csv", CSV.replace(",", "^").encode(), {"delimiter": "^"}),
    "tabs that are named": ("t.csv", CSV.replace(",", "\t").encode(), {"delimiter": "\\t"}),
    "NDJSON": ("t.ndjson", ndjson(*OBJECTS), {}),
    "NDJSON without a name": ("t", ndjson(*OBJECTS), {}),
    "NDJSON called JSON": ("t.json", ndjson(*OBJECTS), {}),
    "JSON array": ("t.json", json.dumps(OBJECTS).encode(), {}),
    "JSON array without a name": ("t", b"\xef\xbb\xbf \n" + json.dumps(OBJECTS, indent=2).encode(), {}),
    "JSON array as UTF-16, by its name": ("t.json", json.dumps(OBJECTS).encode("utf-16"), {}),
    "JSON array as UTF-16, named": ("t.json", json.dumps(OBJECTS).encode("utf-16-be"), {"encoding": "utf-16-be"}),
    "JSON array as UTF-16": ("t", json.dumps(OBJECTS, ensure_ascii=False).encode("utf-16"), {}),
    "JSON array called NDJSON, as latin-1": (
        "t.jsonl.gz",
        gzip.compress(json.dumps(OBJECTS, ensure_ascii=False).encode("latin-1")),
        {"encoding": "latin-1"},
    ),
    "workbook": ("t.xlsx", workbook([HEADER, *ROWS]), {}),
    "workbook without a name": ("t", workbook([(), HEADER, *ROWS[:2], (), *ROWS[2:]]), {}),
    "workbook as gzip": ("t.xlsx.gz", gzip.compress(workbook([HEADER, *ROWS])), {}),
}  # fmt: skip


@pytest.mark.parametrize(("file_name", "content", "fields"), FILES.values(), ids=FILES)
def test_all_forms_give_the_same_table(client, file_name, content, fields):
    response = upload(client, content, file_name, **fields)
    assert response.status_code == 201, response.text
    body = response.json()
    assert {feature["name"]: feature["kind"] for feature in body["features"]} == KINDS
    assert client.get(f"/datasets/{body['id']}/rows").json()["rows"] == [
        ["é", 1.5, "true", "u"],
        ["b", None, "false", "v"],
        ["b", 3.0, "true", "u"],
        ["é", 4.25, None, "v"],
    ]


class TestReading:
    def test_is_told(self, client):
        reading = upload(client, CSV.replace(",", ";").encode("latin-1"), encoding="latin-1").json()["reading"]
        assert (reading["format"], reading["encoding"], reading["delimiter"]) == ("CSV", "iso8859-1", ";")
        headers = {"Content-Type": "text/csv; charset=latin-1"}
        body = client.post("/datasets?target=y", content=CSV.encode("latin-1"), headers=headers).json()
        assert body["reading"]["encoding"] == "iso8859-1"
        assert {"", "NA", "null"} <= set(reading["nulls"])

    @pytest.mark.parametrize(
        ("fields", "code", "pointer"),
        [
            ({"encoding": "klingon"}, "unknown_encoding", "/encoding"),
            ({"encoding": "rot13"}, "unknown_encoding", "/encoding"),
            ({"encoding": "ascii"}, "undecodable_text", "/encoding"),
            ({"delimiter": ";;"}, "invalid_request", "/delimiter"),
            ({"decimal": "x"}, "invalid_request", "/decimal"),
            ({"decimal": ",", "thousands": ","}, "invalid_request", "/"),
            ({"dates": "%q"}, "invalid_request", "/dates"),
            ({"dates": '{"when": "%d.%m.%Y"}'}, "unknown_typed_column", "/dates/when"),
            ({"dates": '{"name": "%d.%m.%Y", "name": "%Y"}'}, "invalid_request", "/dates"),
            ({"types": '{"name": "numeric", "name": "ignored"}'}, "invalid_request", "/types"),
            ({"types": '{"name": '}, "invalid_request", "/types"),
        ],
    )
    def test_invalid_fields(self, client, fields, code, pointer):
        problem = upload(client, CSV.encode(), "t.csv", **fields).json()
        assert (problem["code"], problem["errors"][0]["pointer"]) == (code, pointer), problem

    def test_a_directive_that_does_not_exist(self, client):
        detail = upload(client, CSV.encode(), "t.csv", dates="%Q").json()["errors"][0]["detail"]
        assert detail.endswith("%a %A %%")

    def test_fields_that_a_format_has_no_place_for(self, client):
        assert upload(client, workbook([HEADER, *ROWS]), delimiter=";").json()["code"] == "invalid_reading"
        assert upload(client, workbook([HEADER, *ROWS]), encoding="latin-1").json()["code"] == "invalid_reading"

    def test_missing_texts_that_are_named(self, client):
        body = upload(client, b"a,b,y\n-,NA,u\n1,x,v\n,x,u\n", nulls=["-", "none"]).json()
        assert [(f["kind"], f["missing"], f["categories"]) for f in body["features"]] == [
            ("numeric", 2, None),
            ("categorical", 0, ["NA", "x"]),
        ]

    @pytest.mark.parametrize("stored", [pa.int16(), pa.float32(), pa.string()])
    def test_numbers_that_mean_missing_in_every_type(self, client, stored):
        numbers = pa.array([1, -99, None, 3] * 5).cast(stored)
        table = {"a": numbers, "b": numbers, "y": ["u", "v"] * 10}
        body = upload(client, parquet(**table), nulls="-99", types='{"b": "categorical"}').json()
        assert [(f["kind"], f["missing"], f["min"], f["categories"]) for f in body["features"]] == [
            ("numeric", 10, 1, None),
            ("categorical", 10, None, ["1", "3"]),
        ]
        [row] = client.get(f"/datasets/{body['id']}/rows?rows=1").json()["rows"]
        assert row == [None, None, "v"]


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


FOREIGN = {
    "JSON arrays": (b'[[1, "u"], [2, "v"]]', "array of arrays", "array of objects"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "Excel 97", ".xlsx"),
    "PDF": (b"%PDF-1.7\n" + b"\0" * 100, "PDF", "CSV"),
    "HTML": (b"\n<!DOCTYPE html><html><body>Login", "HTML page", "login"),
    "zip": (zipped(**{"table.csv": CSV}), "'table.csv'", "unpack"),
    "ODS": (zipped(mimetype="application/vnd.oasis.opendocument.spreadsheet", **{"content.xml": ""}), ".ods", ".xlsx"),
    "Word": (zipped(**{"word/document.xml": ""}), "Word document", "CSV"),
    "binary workbook": (zipped(**{"xl/workbook.bin": ""}), ".xlsb", ".xlsx"),
    "XML": (b"<?xml version='1.0'?><a/>", "XML", "CSV"),
    "pickle": (b"\x80\x04\x95" + b"\0" * 50, "pickle", "Parquet"),
}  # fmt: skip


class TestOtherTypes:
    @pytest.mark.parametrize(("content", "name", "way_out"), FOREIGN.values(), ids=FOREIGN)
    @pytest.mark.parametrize(("file_name", "code"), [("t", "unknown_file_type"), ("t.csv", "file_type_mismatch")])
    def test_say_what_they_are(self, client, file_name, code, content, name, way_out):
        found, detail = code_and_detail(upload(client, content, file_name))
        assert found == code
        assert name in detail
        assert way_out in detail

    def test_a_parquet_name_with_a_workbook(self, client):
        code, detail = code_and_detail(upload(client, workbook([HEADER, *ROWS]), "t.parquet"))
        assert code == "file_type_mismatch"
        assert "is an Excel workbook" in detail


class TestWorkbooks:
    def test_dates_and_errors(self, client):
        import datetime

        days = [(datetime.datetime(2024, 1, day), day * 1.5, day % 2) for day in range(1, 30)]
        days[3] = (days[3][0], "#N/A", 1)
        body = upload(client, workbook([("when", "a", "y"), *days])).json()
        assert [feature["kind"] for feature in body["features"]] == ["datetime", "numeric"]
        assert body["features"][1]["missing"] == 1
        assert body["reading"]["sheet"] == "Sheet 0"

    def test_formulas_without_results_are_told(self, client):
        rows = [(row, f"=A{row + 2}*2", row % 5, None, row % 2) for row in range(20)]
        body = upload(client, workbook([("a", "double", "b", "none", "y"), *rows])).json()
        found = [warning["column"] for warning in body["warnings"] if warning["code"] == "uncalculated_formulas"]
        assert found == ["double"]

    def test_other_sheets_are_told(self, client):
        body = upload(client, workbook([HEADER, *ROWS], [("x",)])).json()
        assert ("other_sheets", None) in [(warning["code"], warning["column"]) for warning in body["warnings"]]

    @pytest.mark.parametrize(
        ("content", "code", "detail"),
        [
            (workbook([]), "no_rows", "is empty"),
            (workbook([HEADER]), "no_rows", "no rows"),
            (workbook([("a", "a", "y"), (1, 2, 3)]), "duplicate_column", "'a'"),
            (workbook([("a", "y"), (1, "u"), (2, "v", "beside")]), "unreadable_file", "line 3"),
            (b"", "empty_file", ""),
            (workbook([HEADER, *ROWS])[:-100], "file_type_mismatch", "damaged"),
            (zipped(**{"xl/workbook.xml": "<a>"}), "unreadable_file", "damaged"),
        ],
    )
    def test_damaged_ones(self, client, content, code, detail):
        found, told = code_and_detail(upload(client, content, "t.xlsx"))
        assert (found, detail in told) == (code, True), told

    def test_a_bomb_is_not_unpacked(self, limited_client):
        out = io.BytesIO(workbook([HEADER, *ROWS]))
        with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet9.xml", b"0" * 50_000_000)
        client = limited_client(Limits(max_upload_bytes=10_000_000))
        response = upload(client, out.getvalue(), "t.xlsx")
        assert (response.status_code, response.json()["code"]) == (413, "upload_too_large")

    def test_a_part_that_is_read_as_a_whole_is_bounded(self, limited_client):
        out = io.BytesIO(workbook([HEADER, *ROWS]))
        with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/large.xml", b" " * (65 * MEBIBYTE))
        response = upload(limited_client(Limits(max_decoded_bytes=64 * MEBIBYTE)), out.getvalue(), "t.xlsx")
        assert (response.status_code, response.json()["code"]) == (413, "decoded_too_large")

    def test_a_sheet_that_claims_to_be_huge(self, client):
        source, out = io.BytesIO(workbook([HEADER, *ROWS])), io.BytesIO()
        with zipfile.ZipFile(source) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                text = old.read(name).replace(b'ref="A1:D5"', b'ref="A1:XFD1048576"')
                new.writestr(name, text)
        assert upload(client, out.getvalue(), "t.xlsx").json()["n_rows"] == 4


PRICES = ["1,1", "2,2", "3,3", "4,4"]
DOSES = [1.134, 2, 3.125, 4]
LABELS = ["u", "v", "u", "v"]


class TestNumbersOfTheFile:
    """Numbers in JSON and Excel are what they are, however text beside them is written."""

    @pytest.mark.parametrize("fields", [{}, {"decimal": ","}, {"thousands": "."}])
    @pytest.mark.parametrize("file_name", ["t.ndjson", "t.xlsx"])
    def test_keep_their_value_beside_local_text(self, client, file_name, fields):
        header, rows = ("price", "dose", "y"), list(zip(PRICES, DOSES, LABELS, strict=True))
        as_json = ndjson(*(dict(zip(header, row, strict=True)) for row in rows))
        content = as_json if file_name == "t.ndjson" else workbook([header, *rows])
        body = upload(client, content, file_name, **fields).json()
        stored = client.get(f"/datasets/{body['id']}/rows").json()["rows"]
        assert [row[:2] for row in stored] == [[1.1, 1.134], [2.2, 2], [3.3, 3.125], [4.4, 4]]

    @pytest.mark.parametrize("fields", [{}, {"decimal": ","}])
    def test_a_column_that_mixes_them_with_local_text_is_not_scaled(self, client, fields):
        cells = ["1,5", 1.134, 2.125, 2.125]
        items = [{"a": a, "x": x, "y": y} for a, x, y in zip(cells, PRICES, LABELS, strict=True)]
        body = upload(client, ndjson(*items), "t.ndjson", **fields).json()
        assert body["features"][0]["categories"] == ["1,5", "1.134", "2.125"]


def test_row_numbers_that_pandas_writes_are_left_out(client):
    rows = "".join(f"{row},{row % 7},{row % 2}\n" for row in range(30))
    body = upload(client, f",a,y\n{rows}".encode(), "t.csv").json()
    assert [(each["name"], each["kind"], each["reason"]) for each in body["features"]] == [
        ("Unnamed: 0", "ignored", "identifier"),
        ("a", "numeric", None),
    ]
    assert client.get(f"/datasets/{body['id']}/rows?rows=29").json()["rows"] == [[29, 1, 1]]


def test_columns_without_a_name_are_numbered(client):
    names = ["Unnamed: 1", "Unnamed: 3", "Unnamed: 4"]
    body = upload(client, b"a,,y,,\n1,5,u,,\n2,6,v,,\n", "t.csv").json()
    assert [(each["name"], each["reason"]) for each in body["features"]] == [
        ("a", None), (names[0], None), (names[1], "empty"), (names[2], "empty"),
    ]  # fmt: skip
    assert client.get(f"/datasets/{body['id']}/rows?rows=1").json()["rows"][0][:2] == [2, 6]
    body = upload(client, b",Unnamed: 0,y\n1,5,u\n2,6,v\n", "t.csv").json()
    assert [each["name"] for each in body["features"]] == ["Unnamed: 0.1", "Unnamed: 0"]
    body = upload(client, workbook([("a", None, "y"), (1, 2, "u"), (3, 4, "v")]), "t.xlsx").json()
    assert [each["name"] for each in body["features"]] == ["a", "Unnamed: 1"]


def test_one_field_is_singular(client):
    assert (
        "there is 1 field in line 3 but 3 in the header"
        in upload(client, b"a,b,y\n1,2,u\n3\n", "t.csv").json()["detail"]
    )


def test_parquet_called_csv_is_refused_also_if_its_content_is_known(client):
    from tests.app.datasets.tables import code_and_detail, parquet, upload

    content = parquet(a=[1, 2], y=["u", "v"])
    assert upload(client, content, "t.parquet").status_code == 201
    assert code_and_detail(upload(client, content, "t.csv"))[0] == "file_type_mismatch"


def test_ndjson_with_another_name_is_refused_whether_or_not_its_content_is_known(client):
    content = ndjson({"a": 1, "y": "u"}, {"a": 2, "y": "v"})
    for file_name, status in [("t.csv", 422), ("t.ndjson", 201), ("t.tsv", 422), ("t.csv", 422), ("t.jsonl", 200)]:
        response = upload(client, content, file_name)
        assert response.status_code == status, file_name
        if status == 422:
            assert code_and_detail(response)[0] == "file_type_mismatch"
            assert "is an NDJSON file" in response.json()["detail"]


def test_known_csv_with_another_name_has_the_error_of_its_first_upload(client):
    first = code_and_detail(upload(client, CSV.encode(), "t.ndjson"))
    assert upload(client, CSV.encode(), "t.csv").status_code == 201
    assert code_and_detail(upload(client, CSV.encode(), "t.ndjson")) == first
