"""Reliability of the quality of labels on few rows: the claimed and the actual share of wrong labels, as a Markdown
table.

python -m benchmarks.accuracy.few_rows                             # about three minutes on two cores
python -m benchmarks.accuracy.few_rows --collection keel

Each table contributes random samples of up to 300, 600 and 1,000 rows, with every noise model of the comparison. The
labels of all their audits are counted together by their quality. Each cell contains the claimed and the actual share of
wrong labels in percent. A line of `averaged` is about the quality that `core.audit_labels` gives, one of `as estimated`
about the probability without regard to the error of the estimates. Audits whose labels do not identify the noise are
left out.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.comparison.collection import Collection, Table
from benchmarks.comparison.noise import NOISES, noisy_labels, suits
from benchmarks.comparison.table_options import add_tables, chosen_collection, chosen_folder, chosen_tables
from benchmarks.data import MissingData
from benchmarks.settings import skip
from core.label_quality.audit import DEFAULT_AUDIT_PARAMETERS
from core.noise.estimation import fit_noise
from core.noise.label_probabilities import check_label_probabilities

NUMBERS_OF_ROWS = (300, 600, 1000)
LIMITS = (0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)
HEADER = (
    "| noise | labels | quality | flagged | "
    + " | ".join(f"{low:g}–{high:g}" for low, high in pairwise(LIMITS))
    + " |\n|"
    + " --- |" * (3 + len(LIMITS))
)


class Sample(NamedTuple):
    """Rows of a table, and the seed of the noise and of the audit."""

    table: Table
    seed: int


class AssessedLabels(NamedTuple):
    """Labels of audits with two versions of their quality."""

    averaged: NDArray[np.float64]  # (row,), the quality
    estimated: NDArray[np.float64]  # (row,), without regard to the error of the estimates
    is_wrong: NDArray[np.bool_]  # (row,)

    def lines(self, title: str) -> list[str]:
        """Return the two lines of the table."""
        named = (("averaged", self.averaged), ("as estimated", self.estimated))
        return [f"| {title} | {len(self.is_wrong)} | {name} | {' | '.join(self._cells(q))} |" for name, q in named]

    def _cells(self, quality: NDArray[np.float64]) -> Iterator[str]:
        yield self._shares(quality, quality < 0.5)
        for low, high in pairwise(LIMITS):
            yield self._shares(quality, (quality >= low) & ((quality < high) | (high == 1.0)))

    def _shares(self, quality: NDArray[np.float64], inside: NDArray[np.bool_]) -> str:
        if not inside.any():
            return "–"
        return f"{100 * (1 - quality[inside]).mean():.1f}, {100 * self.is_wrong[inside].mean():.1f}"


def audit(sample: Sample, noise: str, jobs: int) -> AssessedLabels | None:
    """Return the labels of a sample with noise; None if they do not identify it."""
    table, seed = sample
    labels = noisy_labels(table.X, table.y, noise, seed)
    forest = core.ForestClassifier(**DEFAULT_AUDIT_PARAMETERS, categorical_features=table.categorical or None)
    audited = core.audit_labels(table.X, labels, forest, random_state=seed, n_jobs=jobs)
    if not audited.noise.identification.is_identified:
        return None
    fitted = fit_noise(check_label_probabilities(audited.probabilities, labels, audited.classes))
    rows, codes = fitted.rows.has_votes, fitted.rows.codes[fitted.rows.has_votes]
    right = fitted.model.posterior(fitted.rows.probabilities[rows], codes)[np.arange(len(codes)), codes]
    estimated = fitted.estimate.misfit.shrunk(right, 1.0 - fitted.estimate.noise_rate)
    return AssessedLabels(audited.issues.quality[rows], estimated, (labels != table.y)[rows])


def samples(collection: Collection, folder: Path, names: list[str], most_rows: int) -> list[Sample]:
    """Return the samples of all tables; report those without a file as skipped."""
    chosen = []
    for name in names:
        try:
            for seed, n_rows in enumerate(NUMBERS_OF_ROWS):
                table = collection.read(folder, name, seed, min(n_rows, most_rows))
                chosen.append(Sample(with_frequent_classes(table), seed))
        except MissingData as error:
            skip(name, error)
    return chosen


def with_frequent_classes(table: Table) -> Table:
    """Return the rows of the classes with at least five rows, the classes numbered anew."""
    rows = np.bincount(table.y)[table.y] >= 5
    return table._replace(X=table.X[rows], y=np.unique(table.y[rows], return_inverse=True)[1])


def main() -> None:
    parser = options.program_parser("benchmarks.accuracy.few_rows", __doc__)
    add_tables(parser)
    options.add_jobs(parser)
    arguments = parser.parse_args()
    chosen = samples(chosen_collection(arguments), chosen_folder(arguments), chosen_tables(arguments), arguments.rows)
    print(HEADER, flush=True)
    for noise, title in NOISES.items():
        suitable = (sample for sample in chosen if suits(noise, len(np.unique(sample.table.y))))
        assessed = [labels for sample in suitable if (labels := audit(sample, noise, arguments.jobs))]
        if assessed:
            together = AssessedLabels(*map(np.concatenate, zip(*assessed, strict=True)))
            print("\n".join(together.lines(title)), flush=True)


if __name__ == "__main__":
    main()
