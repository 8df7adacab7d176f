"""JSON files with one object per row: in lines, and in an array."""

import json

import pytest

from app.datasets import json_array
from app.datasets.errors import UnreadableFile
from tests.app.datasets.tables import code_and_detail, ndjson, parquet, upload


class TestJsonLines:
    def test_keys_may_differ(self, client):
        content = ndjson({"a": 1, "y": "u"}, {"y": "v", "b": "x"}, {"a": 2.5, "b": None, "y": "u"})
        body = upload(client, content, "t.jsonl").json()
        rows = client.get(f"/datasets/{body['id']}/rows").json()
        assert rows["columns"] == ["a", "b", "y"]
        assert rows["rows"] == [[1.0, None, "u"], [None, "x", "v"], [2.5, None, "u"]]

    @pytest.mark.parametrize(
        ("content", "code", "detail"),
        [
            (b'{"a": 1, "y": "u"}\n\n[1]\n', "unreadable_file", "line 3"),
            (b'{"a": 1, "y": "u"}\n{"a": \n', "unreadable_file", "line 2"),
            (b'{"a": [1], "y": "u"}\n{"y": "v"}', "unsupported_column_type", "'a' contains arrays or objects (list"),
            (b'{"a": 1, "y": "u"}\n{"a": {"b": 2}, "y": "v"}', "unsupported_column_type", "out with `exclude`"),
            (b'{"a": "\\ud800", "y": "u"}\n', "unreadable_file", "line 1 has half of a surrogate pair"),
            (b"{}\n{}\n", "unknown_target", "it has no columns; upload a table with named columns"),
            (b'{"a": 1, "y": "u"}\n{"": 1}\n', "invalid_column_name", "column 3"),
            (b'{"a": 1e999, "y": "u"}\n{"a": 1, "y": "v"}\n', "infinite_value", "row 0 (line 1)"),
            (b'{"a": "\xff", "y": "u"}\n', "unreadable_file", "line 1"),
            (b'{"a": 1, "y": "u", "a": 2}\n', "unreadable_file", "line 1 has the key 'a' twice"),
            (b'{"a": NaN, "y": "u"}\n', "unreadable_file", "write null"),
            (b'{"a": -Infinity, "y": "u"}\n', "unreadable_file", "line 1 has -Infinity"),
        ],
    )
    def test_damaged_lines(self, client, content, code, detail):
        found, told = code_and_detail(upload(client, content, "t.ndjson"))
        assert (found, detail in told) == (code, True), told


class TestArray:
    @pytest.mark.parametrize(
        ("content", "detail"),
        [
            (b'[{"a": 1, "y": "u"}\n {"a": 2}]', "line 2 has '{' in place of a comma or the end of the array"),
            (b'[{"a": 1, "y": "u"},\n{"a": 2, "y": "v"}', "line 2 has the end of the file in place of a comma"),
            (b'[{"a": 1, "y": "u"},\n\n{"a": 2, "y"]', "the item that begins in line 3 is not a JSON object"),
            (b'[{"a": 1, "y": "u"},\n[2]]', "line 2 is JSON, but not an object; write an array of objects"),
            (b'[{"a": 1, "y": "u"},]', "is not a JSON object"),
            (b'[{"a": 1, "y": "u"}]\n[{"a": 1}]', "line 2 has '[' in place of the end of the file"),
            (b'[{"a": 1, "a": 2}]', "the item that begins in line 1 has the key 'a' twice"),
            (b'[{"a": NaN}]', "write null"),
            (b'[{"a": "\\udc00"}]', "half of a surrogate pair"),
            (b'[{"a": "u"},\n{"a": "\xff"}]', "not UTF-8"),
        ],
    )
    def test_damaged(self, client, content, detail):
        found, told = code_and_detail(upload(client, content, "t.json"))
        assert (found, detail in told) == ("unreadable_file", True), told

    @pytest.mark.parametrize("content", [b'{\n"a": 1}', b"a,y\n1,u\n", b"[1, 2]"])
    def test_other_json(self, client, content):
        found, told = code_and_detail(upload(client, content, "t.json"))
        assert (found, "write an array of objects" in told) == ("file_type_mismatch", True), told

    def test_rows_are_told_with_their_line(self, client):
        content = json.dumps([{"a": 1, "y": "u"}, {"a": 1e300, "y": "v"}], indent=1).replace("1e+300", "1e999")
        assert code_and_detail(upload(client, content.encode()))[1].count("row 1 (line 6)") == 1

    @pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
    def test_chunks_of_any_size(self, tmp_path, monkeypatch, chunk):
        items = [{"a": 1.5, "é": 'x"]}\\'}, {}, {"a": [1, {"b": None}], "y": "\U0001f600"}]
        (tmp_path / "t").write_text(json.dumps(items, indent=1, ensure_ascii=False), "utf-8")
        monkeypatch.setattr(json_array, "_CHUNK_CHARACTERS", chunk)
        found = list(json_array.items_of_array(tmp_path / "t"))
        assert found == [(2, items[0]), (6, items[1]), (7, items[2])]

    def test_too_long_items(self, tmp_path, monkeypatch):
        (tmp_path / "t").write_text(json.dumps([{"a": 1}, {"a": "x" * 5000}]))
        monkeypatch.setattr(json_array, "_CHUNK_CHARACTERS", 100)
        monkeypatch.setattr(json_array, "_MAX_ITEM_CHARACTERS", 1000)
        with pytest.raises(UnreadableFile, match="at most 1000 characters"):
            list(json_array.items_of_array(tmp_path / "t"))


@pytest.mark.parametrize("form", ["lines", "array", "Parquet"])
def test_columns_of_arrays_and_objects_can_be_left_out(client, form):
    rows = [{"x": x, "ids": [x], "meta": {"of": str(x)} if x else None, "y": "uv"[x % 2]} for x in range(20)]
    files = {
        "lines": ndjson(*rows),
        "array": json.dumps(rows).encode(),
        "Parquet": parquet(**{name: [row[name] for row in rows] for name in rows[0]}),
    }
    found, told = code_and_detail(upload(client, files[form]))
    assert (found, "'ids' contains arrays or objects" in told) == ("unsupported_column_type", True), told
    body = upload(client, files[form], exclude=["ids", "meta"]).json()
    assert [feature["name"] for feature in body["features"]] == ["x"]
    assert client.get(f"/datasets/{body['id']}/rows?rows=3").json()["rows"] == [[3, "v"]]
