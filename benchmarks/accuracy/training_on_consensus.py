"""Accuracy of `auto` after training on the merged labels of several annotators, as a Markdown table.

python -m benchmarks.accuracy.training_on_consensus                # about ten minutes on two cores
python -m benchmarks.accuracy.training_on_consensus --rows 1000 --draws 1

The images and their merged labels are those of `benchmarks.accuracy.annotators`. Each model is tested on 5,000 other
images with correct labels. For the weighted labels, the weight of a row is the probability of its label. Cells are the
mean accuracy over the draws in percent, with its standard error.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import core
from benchmarks import options
from benchmarks.accuracy.annotators import IMAGE_METHODS, Images, header, mean_percent, merged_labels, read_images
from benchmarks.comparison.human_labels import N_TEST_ROWS
from benchmarks.data import MissingData, data_folder
from benchmarks.settings import skip

WEIGHTED = ("dawid_skene", "with_features")
LABELS = ("first answer", *IMAGE_METHODS, *(f"{method}, weighted" for method in WEIGHTED), "correct labels")


def accuracies(images: Images, n_rows: int, n_answers: int, draw: int, n_jobs: int) -> list[float]:
    """Return the accuracy of a model after training on each of `LABELS`."""
    train, test = images.drawn(draw, slice(n_rows)), images.drawn(draw, slice(-N_TEST_ROWS, None))
    merged = merged_labels(train, n_answers, draw, n_jobs)
    weighted = [(merged[method].labels, merged[method].probabilities.max(axis=1)) for method in WEIGHTED]
    plain = [(one.labels, None) for one in merged.values()]

    def accuracy(y: NDArray[Any], weights: NDArray[np.float64] | None) -> float:
        model = core.AutoClassifier(random_state=draw, n_jobs=n_jobs).fit(train.X, y, sample_weight=weights)
        return float(np.mean(model.predict(test.X) == test.truth))

    return [accuracy(*labels) for labels in ((train.labels[:, 0], None), *plain, *weighted, (train.truth, None))]


def main(words: list[str] | None = None) -> None:
    parser = options.program_parser("benchmarks.accuracy.training_on_consensus", __doc__)
    options.add_data(parser)
    options.add_jobs(parser)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 3_000], help="numbers of images")
    parser.add_argument("--draws", type=int, default=5, help="random draws of the images")
    arguments = parser.parse_args(words)
    try:
        images = read_images(data_folder(arguments.data))
    except MissingData as error:
        skip("CIFAR-10N", error)
        return
    print(header("images", "answers", *LABELS), flush=True)
    for n_rows in arguments.rows:
        for n_answers in (2, 3):
            draws = [accuracies(images, n_rows, n_answers, draw, arguments.jobs) for draw in range(arguments.draws)]
            cells = " | ".join(mean_percent(values) for values in np.array(draws).T)
            print(f"| {n_rows:,} | {n_answers} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
