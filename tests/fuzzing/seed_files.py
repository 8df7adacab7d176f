"""Small valid files of all formats, from which the fuzzer of uploads starts."""

import datetime
import gzip
import io
import json

import openpyxl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

_N_ROWS = 60


def seed_files() -> dict[str, bytes]:
    """Return the files by name. All have the target `y` and a column `left_out`."""
    table, typed = _plain_table(), _typed_table()
    csv = _csv(table)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    files = {
        "table.csv": csv,
        "table.tsv": csv.replace(b",", b"\t"),
        "latin.csv": csv.decode().encode("utf-16"),
        "table.ndjson": lines,
        "table.csv.gz": gzip.compress(csv, mtime=0),
        "table.ndjson.zst": pa.compress(lines, "zstd", asbytes=True),
        "table.xlsx": _workbook(table),
    }
    for compression in ("none", "snappy", "zstd"):
        files[f"{compression}.parquet"] = _parquet(typed, compression=compression, use_dictionary=compression != "zstd")
    files["pages.parquet"] = _parquet(typed, data_page_version="2.0", data_page_size=64, row_group_size=13)
    files["delta.parquet"] = _parquet(
        table, use_dictionary=False, column_encoding=dict.fromkeys(["word", "y"], "DELTA_BYTE_ARRAY")
    )
    for codec in (None, "lz4", "zstd"):
        options = pa.ipc.IpcWriteOptions(compression=codec)
        files[f"{codec}.arrow"] = _arrow(typed, pa.ipc.new_file, options)
        files[f"{codec}.arrows"] = _arrow(typed, pa.ipc.new_stream, options)
    return files


def _plain_table() -> pa.Table:
    rows = range(_N_ROWS)
    return pa.table({
        "number": [row * 37 % 101 for row in rows],
        "fraction": [None if row % 7 == 0 else row / 8 for row in rows],
        "day": [f"2024-05-{row % 28 + 1:02}" for row in rows],
        "amount": [f"{row}.{row % 10}" for row in rows],
        "word": ["äußerst"[: row % 7 + 1] for row in rows],
        "left_out": ["free text that nobody reads"] * _N_ROWS,
        "y": ["ja" if row % 3 else "nein" for row in rows],
    })  # fmt: skip


def _typed_table() -> pa.Table:
    rows = range(_N_ROWS)
    when = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=row) for row in rows]
    table = _plain_table().append_column("when", pa.array(when, pa.timestamp("us")))
    table = table.append_column("flag", pa.array([row % 2 == 0 for row in rows]))
    table = table.append_column("level", pa.array(["low" if row % 4 else "high" for row in rows]).dictionary_encode())
    table = table.append_column("price", pa.array(list(rows), pa.int32()).cast(pa.decimal128(12, 2)))
    lists = pa.array([[row] for row in rows], pa.list_(pa.int64()))
    return table.set_column(table.schema.get_field_index("left_out"), "left_out", lists)


def _csv(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pa_csv.write_csv(table, out)
    return out.getvalue()


def _workbook(table: pa.Table) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.append(table.column_names)
    for row in table.to_pylist():
        sheet.append(list(row.values()))
    book.save(out)
    return out.getvalue()


def _parquet(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def _arrow(table: pa.Table, new: object, options: object) -> bytes:
    out = io.BytesIO()
    with new(out, table.schema, options=options) as writer:  # type: ignore[operator]
        writer.write_table(table, max_chunksize=25)
    return out.getvalue()
