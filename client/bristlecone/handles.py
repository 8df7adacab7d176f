"""Jobs and models as a service describes them, with the properties that both clients have."""

from typing import Any


class JobHandle:
    """Job in the background. `raw` is the job when it was last asked for."""

    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def state(self) -> str:
        """Return the state when the job was last asked for."""
        return str(self.raw["state"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, kind={self.raw['kind']!r}, state={self.state!r})"


class ModelHandle:
    """One version of a trained model. `raw` is the answer of the service; in lists, without features and matrices."""

    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def name(self) -> str:
        return str(self.raw["name"])

    @property
    def version(self) -> int:
        return int(self.raw["version"])

    @property
    def metrics(self) -> dict[str, Any]:
        """Return the scores: `test`, `train_noisy`, and `test_corrected` about the true labels."""
        metrics: dict[str, Any] = self.raw["metrics"]
        return metrics

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """Return which rows `metrics` are about, such as `{"kind": "cross_validation", "folds": 5}`.

        A test data set has its `dataset_id` and the `data_sha256` of its data. None for models of earlier versions.
        """
        evaluation: dict[str, Any] | None = self.raw.get("evaluation")
        return evaluation

    @property
    def choice(self) -> dict[str, Any] | None:
        """Return what `auto` chose and why: its `reason` in a sentence, the leaderboard and the estimate of the noise.

        Probabilities are those of the true class if `calibration` assumes a `noise_rate` above 0, and otherwise those
        of the given label. None for other kinds of models; in lists without the leaderboard.
        """
        choice: dict[str, Any] | None = (self.raw.get("fitted") or {}).get("choice")
        return choice

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}:{self.version}, kind={self.raw['kind']!r}, id={self.id!r})"
