"""Tables of the demo: the accuracy of each model, and the result of the audit beside the truth."""

import csv
from collections.abc import Sequence
from typing import Any, Protocol

from app.demo.mislabeled_digits import MislabeledDigits


class Labeled(Protocol):
    """Row of the table of models."""

    @property
    def label(self) -> str: ...


def print_models(contenders: Sequence[Labeled], models: Sequence[Any]) -> None:
    """Print the accuracy of each model on correctly labeled test rows and on its own training rows."""
    print(f"\n{'model':<16}{'loss':<28}{'test (clean)':>13}{'train (noisy)':>15}{'fit':>9}")
    for contender, model in zip(contenders, models, strict=True):
        metrics = model["metrics"]
        print(
            f"{contender.label:<16}{_loss(model):<28}{metrics['test']['accuracy']:>13.1%}"
            f"{metrics['train_noisy']['accuracy']:>15.1%}{model['fit_seconds']:>7.2f} s"
        )
    print("NE: negative exponential loss; λ = 0 fits the training labels closely, λ = 1 is most robust to label noise.")
    for contender, model in zip(contenders, models, strict=True):
        if choice := model["fitted"].get("choice"):
            print(f"{contender.label}: {choice['reason']}")


def _loss(model: Any) -> str:
    """Return the loss as `ne, λ = 0.5`, with the λ that an adaptive loss chose."""
    loss = model["parameters"].get("loss", model["fitted"]["loss"])
    lambda_ = model["fitted"].get("lambda", loss.get("lambda"))
    return str(loss["kind"]) if lambda_ is None else f"{loss['kind']}, λ = {lambda_:g}"


def print_audit(audit: Any, flagged_csv: str, digits: MislabeledDigits) -> None:
    """Print the noise rate that the audit estimated, and how many of the changed labels it flagged."""
    flagged = {int(row["row"]) for row in csv.DictReader(flagged_csv.splitlines())}
    n_found, n_flipped = len(flagged & digits.flipped_rows), len(digits.flipped_rows)
    error = audit["noise_rate_error"]
    interval = "" if error is None else f" ± {error:.1%}"
    print(
        f"\nThe audit saw only the training labels. It estimates that {audit['noise_rate']:.1%}{interval} of them "
        f"are wrong; {n_flipped / audit['n_rows']:.1%} were changed.\n"
        f"It flagged {len(flagged):,} labels and found {n_found:,} of the {n_flipped:,} changed ones "
        f"({n_found / n_flipped:.1%}); {len(flagged) - n_found:,} flagged labels are correct."
    )
