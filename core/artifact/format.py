"""A fitted estimator as one file that holds data only.

    magic (8) | header length (8, little endian) | header: canonical JSON, then spaces to a multiple of 64
    array, zeros to a multiple of 64 | ... | SHA-256 of everything before (32)

Arrays are little-endian and aligned, so that processes share them by mapping the file. The bytes depend on data,
parameters, seed and library versions only. Reading trusts nothing: the header is plain JSON, every place of an array
is checked against the size of the file, and every node before anything walks past it. Neither writing nor reading
holds the trees twice. Files of format 1 are read too; what is written has the newest format.
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
from core.artifact.rules import OUTPUTS, outputs_by_tree
from core.artifact.state import State, rebuilt, state_of
from core.artifact.trees import Pieces, arrays_of, trees_of
from core.exceptions import ArtifactError, UnsupportedArtifact
from core.registry import AnyClassifier

MAGIC = b"BRISTLE\x01"
FORMAT_VERSION = 2
_ALIGNMENT = 64
_DIGEST_BYTES = 32
_PREFIX_BYTES = len(MAGIC) + 8
_LARGEST_HEADER = 64 * 2**20
_DTYPES = {"<f8": np.float64, "<i8": np.int64, "<i4": np.int32, "|u1": np.uint8}
_LARGEST_DIMENSION = 2**40


class _Place(NamedTuple):
    """Where an array lies: `offset` counts from the start of the file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int


def save(estimator: AnyClassifier, path: str | Path, *, schema: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator; `schema` is any JSON mapping and comes back as `schema_`, one of the estimator's own
    if None.

    Raises ArtifactError, before anything is written, for what `load` would refuse.
    """
    state = state_of(estimator, schema)
    arrays = arrays_of(state.trees) | ({OUTPUTS: state.outputs} if state.outputs else {})
    header = {
        "format": FORMAT_VERSION,
        **state.facts,
        "versions": {name: _version(name) for name in ("bristlecone", "numba", "numpy")},
    }
    _check_loadable(state._replace(facts=header), arrays)
    with _replacing(Path(path)) as file:
        digest = hashlib.sha256()
        for chunk in _chunks(header, arrays):
            digest.update(chunk)
            file.write(chunk)
        file.write(digest.digest())


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is complete: the old one may be what the arrays are mapped
    from, and nobody meets half of the new one.
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
    """Read what `save` wrote, in this version or an earlier one; arrays stay mapped to the file, unless it has an older
    format. `schema_` holds its schema (None without one).

    Raises ArtifactError for a file that is damaged or hostile, UnsupportedArtifact for one of another format.
    """
    content = _mapped(Path(path))
    _check_digest(content)
    header = _header(content)
    places = _places(header)
    arrays = {place.name: _array(content, place) for place in places}
    _check_end(content, places)
    return rebuilt(_state(header, arrays))


def _state(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> State:
    if header["format"] == 1:
        return state_of_format_1(header, arrays)
    outputs = arrays.pop(OUTPUTS, None)
    trees = trees_of(arrays)
    return State(header, trees, [] if outputs is None else outputs_by_tree(outputs, trees))


def _check_loadable(state: State, arrays: dict[str, Pieces]) -> None:
    try:
        text = _canonical({**state.facts, "arrays": _layout(arrays, 0)})
    except (TypeError, ValueError):
        raise ArtifactError("a parameter, a label or the schema holds what JSON cannot; it must be plain.") from None
    if len(text) > _LARGEST_HEADER // 2:  # offsets and spaces come on top
        raise ArtifactError(
            f"labels, names and schema take {len(text)} bytes; they must fit in {_LARGEST_HEADER // 2}."
        )
    rebuilt(state._replace(facts=json.loads(text)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _padding(length: int) -> int:
    return -length % _ALIGNMENT


def _chunks(header: dict[str, Any], arrays: dict[str, Pieces]) -> Iterator[bytes | memoryview]:
    """The file piece by piece. Offsets depend on the header's length and the header on the offsets: try until they
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


def _mapped(path: Path) -> NDArray[np.uint8]:
    """The file as bytes. Copy-on-write, because numba compiles read-only arrays anew; nothing ever writes."""
    if path.stat().st_size < _PREFIX_BYTES + _DIGEST_BYTES:
        raise ArtifactError("the file is too short to be an artefact; fetch or train the model again.")
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), dtype=np.uint8)


def _check_digest(content: NDArray[np.uint8]) -> None:
    if content[: len(MAGIC)].tobytes() != MAGIC:
        raise ArtifactError("the file does not begin like an artefact of this library.")
    expected = content[-_DIGEST_BYTES:].tobytes()
    if hashlib.sha256(content[:-_DIGEST_BYTES].data).digest() != expected:
        raise ArtifactError("the checksum does not match: the file is damaged; fetch or train the model again.")


def _header(content: NDArray[np.uint8]) -> dict[str, Any]:
    length = int.from_bytes(content[len(MAGIC) : _PREFIX_BYTES].tobytes(), "little")
    if length > min(len(content) - _PREFIX_BYTES - _DIGEST_BYTES, _LARGEST_HEADER):
        raise ArtifactError("the header is longer than the file.")
    try:
        header = json.loads(content[_PREFIX_BYTES : _PREFIX_BYTES + length].tobytes(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ArtifactError("the header is not JSON.") from None
    if not isinstance(header, dict) or type(header.get("format")) is not int:
        raise ArtifactError("the header names no format version.")
    if not 1 <= header["format"] <= FORMAT_VERSION:
        raise UnsupportedArtifact(
            f"the file has format version {header['format']}, this library reads 1 to {FORMAT_VERSION}; use the "
            "version of the library that wrote it."
        )
    return header


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _places(header: dict[str, Any]) -> list[_Place]:
    listed = header.get("arrays")
    if not isinstance(listed, list):
        raise ArtifactError("the header lists no arrays.")
    return [_place(entry) for entry in listed]


def _place(entry: Any) -> _Place:
    if not isinstance(entry, dict) or set(entry) != {"name", "dtype", "shape", "offset"}:
        raise ArtifactError("the header describes an array in a way that is not known.")
    name, dtype, shape, offset = entry["name"], entry["dtype"], entry["shape"], entry["offset"]
    if not (isinstance(name, str) and isinstance(dtype, str) and dtype in _DTYPES):
        raise ArtifactError("an array has a name or a type that is not known.")
    if not (isinstance(shape, list) and 1 <= len(shape) <= 2 and all(map(_is_size, shape)) and _is_size(offset)):
        raise ArtifactError(f"array {name!r} has an impossible shape or offset.")
    return _Place(name, dtype, tuple(shape), offset)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_DIMENSION


def _check_end(content: NDArray[np.uint8], places: list[_Place]) -> None:
    ends = [place.offset + _byte_count(place) for place in places]
    if max(ends, default=0) + _padding(max(ends, default=0)) != len(content) - _DIGEST_BYTES:
        raise ArtifactError("the file does not end where its arrays do.")


def _byte_count(place: _Place) -> int:
    """Python integers do not overflow, so this is the true size."""
    return math.prod(place.shape) * np.dtype(place.dtype).itemsize


def _array(content: NDArray[np.uint8], place: _Place) -> NDArray[Any]:
    """A view of the file."""
    n_bytes = _byte_count(place)
    if place.offset % _ALIGNMENT or place.offset + n_bytes > len(content) - _DIGEST_BYTES:
        raise ArtifactError(f"array {place.name!r} lies outside the file.")
    view = content[place.offset : place.offset + n_bytes].view(_DTYPES[place.dtype])
    return view.reshape(place.shape)
