"""Published results, and the verdict on ours beside them."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import options

#: Figures of the papers, one file per paper; each names its source.
FOLDER = Path(__file__).with_name("figures")

LEGEND = "= within the band around the published mean, + better, − worse, · one of the two is missing"
_NOT_AVAILABLE = "–"


class Estimate(NamedTuple):
    """Mean over draws, folds or partitions, and its spread as the paper states it."""

    mean: float
    spread: float

    def text(self, digits: int) -> str:
        return f"{self.mean:.{digits}f} ± {self.spread:.{digits}f}"


class Band(NamedTuple):
    """Largest difference that counts as a reproduction: multiples of the published spread, plus a constant."""

    spreads: float
    constant: float = 0.0
    larger_is_better: bool = True

    def verdict(self, ours: Estimate | None, published: Estimate | None) -> str:
        """Return "=" if our mean is within the band, "+" if it is better, "−" if it is worse, "·" if one is missing."""
        if ours is None or published is None:
            return "·"
        difference = ours.mean - published.mean
        # Published figures are rounded, so that a difference on the border is a matter of floating-point arithmetic.
        if abs(difference) <= self.spreads * published.spread + self.constant + 1e-9:
            return "="
        return "+" if (difference > 0) == self.larger_is_better else "−"

    def cell(self, ours: Estimate | None, published: Estimate | None, digits: int) -> str:
        """Return ours, the published result in parentheses and the verdict; "–" marks what is missing."""
        mine, theirs = (value.text(digits) if value else _NOT_AVAILABLE for value in (ours, published))
        return f"{mine} ({theirs}) {self.verdict(ours, published)}"


def summary(values: Sequence[float], n_deviations: float = 1.0) -> Estimate | None:
    """Return the mean and a number of standard deviations (divisor n − 1); None without values."""
    if not values:
        return None
    spread = n_deviations * float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Estimate(float(np.mean(values)), spread)


def counts(verdicts: Sequence[str]) -> str:
    """Return a sentence on the cells that both sides have."""
    within, better, worse = (sum(verdict == sign for verdict in verdicts) for sign in "=+−")
    total = within + better + worse
    return f"of {total} cells that both have, {within} are within the band, {better} are better, {worse} are worse."


def read_published(name: str) -> Any:
    """Return the published results of a paper, by the name of their file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def parser(documentation: str | None, name: str) -> argparse.ArgumentParser:
    """Return a parser with the options that all papers share."""
    result = options.program_parser(f"benchmarks.papers.{name}", documentation)
    options.add_data(result)
    options.add_cells(result, name)
    return result
