"""Errors of this library.

    CoreError                     code
    ├── InvalidInput              invalid_input          X, y or weights are invalid
    │   └── TooFewGroups          invalid_input          the rows are in too few groups to be divided
    ├── InvalidParameter          invalid_parameter      a constructor argument is out of bounds
    │   ├── InvalidLoss           invalid_loss           a loss or its parameters are invalid
    │   └── InvalidNoise          invalid_noise          a noise kind, rate or transition matrix is invalid
    ├── ArtifactError             corrupt_artifact       the file is damaged or not an artifact
    │   └── UnsupportedArtifact   unsupported_artifact   the file has an unknown format version
    ├── FitStopped                fit_stopped            the monitor requested a stop
    └── SolverFailed              solver_failed          a linear program was not solved to optimality

Messages name the value, the rule and the way out. Errors of inputs and parameters are also ValueErrors, as users of
scikit-learn expect.
"""

from typing import Any, ClassVar


class CoreError(Exception):
    """Base of all errors of this library; `code` is stable, so programs can rely on it."""

    code: ClassVar[str] = "core_error"


class InvalidInput(CoreError, ValueError):
    """X, y or sample_weight is invalid."""

    code = "invalid_input"


class TooFewGroups(InvalidInput):
    """The rows are in too few groups to be divided; `rule` is the message without the way out."""

    def __init__(self, rule: str, way_out: str) -> None:
        super().__init__(f"{rule} {way_out}")
        self.rule = rule


class InvalidParameter(CoreError, ValueError):
    """A constructor argument is out of bounds."""

    code = "invalid_parameter"


class InvalidLoss(InvalidParameter):
    """A loss is unknown, or one of its parameters is out of bounds."""

    code = "invalid_loss"


class InvalidNoise(InvalidParameter):
    """A kind of label noise is unknown, or its rates or transition matrix are invalid.

    `parameter` is the name of the invalid parameter, or None if several are.
    """

    code = "invalid_noise"

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class ArtifactError(CoreError):
    """The file is damaged, hostile, or not an artifact of this library."""

    code = "corrupt_artifact"


class UnsupportedArtifact(ArtifactError):
    """The file has a format version that this library does not know."""

    code = "unsupported_artifact"


class FitStopped(CoreError):
    """The stop flag of the monitor was set; the estimator was not fitted."""

    code = "fit_stopped"


class SolverFailed(CoreError):
    """A linear program was not solved; `status` is the status of the solver, `solution` the last optimum before it."""

    code = "solver_failed"

    def __init__(self, status: str, solution: Any) -> None:
        super().__init__(
            f"the solver of the linear program stopped with status {status!r}; use fewer rounds, a larger "
            "regularization (RMBoost) or a larger outlier_share (LPBoost), which make the program easier."
        )
        self.status = status
        self.solution = solution
