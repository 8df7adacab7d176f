"""Sztukiewicz, Good and Dubrawski 2024 (ICLR Tiny Papers), tables 2 and 3, beside the published results.

python -m benchmarks.papers.loss_correction               # over an hour on one core, continues when repeated
python -m benchmarks.papers.loss_correction --only forest --sets wine iris --rates 20
python -m benchmarks.papers.loss_correction --only forest --class-conditional --repeats 5 --transition estimate

Protocol of the paper: ten-fold cross-validation and weighted F1; each label is replaced with probability 0 to 40 % by
one of the other classes, chosen uniformly; decision trees, random forests and extremely randomized trees with the
default parameters of their implementation; no, forward and backward correction with the true transition matrix. The
results are means and standard deviations over the folds. Ours use the same defaults (100 trees), and additionally
forests whose splits search all features, which resemble the published forests on optdigits.

The paper does not state that test labels are clean, but its forests reach 0.96 on optdigits with 20 % noise, which is
impossible with noisy test labels. It does not define the folds either: ours are stratified and shuffled, and all models
and corrections use the same folds and the same noise.

With `--transition estimate`, every fit estimates the matrix from its own training part. With `--class-conditional`, the
rates differ between classes; the paper does not test this case, in which corrections change predictions.

The band is one published standard deviation. The last column is scikit-learn's model of the same kind without
correction, on the same folds and noise. If it is outside of the band as well, the noise draw explains the difference.
"""

import argparse
import itertools
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks.cells import Cell, CellFile
from benchmarks.data import data_folder, read
from benchmarks.papers.published import LEGEND, Band, Estimate, counts, parser, read_published, summary

DATA_SETS = ("iris", "optdigits", "pendigits", "vehicle", "wdbc", "wine")
RATES = (0, 10, 20, 30, 40)
KEY = ("data", "noise", "model", "correction", "transition", "repeat")
BAND = Band(spreads=1.0)
#: Value of `noise` in place of a rate in percent.
CLASS_CONDITIONAL = "class_conditional"


class Model(NamedTuple):
    """Model of our library and of scikit-learn; both are created with `parameters`."""

    published: str
    kind: str
    scikit_learn: type
    parameters: dict[str, Any]


#: Forest that searches all features at every node.
ALL_FEATURES = "forest, all features"
MODELS = {
    "tree": Model("DecisionTree", "tree", DecisionTreeClassifier, {}),
    "forest": Model("RandomForest", "forest", RandomForestClassifier, {}),
    ALL_FEATURES: Model("RandomForest", "forest", RandomForestClassifier, {"max_features": None}),
    "extra_trees": Model("ExtraTrees", "extra_trees", ExtraTreesClassifier, {}),
}
#: Our corrections with their published names.
CORRECTIONS = {"none": "No Correction", "forward": "Forward", "backward": "Backward"}
#: Value of `correction` for scikit-learn's model of the same kind.
THEIRS = "scikit-learn"
N_FOLDS = 10


class FoldData(NamedTuple):
    """Training and test part of a data set; training labels may be noisy, test labels are clean."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]
    transition: core.TransitionMatrix


@lru_cache(maxsize=1)
def noisy_folds(folder: Path, name: str, noise: int | str, seed: int) -> list[FoldData]:
    """Return the folds of a data set with uniform noise of a rate in percent, or class-conditional noise.

    Raises MissingData.
    """
    X, y = read(folder, name, dtype=np.float64)
    split = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    spec = {"kind": noise} if noise == CLASS_CONDITIONAL else {"kind": "uniform", "rate": float(noise) / 100}
    noisy = core.inject_noise(y, spec, X=X, random_state=seed)
    return [
        FoldData(X[train], noisy.labels[train], X[test], y[test], noisy.transition) for train, test in split.split(X, y)
    ]


def new_model(model: Model, correction: str, transition: Any, seed: int, n_jobs: int) -> Any:
    """Return an unfitted model of our library, or scikit-learn's."""
    if correction == THEIRS:
        return model.scikit_learn(random_state=seed, **model.parameters)
    spec = None if correction == "none" else {"kind": correction, "transition": transition}
    parameters: dict[str, Any] = {"correction": spec, "random_state": seed, "n_jobs": n_jobs}
    return core.ESTIMATORS[model.kind](**parameters, **model.parameters)


