"""Answers of the service as objects. Each keeps the whole answer in `raw`; the HTTP reference explains its fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class _Result:
    raw: Raw

    @classmethod
    def from_raw(cls, raw: Raw) -> Self:
        """Return the object of an answer; fields that an older service does not send are None."""
        own = [field.name for field in fields(cls) if field.name != "raw"]
        return cls(raw, **{name: raw.get(name) for name in own})

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{field.name}={getattr(self, field.name)!r:.60}" for field in fields(self) if field.name in _SHOWN
        )
        return f"{type(self).__name__}({shown})"


_SHOWN = frozenset({"id", "name", "version", "kind", "n_rows", "target", "state", "noise_rate", "n_issues", "repeats"})


@dataclass(frozen=True, repr=False)
class Dataset(_Result):
    """Uploaded data set."""

    id: str
    name: str
    target: str
    n_rows: int
    n_labeled: int
    #: [{"label", "count"}], in class order.
    classes: list[dict[str, Any]]
    #: [{"name", "kind", "reason", "missing", ...}]
    features: list[dict[str, Any]]
    #: Guesses about the file, and values that look wrong: [{"column", "code", "detail", "rows"}]
    warnings: list[dict[str, Any]]


@dataclass(frozen=True, repr=False)
class AuditReport(_Result):
    """Estimated noise of the labels of a data set. `issues` has one entry for each suspected row, worst first."""

    id: str
    dataset_id: str
    n_rows: int
    n_issues: int
    noise_rate: float
    noise_rate_error: float | None
    #: `transition[clean][noisy]`, classes in the order of `classes`.
    transition: list[list[float]]
    classes: list[dict[str, Any]]
    warning: str | None
    #: [{"row", "given_label", "suggested_label", "quality", "is_issue"}]
    issues: list[dict[str, Any]]

    def plot(self, ax: Any = None) -> Any:
        """Draw the transition matrix with matplotlib, and return its axes."""
        ax = _axes(ax)
        labels = [str(entry["label"]) for entry in self.classes]
        ax.imshow(self.transition, vmin=0, vmax=1, cmap="Blues")
        ax.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
        ax.set_yticks(range(len(labels)), labels)
        for clean, row in enumerate(self.transition):
            for noisy, share in enumerate(row):
                ax.text(
                    noisy, clean, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.5 else "black"
                )
        ax.set(
            xlabel="given label", ylabel="true class", title=f"Estimated share of wrong labels: {self.noise_rate:.1%}"
        )
        return ax


@dataclass(frozen=True, repr=False)
class SweepReport(_Result):
    """Scores of models under noise."""

    id: str
    dataset_id: str
    state: str
    repeats: int
    #: [{"model", "noise", "metric", "mean", "sd", "values", "state", "error"}]
    cells: list[dict[str, Any]]

    def rows(self, metric: str = "accuracy") -> list[dict[str, Any]]:
        """Return one flat row for each cell: model, noise, mean and standard deviation of a metric.

        Models that differ in a parameter have different texts, and so have noises.
        """
        cells = [cell for cell in self.cells if cell["metric"] == metric]
        models, noises = (describe_all([cell[part] for cell in cells]) for part in ("model", "noise"))
        return [
            {"model": model, "noise": noise, "mean": cell["mean"], "sd": cell["sd"]}
            for model, noise, cell in zip(models, noises, cells, strict=True)
        ]

    def plot(self, metric: str = "accuracy", ax: Any = None) -> Any:
        """Draw the mean by noise, one line for each model, with matplotlib, and return its axes."""
        ax = _axes(ax)
        rows = self.rows(metric)
        for model in dict.fromkeys(row["model"] for row in rows):
            of_model = [row for row in rows if row["model"] == model and row["mean"] is not None]
            errors = [row["sd"] or 0.0 for row in of_model]
            ax.errorbar(
                [row["noise"] for row in of_model], [row["mean"] for row in of_model], errors, label=model, capsize=3
            )
        ax.set(xlabel="noise in the training labels", ylabel=f"{metric} on held-out rows")
        ax.legend()
        return ax


def describe(part: Mapping[str, Any]) -> str:
    """Return a model or a noise of a request as a short text: its kind, its loss, and its rate."""
    loss = part.get("loss")
    loss = loss.get("kind") if isinstance(loss, Mapping) else loss
    more = [str(value) for value in (loss, part.get("rate")) if value is not None]
    return " ".join([str(part["kind"]), *more])


def describe_all(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a text for each model or noise. Different ones with the same short text name what differs."""
    texts, flat = [describe(part) for part in parts], [_flat(part) for part in parts]
    described = []
    for text, own in zip(texts, flat, strict=True):
        alike = [other for other, other_text in zip(flat, texts, strict=True) if other_text == text]
        names = dict.fromkeys(name for other in alike for name in other)
        differing = [name for name in names if any(other.get(name) != own.get(name) for other in alike)]
        described.append(" ".join([text, *(f"{name}={own[name]}" for name in differing if name in own)]))
    return described


def _flat(part: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the parameters of a model or a noise, those of its loss as "loss.name"."""
    flat: dict[str, Any] = {}
    for name, value in part.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flat


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    # Imported here, because few users draw.
    from matplotlib import pyplot  # noqa: PLC0415

    return pyplot.subplots(layout="constrained")[1]
