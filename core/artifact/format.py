"""File format of a fitted estimator: data only, no code.

    magic (8) | header length (8, little endian) | header: canonical JSON, then spaces to a multiple of 64
    array, zeros to a multiple of 64 | ... | SHA-256 of everything before (32)

Arrays are little-endian and aligned, so that processes share them by mapping the file into memory. The bytes depend
only on data, parameters, seed and library versions. Reading trusts nothing: the header is plain JSON, the offset and
shape of every array are checked against the size of the file, and every node is checked before any prediction visits
it. Neither writing nor reading holds the trees in memory twice. Files of formats 1 to 3 can still be read, of which the
third lacks kernel ridge regressions; files are always written in the newest format.
"""

import hashlib
import json
import math
import mmap
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.artifact.format_1 import state_of_format_1
from core.artifact.format_2 import arrays_of_format_2
from core.artifact.pieces import Pieces
from core.artifact.ridge import RIDGE_ARRAYS
from core.artifact.rules import OUTPUTS, split_by_tree
from core.artifact.state import EstimatorState, estimator_state, rebuild
from core.artifact.trees import tree_arrays, trees_from_arrays
from core.exceptions import ArtifactError, UnsupportedArtifact
from core.monitoring import stop_point
from core.registry import AnyClassifier

MAGIC = b"BRISTLE\x01"
FORMAT_VERSION = 4
_ALIGNMENT = 64
_DIGEST_BYTES = 32
_PREFIX_BYTES = len(MAGIC) + 8
_LARGEST_HEADER = 64 * 2**20
_DTYPES = {"<f8": np.float64, "<i8": np.int64, "<u8": np.uint64, "<i4": np.int32, "|u1": np.uint8}
_LARGEST_DIMENSION = 2**40


class _ArrayEntry(NamedTuple):
    """Entry of one array in the header; `offset` is in bytes from the start of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


def save(estimator: AnyClassifier, path: str | Path, *, schema: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file.

    schema: any JSON mapping, which `load` returns as the attribute `schema_`; by default the estimator's own.

    Raises ArtifactError, before anything is written, if `load` would refuse the file.
    """
    state = estimator_state(estimator, schema)
    arrays = tree_arrays(state.trees) | ({OUTPUTS: state.outputs} if state.outputs else {})
    arrays |= {name: [array] for name, array in state.ridge.items()}
    header = {
        "format": FORMAT_VERSION,
        **state.metadata,
        "versions": {name: _version(name) for name in ("bristlecone", "numba", "numpy")},
    }
    _check_loadable(state._replace(metadata=header), arrays)
    with _open_replacement(Path(path)) as file:
        digest = hashlib.sha256()
        for chunk in _chunks(header, arrays):
            stop_point()
            digest.update(chunk)
            file.write(chunk)
        file.write(digest.digest())


