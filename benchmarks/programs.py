"""Benchmarks that are commands of their own, with the arguments of a quick run."""

from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """Module that `python -m` runs; `quick` makes it end within seconds."""

    module: str
    quick: tuple[str, ...]
    words: tuple[str, ...] = ()
    scratch: str | None = "--cells"  # option that names the file or folder of its results, if it has one

    def quick_words(self, folder: Path) -> list[str]:
        """Return the arguments of a quick run whose results are in the folder."""
        place = str(folder / "cells.jsonl") if self.scratch == "--cells" else str(folder)
        return [*self.quick, *([self.scratch, place] if self.scratch else [])]


_ONE_TABLE = ("--tables", "wdbc", "--repeats", "1")

PROGRAMS = {
    "growth": Program("benchmarks.speed.growth", ("--sizes", "500", "1000", "--repeats", "1")),
    "tree_losses": Program(
        "benchmarks.papers.tree_losses",
        ("--rows", "1000", "--draws", "1", "--sets", "MNIST", "--criteria", "CL", "ANE", "--tables", "table3"),
    ),
    "loss_correction": Program(
        "benchmarks.papers.loss_correction", ("--sets", "iris", "--rates", "0", "20", "--only", "tree")
    ),
    "minimax_boosting": Program(
        "benchmarks.papers.minimax_boosting",
        ("--tables", "table3", "--partitions", "2", "--only", "rmboost", "adaboost", "--cases", "clean"),
    ),
    "running_times": Program("benchmarks.papers.running_times", ("--repeats", "1", "--sizes", "100", "200")),
    "boosting_classes": Program(
        "benchmarks.papers.boosting_classes", ("--partitions", "2", "--sets", "wine"), scratch=None
    ),
    "comparison": Program(
        "benchmarks.comparison", ("--draws", "1", "--rows", "300", "--tables", "iris", "--noise", "uniform_20")
    ),
    "human_labels": Program(
        "benchmarks.comparison.human_labels", ("--rows", "200", "--draws", "1", "--methods", "forest", "auto")
    ),
    "placeholders": Program(
        "benchmarks.comparison.placeholders", ("--draws", "1", "--rows", "200", "--tables", "wine"), scratch=None
    ),
    "noise_curve": Program("benchmarks.accuracy.noise_curve", ("--repeats", "2", "--rates", "0.2"), scratch="--folder"),
    "audit": Program("benchmarks.accuracy.audit", _ONE_TABLE, scratch=None),
    "reliability": Program("benchmarks.accuracy.reliability", ("--rows", "1000", "--tables", "vehicle"), scratch=None),
    "few_rows": Program("benchmarks.accuracy.few_rows", ("--tables", "wine", "wdbc"), scratch=None),
    "annotators": Program("benchmarks.accuracy.annotators", ("--rows", "1000", "--draws", "1"), scratch=None),
    "simulated_annotators": Program("benchmarks.accuracy.simulated_annotators", ("--draws", "1"), scratch=None),
    "training_on_consensus": Program(
        "benchmarks.accuracy.training_on_consensus", ("--rows", "300", "--draws", "1"), scratch=None
    ),
    "noise_coverage": Program("benchmarks.accuracy.noise_coverage", _ONE_TABLE, scratch=None),
    "misspelled_labels": Program(
        "benchmarks.accuracy.misspelled_labels", ("--tables", "wdbc", "--repeats", "1"), scratch=None
    ),
    "corrected_accuracy": Program("benchmarks.accuracy.corrected_accuracy", _ONE_TABLE, scratch=None),
    "groups": Program("benchmarks.accuracy.groups", ("--tables", "wdbc"), scratch=None),
    "categorical": Program(
        "benchmarks.accuracy.categorical", ("--speed", "--rows", "2000", "--repeats", "1"), scratch=None
    ),
}
