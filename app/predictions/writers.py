"""Forms of answers with predictions, by media type. Each is written in pieces."""

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from app.predictions.predicted_rows import BYTES_PER_PIECE, as_json
from app.predictions.predicted_table import PredictedTable

Writer = Callable[[PredictedTable], Iterator[bytes]]

_ROWS_OF_LINES = 2_000


class _Sink:
    """Writable file whose bytes are taken away again, so that no more than one batch is in memory."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing; nothing is held back."""

    def close(self) -> None:
        """Do nothing; the last bytes are taken after this."""

    def taken(self) -> Iterator[bytes]:
        data = memoryview(b"".join(self._pieces))
        self._pieces.clear()
        for start in range(0, len(data), BYTES_PER_PIECE):
            yield bytes(data[start : start + BYTES_PER_PIECE])


def _json(table: PredictedTable) -> Iterator[bytes]:
    yield f'{{"model":{as_json(table.model)},"predictions":['.encode()
    for number, part in enumerate(table.parts):
        if number:
            yield b","
        for text in part.json_entries():
            yield text.encode()
    yield b"]}"


def _ndjson(table: PredictedTable) -> Iterator[bytes]:
    for batch in table.batches():
        for start in range(0, batch.num_rows, _ROWS_OF_LINES):
            rows = batch.slice(start, _ROWS_OF_LINES).to_pylist()
            yield "".join(f"{as_json(row)}\n" for row in rows).encode()


def _csv(table: PredictedTable) -> Iterator[bytes]:
    sink = _Sink()
    with pa_csv.CSVWriter(sink, table.schema) as writer:
        for batch in table.batches():
            writer.write_batch(batch)
            yield from sink.taken()
    yield from sink.taken()


def _arrow_stream(table: PredictedTable) -> Iterator[bytes]:
    sink = _Sink()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.batches():
            writer.write_batch(batch)
            yield from sink.taken()
    yield from sink.taken()


def _parquet(table: PredictedTable) -> Iterator[bytes]:
    sink = _Sink()
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        for batch in table.batches():
            writer.write_batch(batch)
            yield from sink.taken()
    yield from sink.taken()


#: The first one answers requests that name none.
WRITERS: Mapping[str, Writer] = {
    "application/json": _json,
    "text/csv": _csv,
    "application/x-ndjson": _ndjson,
    "application/jsonl": _ndjson,
    "application/vnd.apache.parquet": _parquet,
    "application/vnd.apache.arrow.stream": _arrow_stream,
}
WRITABLE = tuple(WRITERS)
