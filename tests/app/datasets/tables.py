"""Small files of each format, as bytes."""

import io

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
