"""Small files of each format, as bytes, and their upload."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def arrow_stream(**columns):
    table, out = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def arrow_file(**columns):
    table, out = pa.table(columns), io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def ndjson(*items):
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def upload(client, content, file_name="t", **fields):
    return client.post("/datasets", files={"file": (file_name, content)}, data={"target": "y", **fields})


def code_and_detail(response):
    assert response.status_code == 422, response.text
    return response.json()["code"], response.json()["detail"]
