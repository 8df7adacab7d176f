"""Tensors of the Open Inference Protocol: one for each feature in a request, and two in an answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.errors import Invalid
from app.predictions.errors import DuplicateName, Faults, NoRows, RaggedColumns, pointer
from app.predictions.forms import Table, shown
from app.predictions.predicted_rows import as_json
from app.predictions.predicted_table import PredictedTable
from core import Column, ColumnKind
from core.service_api import winning_classes

LABEL, PROBABILITIES = "label", "probabilities"
OUTPUTS = (LABEL, PROBABILITIES)

_INTEGER_RANGES: dict[str, tuple[float, float]] = {
    **{f"INT{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}
_FLOAT_RANGES = {
    f"FP{bits}": (float(np.finfo(f"float{bits}").min), float(np.finfo(f"float{bits}").max)) for bits in (16, 32)
}
#: Smallest and largest value of each datatype that does not hold all numbers of JSON.
_RANGES = _INTEGER_RANGES | _FLOAT_RANGES
_TYPES: Mapping[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    **dict.fromkeys(("FP16", "FP32", "FP64"), (int, float)),
    **dict.fromkeys(_INTEGER_RANGES, (int,)),
}
_KEYS = {"name", "shape", "datatype", "data", "parameters"}
_VALUES_PER_PIECE = 8_192


def datatype(column: Column) -> str:
    """Return the type of the tensor of a feature."""
    if column.is_boolean:
        return "BOOL"
    return "FP64" if column.kind is ColumnKind.NUMERIC else "BYTES"


def from_tensors(inputs: Sequence[Any], known: frozenset[str]) -> Table:
    """Return the rows that tensors hold, one for each feature. Raises the errors of `Faults`."""
    faults = Faults()
    columns: dict[str, list[Any]] = {}
    positions: dict[str, int] = {}
    for i, tensor in enumerate(inputs):
        if faults.full:
            break
        if (problem := _form_problem(tensor)) is not None:
            faults.add(Invalid, pointer("inputs", i), problem)
            continue
        name = tensor["name"]
        if name in columns:
            faults.add(DuplicateName, pointer("inputs", i, "name"), f"{name!r:.100} occurs twice; give it once")
        columns[name], positions[name] = _cells(tensor, i, faults), i
    faults.raise_if_any()
    n_rows = _common_length(columns, positions, faults)

    def place(name: str, row: int | None) -> str:
        if name not in positions:
            return "/inputs"
        parts = ("inputs", positions[name], "data")
        return pointer(*parts) if row is None else pointer(*parts, row)

    features = {name: cells for name, cells in columns.items() if name in known}
    unknown = [(pointer("inputs", positions[name], "name"), name) for name in columns if name not in known]
    return Table(n_rows, features, unknown, place)


def _form_problem(tensor: Any) -> str | None:
    if not isinstance(tensor, dict):
        return f"{shown(tensor)} is not a tensor; write an object with name, shape, datatype and data"
    if not isinstance(tensor.get("name"), str):
        return "name must be text, the name of a feature"
    datatype = tensor.get("datatype")
    if not isinstance(datatype, str) or datatype not in _TYPES:
        return f"datatype is {shown(datatype)}; it must be one of {', '.join(_TYPES)}"
    if not isinstance(tensor.get("data"), list):
        parameters = tensor.get("parameters")
        if isinstance(parameters, dict) and "binary_data_size" in parameters:
            return "the binary tensor data extension is not supported; send the values as JSON in data"
        return "data must be a list of values; tensors of shape [n, 1] may be flat or nested"
    if others := tensor.keys() - _KEYS:
        return f"the keys of a tensor are {', '.join(sorted(_KEYS))}; remove {min(others)!r:.100}"
    return None


def _cells(tensor: Mapping[str, Any], i: int, faults: Faults) -> list[Any]:
    shape, data = tensor.get("shape"), tensor["data"]
    n_rows = len(data)
    if shape not in ([n_rows], [n_rows, 1]):
        detail = (
            f"shape is {str(shape)[:100]} and data has {n_rows} entries; each feature is a tensor of its own, of shape "
            f"[{n_rows}] or [{n_rows}, 1]"
        )
        faults.add(Invalid, pointer("inputs", i, "shape"), detail)
    if data and all(isinstance(cell, list) and len(cell) == 1 for cell in data):
        data = [cell[0] for cell in data]
    if (fault := _value_fault(data, tensor["datatype"])) is not None:
        row, detail = fault
        faults.add(Invalid, pointer("inputs", i, "data", row), detail)
    return list(data)


def _value_fault(data: Sequence[Any], datatype: str) -> tuple[int, str] | None:
    """Return the row and the description of the first value that the datatype does not have, or None."""
    types = (*_TYPES[datatype], type(None))
    if not set(map(type, data)) <= {*types}:
        row = next(row for row, cell in enumerate(data) if type(cell) not in types)
        return row, f"{shown(data[row])} is not of the datatype {datatype}; null stands for a missing value"
    if datatype not in _RANGES:
        return None
    least, most = _RANGES[datatype]
    outside = (row for row, cell in enumerate(data) if cell is not None and (cell < least or cell > most))
    if (first := next(outside, None)) is None:
        return None
    kind = "integers" if datatype in _INTEGER_RANGES else "numbers"
    rule = f"{datatype} holds {kind} from {least} to {most}; declare a datatype that has the value, such as FP64"
    return first, f"{shown(data[first])} is out of range; {rule}"


def _common_length(columns: Mapping[str, list[Any]], positions: Mapping[str, int], faults: Faults) -> int:
    first = next(iter(columns), None)
    n_rows = 0 if first is None else len(columns[first])
    for name, cells in columns.items():
        if len(cells) != n_rows:
            detail = f"{len(cells)} values, but {first!r:.100} has {n_rows}; give every tensor one value per row"
            faults.add(RaggedColumns, pointer("inputs", positions[name], "shape"), detail)
    if n_rows == 0:
        faults.add(NoRows, "/inputs", "the tensors have no rows; give every feature at least one value")
    faults.raise_if_any()
    return n_rows


@dataclass(frozen=True)
class TensorAnswer:
    """Answer to an inference request. outputs: names of the tensors; n_rows: that of the table."""

    table: PredictedTable
    n_rows: int
    outputs: Sequence[str]
    request_id: str | None

    def pieces(self) -> Iterator[bytes]:
        """Yield the JSON text. Probabilities come first, since the labels follow from them."""
        model = self.table.model
        head = {"model_name": model["name"], "model_version": str(model["version"])}
        head |= {"id": self.request_id} if self.request_id is not None else {}
        yield f'{as_json(head)[:-1]},"outputs":['.encode()
        winners: list[int] = []
        if PROBABILITIES in self.outputs:
            yield from self._probabilities(winners)
            yield b"," if LABEL in self.outputs else b""
        else:
            for part in self.table.parts:
                winners += winning_classes(part.probabilities).tolist()
        if LABEL in self.outputs:
            yield self._opened(LABEL, "BYTES", [self.n_rows])
            yield from _joined(self.table.label_texts[k] for k in winners)
            yield b"]}"
        yield b"]}"

    def _probabilities(self, winners: list[int]) -> Iterator[bytes]:
        shape = [self.n_rows, len(self.table.labels)]
        yield self._opened(PROBABILITIES, "FP64", shape, {"classes": list(self.table.label_texts)})

        def values() -> Iterator[float]:
            for part in self.table.parts:
                winners.extend(winning_classes(part.probabilities).tolist())
                for start in range(0, len(part.probabilities), _VALUES_PER_PIECE):
                    yield from part.probabilities[start : start + _VALUES_PER_PIECE].ravel().tolist()

        yield from _joined(values())
        yield b"]}"

    def _opened(self, name: str, kind: str, shape: list[int], parameters: dict[str, Any] | None = None) -> bytes:
        tensor: dict[str, Any] = {"name": name, "datatype": kind, "shape": shape}
        tensor |= {"parameters": parameters} if parameters else {}
        return f'{as_json(tensor)[:-1]},"data":['.encode()


def _joined(values: Iterator[Any]) -> Iterator[bytes]:
    """Yield the JSON texts of all values with commas between them, some at a time."""
    pending: list[Any] = []
    is_first = True
    for value in values:
        pending.append(value)
        if len(pending) == _VALUES_PER_PIECE:
            yield _text(pending, is_first)
            pending, is_first = [], False
    if pending:
        yield _text(pending, is_first)


def _text(values: list[Any], is_first: bool) -> bytes:
    return f"{'' if is_first else ','}{as_json(values)[1:-1]}".encode()