def measure(
    arguments: argparse.Namespace,
    data: str,
    noise: int | str,
    model: str,
    correction: str,
    transition: str,
    repeat: int,
) -> dict[str, Any]:
    """Return the weighted F1 of each fold."""
    scores = []
    for number, fold in enumerate(noisy_folds(data_folder(arguments.data), data, noise, repeat)):
        matrix = fold.transition if transition == "true" else transition
        fitted = new_model(MODELS[model], correction, matrix, number, arguments.threads).fit(fold.X, fold.y)
        scores.append(round(float(f1_score(fold.y_test, fitted.predict(fold.X_test), average="weighted")), 5))
    return {"f1": scores}


def keys(arguments: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield the requested cells; the first repeat of all cells comes first."""
    rates = [CLASS_CONDITIONAL] if arguments.class_conditional else arguments.rates
    for repeat, data, noise in itertools.product(range(arguments.repeats), arguments.sets, rates):
        for model, correction in itertools.product(arguments.only, [*CORRECTIONS, THEIRS]):
            transition = arguments.transition if correction in ("forward", "backward") else "true"
            yield data, noise, model, correction, transition, repeat


def published_estimates(content: Any) -> dict[tuple[str, Any, str, str], Estimate]:
    """Return (data, percent, published model, published correction) -> weighted F1."""
    return {
        (row["data"], row["noise_percent"], row["model"], row["correction"]): Estimate(row["weighted_f1"], row["sd"])
        for row in content.get("rows", [])
    }


def our_estimates(cells: list[Cell], transition: str) -> dict[tuple[str, Any, str, str], Estimate]:
    """Return (data, noise, model, correction) -> mean and standard deviation over the folds of all repeats."""
    scores: dict[tuple[str, Any, str, str], list[float]] = {}
    for cell in cells:
        if cell["correction"] in ("none", THEIRS) or cell["transition"] == transition:
            scores.setdefault((cell["data"], cell["noise"], cell["model"], cell["correction"]), []).extend(cell["f1"])
    estimates = {key: summary(values) for key, values in scores.items()}
    return {key: estimate for key, estimate in estimates.items() if estimate}


def table_lines(cells: list[Cell], content: Any, transition: str = "true") -> Iterator[str]:
    """Yield the Markdown table; nothing without cells."""
    ours, theirs = our_estimates(cells, transition), published_estimates(content)
    if not ours:
        return
    yield f"| data | noise | model | {' | '.join(CORRECTIONS.values())} | scikit-learn |\n|{' --- |' * 7}"
    verdicts: list[str] = []
    for data, noise, model in itertools.product(DATA_SETS, (*RATES, CLASS_CONDITIONAL), MODELS):
        if not any((data, noise, model, correction) in ours for correction in CORRECTIONS):
            continue
        published = [theirs.get((data, noise, MODELS[model].published, name)) for name in CORRECTIONS.values()]
        pairs = [(ours.get((data, noise, model, c)), p) for c, p in zip(CORRECTIONS, published, strict=True)]
        verdicts += [BAND.verdict(*pair) for pair in pairs if model != ALL_FEATURES]
        columns = [BAND.cell(*pair, digits=3) for pair in pairs]
        reference = ours.get((data, noise, model, THEIRS))
        columns.append(f"{reference.mean:.3f} {BAND.verdict(reference, published[0])}" if reference else "–")
        yield f"| {data} | {noise if noise == CLASS_CONDITIONAL else f'{noise} %'} | {model} | {' | '.join(columns)} |"
    yield f"\nAll: {counts(verdicts)}"


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    result = parser(__doc__, "loss_correction")
    result.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS))
    result.add_argument("--sets", nargs="+", choices=DATA_SETS, default=DATA_SETS)
    result.add_argument("--rates", nargs="+", type=int, choices=RATES, default=RATES, help="percent of wrong labels")
    result.add_argument(
        "--class-conditional",
        action="store_true",
        help="use noise between similar classes instead of the rates; requires three or more classes",
    )
    result.add_argument("--repeats", type=int, default=1, help="cross-validations, each with its own folds and noise")
    result.add_argument("--transition", choices=("true", "estimate"), default="true", help="matrix of the corrections")
    result.add_argument("--threads", type=int, default=1)
    return result.parse_args(words)


def main(words: list[str] | None = None) -> None:
    arguments = parse_arguments(words)
    file = CellFile(arguments.cells, KEY)
    if not arguments.print_only:
        file.fill(keys(arguments), partial(measure, arguments), "loss correction")
    print(f"Weighted F1 ({LEGEND})\n")
    print("\n".join(table_lines(file.cells(), read_published("loss_correction"), arguments.transition)))


if __name__ == "__main__":
    main()
