"""Fuzzer of uploads: `python -m tests.fuzzing.files --cases N --seed S`.

Valid files of all formats are damaged at random and read as an upload is: in a child process with its limits. Each must
become a data set, or be refused with a 4xx error. Files that do neither, and those that end their reader, are kept.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from app.datasets.formats import PlainFile
from app.datasets.options import UploadOptions
from app.datasets.remote_reader import RemoteReader, remote_reader
from app.datasets.stored_table import read_rows, read_table
from app.errors import ServiceError
from app.operations.forked_client import ChildEnded
from app.settings import MEBIBYTE, Limits
from tests.fuzzing.seed_files import seed_files

LIMITS = Limits(max_decoded_bytes=128 * MEBIBYTE, max_upload_bytes=64 * MEBIBYTE, max_upload_seconds=60.0)
OPTIONS = UploadOptions(target="y", name="fuzzed", exclude=["left_out"])
_FILES_PER_CHILD = 50
STORED, CRASHED, FAILED = "stored", "refused after a crash of the reader", "FAILED"

#: Numbers at which sizes, offsets and counts go wrong.
_EDGES = [0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]


def run(n_cases: int, seed: int, kept: Path) -> Counter[str]:
    """Read `n_cases` damaged files, and return how many were stored, refused with each code, crashed and failed.

    Files that failed or crashed their reader are written to the folder `kept`.
    """
    outcomes: Counter[str] = Counter()
    seeds = seed_files()
    with TemporaryDirectory() as folder, SharedReader() as reader:
        for case in range(n_cases):
            rng = np.random.default_rng([seed, case])
            name = str(rng.choice(list(seeds)))
            content = damaged(seeds[name], list(seeds.values()), rng)
            outcome = read_upload(reader, Path(folder), content)
            outcomes[outcome.partition(":")[0]] += 1
            if outcome.startswith((CRASHED, FAILED)):
                kept.mkdir(parents=True, exist_ok=True)
                (kept / f"{seed}-{case}-{name}").write_bytes(content)
                print(f"case {case} of seed {seed}, {name}: {outcome}", flush=True)
    return outcomes


class SharedReader:
    """Child that reads several files, unlike that of the API, because a child for each would take most of the time."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._n_left = 0

    def get(self) -> RemoteReader:
        """Return a child that can read one more file."""
        if self._n_left == 0:
            self._stack.close()
            self._reader = self._stack.enter_context(remote_reader(LIMITS))
            self._n_left = _FILES_PER_CHILD
        self._n_left -= 1
        return self._reader

    def replace(self) -> None:
        """Take another child for the next file."""
        self._n_left = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()


def read_upload(shared: SharedReader, folder: Path, content: bytes) -> str:
    """Read a file as the API does, and return what became of it."""
    reader = shared.get()
    received, plain, canonical = (folder / name for name in ("received", "plain", "canonical"))
    received.write_bytes(content)
    try:
        prepared = reader.prepare(PlainFile(received, "", len(content)), plain, None, None)
        table = reader.ingest(prepared.file, None, OPTIONS, canonical)
        assert len(read_table(canonical).y) == table.n_rows
        assert read_rows(canonical, [0], 100).num_rows == 1
    except ServiceError as error:
        if error.status < 500 and not isinstance(error.__cause__, ChildEnded):
            return error.code
        shared.replace()
        return f"{CRASHED if error.status < 500 else FAILED}: {error.code} {error.__cause__}"
    except Exception as error:
        return f"{FAILED}: {type(error).__name__} {error}"
    finally:
        for path in (received, plain, canonical):
            path.unlink(missing_ok=True)
    return STORED


def damaged(content: bytes, others: Sequence[bytes], rng: np.random.Generator) -> bytes:
    """Return the content with some random damage."""
    data = bytearray(content)
    for _ in range(int(rng.choice([1, 1, 2, 3, 8]))):
        if data:
            start = int(rng.integers(len(data)))
            stop = min(len(data), start + int(rng.choice([1, 2, 4, 8, 64, 1024])))
            damage = _DAMAGES[int(rng.integers(len(_DAMAGES)))]
            damage(data, slice(start, stop), others, rng)
    return bytes(data)


_Damage = Callable[[bytearray, slice, Sequence[bytes], np.random.Generator], None]


def _flip_bit(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    data[span.start] ^= 1 << int(rng.integers(8))


def _overwrite(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    data[span] = rng.bytes(span.stop - span.start)


def _write_edge(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    width = int(rng.choice([1, 2, 4, 8]))
    number = _EDGES[int(rng.integers(len(_EDGES)))] % 256**width
    data[span.start : span.start + width] = number.to_bytes(width, "little")


def _remove(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    del data[span]


def _repeat(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    data[span.stop : span.stop] = data[span] * int(rng.choice([1, 2, 50]))


def _truncate(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    del data[span.start :]


def _splice(data: bytearray, span: slice, others: Sequence[bytes], rng: np.random.Generator) -> None:
    data[span] = others[int(rng.integers(len(others)))][span]


_DAMAGES: list[_Damage] = [
    _flip_bit, _flip_bit, _overwrite, _write_edge, _write_edge, _remove, _repeat, _truncate, _splice,
]  # fmt: skip


def main() -> int:
    """Run the fuzzer and print the counts. Return 1 if a file failed."""
    parser = argparse.ArgumentParser(description="Damage valid files at random and read them as uploads.")
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", type=Path, default=Path("fuzzed"), help="folder for files that fail")
    options = parser.parse_args()
    outcomes = run(options.cases, options.seed, options.kept)
    for name, count in outcomes.most_common():
        print(f"{count:8,}  {name}")
    return 1 if outcomes[FAILED] else 0


if __name__ == "__main__":
    raise SystemExit(main())
