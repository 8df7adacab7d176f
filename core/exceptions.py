"""Everything `core` raises on purpose.

    CoreError                     code
    ├── InvalidInput              invalid_input          X, y or weights cannot be used
    ├── InvalidParameter          invalid_parameter      a constructor argument is out of bounds
    │   ├── InvalidLoss           invalid_loss           not a loss, or a parameter of a loss is wrong
    │   └── InvalidNoise          invalid_noise          not a kind of noise, or a transition matrix is wrong
    ├── ArtifactError             corrupt_artifact       the file is damaged or was not written by this library
    │   └── UnsupportedArtifact   unsupported_artifact   the file has a format of another version
    ├── FitStopped                fit_stopped            the monitor asked the fit to stop
    └── SolverFailed              solver_failed          a linear program was not solved to its optimum

Messages name the value, the rule and the way out. The first three are also ValueErrors, as scikit-learn's users expect.
"""

from typing import Any, ClassVar


class CoreError(Exception):
    """Base of all errors of this library; `code` is stable and meant for programs."""

    code: ClassVar[str] = "core_error"


class InvalidInput(CoreError, ValueError):
    """X, y or sample_weight cannot be used."""

    code = "invalid_input"


class InvalidParameter(CoreError, ValueError):
    """A constructor argument breaks its bounds."""

    code = "invalid_parameter"


class InvalidLoss(InvalidParameter):
    """Not a loss, or a parameter of a loss is out of bounds."""

    code = "invalid_loss"


class InvalidNoise(InvalidParameter):
    """Not a kind of label noise, or its rates or transition matrix are wrong; `parameter` is the key at fault, None
    where it is no single one.
    """

    code = "invalid_noise"

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class ArtifactError(CoreError):
    """The file is damaged, hostile, or no artefact of this library."""

    code = "corrupt_artifact"


class UnsupportedArtifact(ArtifactError):
    """The file is of a format version that this library does not know."""

    code = "unsupported_artifact"


class FitStopped(CoreError):
    """The monitor's stop flag was set; the estimator was not fitted."""

    code = "fit_stopped"


class SolverFailed(CoreError):
    """A linear program was not solved; `status` is what its solver said, `solution` the last optimum before."""

    code = "solver_failed"

    def __init__(self, status: str, solution: Any) -> None:
        super().__init__(
            f"the solver of the linear program stopped with status {status!r}; fewer rounds make the program easier, "
            "and so does a larger regularization (RMBoost) or outlier_share (LPBoost)."
        )
        self.status = status
        self.solution = solution
