"""Reading of the rows of one request in a child process, into a file."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from app.datasets.percent_signs import percent_mismatch
from app.datasets.records import DatasetRecord
from app.errors import Invalid
from app.http.memory_budget import MemoryBudget
from app.predictions.batch import Batch
from app.predictions.encoded_rows import RowsInFile
from app.predictions.remote_rows import RemoteRows
from app.predictions.row_children import RowChildren
from app.predictions.row_sources import DescribedRows
from app.predictions.service import PredictionService, ServedModel
from app.settings import Limits, Settings
from app.storage.staging import staged_path


class BatchReader:
    """Reader of the rows of one request.

    sending: ends when the answer was sent; until then the file stays. disk: for the rows that wait to be predicted.
    """

    def __init__(
        self,
        settings: Settings,
        predictions: PredictionService,
        children: RowChildren,
        sending: AsyncExitStack,
        disk: MemoryBudget,
    ) -> None:
        self._limits, self._folder = settings.limits, settings.staging_folder
        self._predictions, self._children = predictions, children
        self._sending, self._disk = sending, disk

    async def batch(self, describe: Callable[[RemoteRows], DescribedRows]) -> Batch:
        """Return the rows that `describe` finds with a child, encoded by that child.

        Raises:
            ModelNotFound, TooManyCells, AnswerTooLarge, and the errors of `RowChildren.run`.
        """
        out = self._sending.enter_context(staged_path(self._folder, "rows", ".encoded"))
        batch, n_bytes = await self._children.run(lambda child: self._encoded(child, describe(child), out))
        await self._sending.enter_async_context(self._disk.taken(n_bytes))
        return batch

    def _encoded(self, child: RemoteRows, described: DescribedRows, out: Path) -> tuple[Batch, int]:
        """Return the rows, and their bytes on disk."""
        parameters = described.parameters
        served = self._predictions.open(parameters.model)
        if described.dataset is not None:
            check_percents(served, described.dataset)
        most_rows = _most_rows(served, self._limits)
        rows: RowsInFile = child.encode(described.source, served.encoder, parameters.leniency, out, most_rows)
        served.cost(rows.n_rows, self._limits)
        return Batch(served, parameters, rows), rows.n_bytes


def check_percents(served: ServedModel, dataset: DatasetRecord) -> None:
    """Raise Invalid if the data set has no percent signs in a column in which the model expects them.

    The other way around, a model does not know whether its numbers were text, where 12 % may have been written as 12.
    """
    signs = {column.name: column.reading.percent for column in served.encoder.columns}
    if reason := percent_mismatch(signs, dataset):
        raise Invalid.at("/dataset_id", reason)


def _most_rows(served: ServedModel, limits: Limits) -> int:
    """Return the number of rows beyond which `served.cost` refuses an answer."""
    n_cells = len(served.encoder.columns) + len(served.labels)
    return min(limits.max_answer_cells // n_cells, limits.max_decoded_bytes // served.bytes_per_row)