@contextmanager
def _open_replacement(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` once it is complete.

    The arrays may be mapped from the old file, and no reader may see an incomplete one.
    """
    target = path.resolve()
    new = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with new.open("xb") as file:
            yield file
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def load(path: str | Path) -> AnyClassifier:
    """Return the estimator in a file that this version of `save` or an earlier one wrote.

    Arrays stay mapped to the file unless it has an older format. The attribute `schema_` holds the schema, or None.

    Raises ArtifactError for a damaged or hostile file and UnsupportedArtifact for an unknown format version.
    """
    content = _map_file(Path(path))
    _check_digest(content)
    header = _header(content)
    entries = _array_entries(header)
    arrays = {entry.name: _array(content, entry) for entry in entries}
    _check_end(content, entries)
    return rebuild(_state(header, arrays))


def _state(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> EstimatorState:
    if header["format"] == 1:
        return state_of_format_1(header, arrays)
    outputs = arrays.pop(OUTPUTS, None)
    ridge = {name: arrays.pop(name) for name in RIDGE_ARRAYS if name in arrays}
    trees = trees_from_arrays(arrays_of_format_2(arrays) if header["format"] == 2 else arrays)
    return EstimatorState(header, trees, [] if outputs is None else split_by_tree(outputs, trees), ridge)


def _check_loadable(state: EstimatorState, arrays: dict[str, Pieces]) -> None:
    try:
        text = _canonical({**state.metadata, "arrays": _layout(arrays, 0)})
    except (TypeError, ValueError):
        raise ArtifactError(
            "a parameter, a label or the schema holds a value that JSON cannot represent; use text, finite numbers, "
            "booleans, lists and mappings only."
        ) from None
    if len(text) > _LARGEST_HEADER // 2:  # offsets and padding come on top
        raise ArtifactError(
            f"labels, feature names and schema take {len(text)} bytes; at most {_LARGEST_HEADER // 2} are supported. "
            "Shorten the schema or the names."
        )
    rebuild(state._replace(metadata=json.loads(text)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _padding(length: int) -> int:
    return -length % _ALIGNMENT


def _chunks(header: dict[str, Any], arrays: dict[str, Pieces]) -> Iterator[bytes | memoryview]:
    """Yield the file piece by piece.

    Offsets depend on the length of the header and the header contains the offsets, so lengths are tried until both
    agree.
    """
    length = 0
    while True:
        text = _canonical({**header, "arrays": _layout(arrays, _PREFIX_BYTES + length)})
        if len(text) <= length:
            break
        length = len(text) + _padding(_PREFIX_BYTES + len(text))
    yield MAGIC + length.to_bytes(8, "little") + text + b" " * (length - len(text))
    for pieces in arrays.values():
        yield from (np.ascontiguousarray(piece).data for piece in pieces)
        yield bytes(_padding(_total_bytes(pieces)))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _layout(arrays: dict[str, Pieces], first: int) -> list[dict[str, Any]]:
    layout = []
    for name, pieces in arrays.items():
        shape = [sum(map(len, pieces)), *pieces[0].shape[1:]]
        layout.append({"name": name, "dtype": pieces[0].dtype.str, "shape": shape, "offset": first})
        first += _total_bytes(pieces) + _padding(_total_bytes(pieces))
    return layout


def _total_bytes(pieces: Pieces) -> int:
    return sum(piece.nbytes for piece in pieces)


def _map_file(path: Path) -> NDArray[np.uint8]:
    """Map a file into memory as bytes (byte,).

    The mapping is copy-on-write because numba would compile kernels again for read-only arrays; nothing writes to it.
    """
    if path.stat().st_size < _PREFIX_BYTES + _DIGEST_BYTES:
        raise ArtifactError("the file is too short to be an artifact; download or train the model again.")
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), dtype=np.uint8)


def _check_digest(content: NDArray[np.uint8]) -> None:
    if content[: len(MAGIC)].tobytes() != MAGIC:
        raise ArtifactError("the file does not start with the signature of an artifact of this library.")
    expected = content[-_DIGEST_BYTES:].tobytes()
    if hashlib.sha256(content[:-_DIGEST_BYTES].data).digest() != expected:
        raise ArtifactError("the checksum does not match: the file is damaged; download or train the model again.")


def _header(content: NDArray[np.uint8]) -> dict[str, Any]:
    length = int.from_bytes(content[len(MAGIC) : _PREFIX_BYTES].tobytes(), "little")
    if length > min(len(content) - _PREFIX_BYTES - _DIGEST_BYTES, _LARGEST_HEADER):
        raise ArtifactError("the header length exceeds the size of the file.")
    try:
        header = json.loads(content[_PREFIX_BYTES : _PREFIX_BYTES + length].tobytes(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ArtifactError("the header is not valid JSON.") from None
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise ArtifactError("the header has no format version.")
    if not 1 <= header["format"] <= FORMAT_VERSION:
        raise UnsupportedArtifact(
            f"the file has format version {header['format']}; this library reads versions 1 to {FORMAT_VERSION}. "
            "Use the library version that wrote the file."
        )
    return header


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


def _array_entries(header: dict[str, Any]) -> list[_ArrayEntry]:
    listed = header.get("arrays")
    if not isinstance(listed, list):
        raise ArtifactError("the header has no list of arrays.")
    return [_array_entry(entry) for entry in listed]


def _array_entry(entry: Any) -> _ArrayEntry:
    if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "shape", "offset"}:
        raise ArtifactError("the header has an array entry with unknown keys.")
    name, dtype, shape, offset = entry["name"], entry["dtype"], entry["shape"], entry["offset"]
    if not (isinstance(name, str) and isinstance(dtype, str) and dtype in _DTYPES):
        raise ArtifactError("an array has an unknown name or type.")
    if not (isinstance(shape, list) and 1 <= len(shape) <= 2 and all(map(_is_size, shape)) and _is_size(offset)):
        raise ArtifactError(f"array {name!r} has an invalid shape or offset.")
    return _ArrayEntry(name, dtype, tuple(shape), offset)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_DIMENSION


def _check_end(content: NDArray[np.uint8], entries: list[_ArrayEntry]) -> None:
    ends = [entry.offset + _byte_count(entry) for entry in entries]
    if max(ends, default=0) + _padding(max(ends, default=0)) != len(content) - _DIGEST_BYTES:
        raise ArtifactError("the file does not end where its last array ends.")


def _byte_count(entry: _ArrayEntry) -> int:
    """Return the size of an array in bytes; Python integers do not overflow."""
    return math.prod(entry.shape) * np.dtype(entry.dtype).itemsize


def _array(content: NDArray[np.uint8], entry: _ArrayEntry) -> NDArray[Any]:
    """Return one array as a view of the file."""
    n_bytes = _byte_count(entry)
    if entry.offset % _ALIGNMENT or entry.offset + n_bytes > len(content) - _DIGEST_BYTES:
        raise ArtifactError(f"array {entry.name!r} is not within the file, or is not aligned.")
    view = content[entry.offset : entry.offset + n_bytes].view(_DTYPES[entry.dtype])
    return view.reshape(entry.shape)
