"""Sztukiewicz, Good and Dubrawski, tables 2 and 3: our trees with loss correction against the published results.

python -m benchmarks.papers.loss_correction
python -m benchmarks.papers.loss_correction --only forest --data-sets wine iris --rates 20

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

A mark shows that our mean is more than one published standard deviation above (**+**) or below (**-**) the published
mean. The last column is scikit-learn's model of the same kind without correction, on the same folds and noise. If it is
marked as well, the noise draw explains the difference.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import core
from benchmarks.data import SHARED, data_folder, read

DATA_SETS = ("iris", "optdigits", "vehicle", "wdbc", "wine")
RATES = (0, 10, 20, 30, 40)


class Model(NamedTuple):
    """Model of our library and of scikit-learn; both are created with `parameters`."""

    published: str
    kind: str
    scikit_learn: type
    parameters: dict[str, Any]


MODELS = {
    "tree": Model("DecisionTree", "tree", DecisionTreeClassifier, {}),
    "forest": Model("RandomForest", "forest", RandomForestClassifier, {}),
    "forest, all features": Model("RandomForest", "forest", RandomForestClassifier, {"max_features": None}),
    "extra_trees": Model("ExtraTrees", "extra_trees", ExtraTreesClassifier, {}),
}
CORRECTIONS = {None: "No Correction", "forward": "Forward", "backward": "Backward"}
N_FOLDS = 10


class FoldData(NamedTuple):
    """Training and test part of a data set; training labels may be noisy, test labels are clean."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]
    transition: core.TransitionMatrix | str  # of the correction


class Published(NamedTuple):
    mean: float
    sd: float


def noisy_folds(X: NDArray[np.float64], y: NDArray[np.int64], percent: int | None, seed: int) -> Iterator[FoldData]:
    """Yield the folds of a data set with uniform noise of a rate, or class-conditional noise if `percent` is None."""
    split = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    spec = {"kind": "class_conditional"} if percent is None else {"kind": "uniform", "rate": percent / 100}
    noisy = core.inject_noise(y, spec, X=X, random_state=seed)
    for train, test in split.split(X, y):
        yield FoldData(X[train], noisy.labels[train], X[test], y[test], noisy.transition)


def fold_scores(folds: list[FoldData], new_model: Callable[[int, FoldData], Any]) -> list[float]:
    """Return the weighted F1 of each fold; `new_model` is called with the number of the fold and the fold."""
    scores = []
    for number, fold in enumerate(folds):
        predicted = new_model(number, fold).fit(fold.X, fold.y).predict(fold.X_test)
        scores.append(f1_score(fold.y_test, predicted, average="weighted"))
    return scores


def our_model(model: Model, correction: str | None, n_jobs: int) -> Callable[[int, FoldData], Any]:
    def new_model(number: int, fold: FoldData) -> Any:
        spec = correction and {"kind": correction, "transition": fold.transition}
        parameters: dict[str, Any] = {"correction": spec, "random_state": number, "n_jobs": n_jobs}
        return core.ESTIMATORS[model.kind](**parameters, **model.parameters)

    return new_model


def published_cells(path: Path) -> dict[tuple[str, int, str, str], Published]:
    """Return (data, percent, model, correction) -> mean and standard deviation; empty if the file does not exist."""
    if not path.exists():
        print(f"{path.name} does not exist; only our results are shown.")
        return {}
    rows = json.loads(path.read_text())["rows"]
    return {
        (row["data"], row["noise_percent"], row["model"], row["correction"]): Published(row["weighted_f1"], row["sd"])
        for row in rows
    }


def mark(mean: float, published: Published | None) -> str:
    if published is None or abs(mean - published.mean) <= published.sd:
        return ""
    return " **+**" if mean > published.mean else " **-**"


def format_cell(values: list[float], published: Published | None) -> str:
    mean = float(np.mean(values))
    theirs = "–" if published is None else f"{published.mean:.3f} ± {published.sd:.3f}"
    return f"{mean:.3f} ± {float(np.std(values, ddof=1)):.3f} ({theirs}){mark(mean, published)}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, help="folder of Parquet files; default: BRISTLECONE_DATA or ../shared/data"
    )
    parser.add_argument("--published", type=Path, default=SHARED / "reference/published/loss_correction.json")
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--data-sets", nargs="+", choices=DATA_SETS, default=DATA_SETS)
    parser.add_argument("--rates", nargs="+", type=int, choices=RATES, default=RATES, help="percent of wrong labels")
    parser.add_argument(
        "--class-conditional",
        action="store_true",
        help="use noise between similar classes instead of the rates; requires three or more classes",
    )
    parser.add_argument("--repeats", type=int, default=1, help="cross-validations, each with its own folds and noise")
    parser.add_argument("--transition", choices=("true", "estimate"), default="true", help="matrix of the corrections")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def line(
    folds: list[FoldData], model: Model, targets: list[Published | None], n_jobs: int
) -> tuple[list[str], list[bool]]:
    """Return the cells of one model, and whether those with a target are within one standard deviation of it."""
    cells, within = [], []
    for correction, target in zip(CORRECTIONS, targets, strict=True):
        values = fold_scores(folds, our_model(model, correction, n_jobs))
        cells.append(format_cell(values, target))
        within += [] if target is None else [not mark(float(np.mean(values)), target)]
    their_scores = fold_scores(folds, lambda number, _: model.scikit_learn(random_state=number, **model.parameters))
    theirs = float(np.mean(their_scores))
    return [*cells, f"{theirs:.3f}{mark(theirs, targets[0])}"], within


def main() -> None:
    arguments = parse_arguments()
    published = published_cells(arguments.published)
    start, within = time.perf_counter(), []
    columns = [*CORRECTIONS.values(), "scikit-learn"]
    print(f"| data | noise | model | {' | '.join(columns)} |\n|---|---|---|{'---|' * len(columns)}", flush=True)
    rates = [None] if arguments.class_conditional else arguments.rates
    for name, percent in itertools.product(arguments.data_sets, rates):
        X, y = read(data_folder(arguments.data), name, dtype=np.float64)
        folds = [fold for seed in range(arguments.repeats) for fold in noisy_folds(X, y, percent, seed)]
        if arguments.transition == "estimate":
            folds = [fold._replace(transition="estimate") for fold in folds]
        for title in arguments.only:
            model = MODELS[title]
            targets = [published.get((name, percent, model.published, theirs)) for theirs in CORRECTIONS.values()]
            cells, line_within = line(folds, model, targets, arguments.threads)
            within += line_within
            noise = "class-conditional" if percent is None else f"{percent} %"
            print(f"| {name} | {noise} | {title} | {' | '.join(cells)} |", flush=True)
    print(f"\n{sum(within)} of {len(within)} cells within one standard deviation; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
