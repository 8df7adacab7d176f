"""Request fields of injected noise and of its correction, derived from the declarations in `core`.

Only shapes and types are checked here. Whether the values fit together and suit a data set is checked once the data set
is known: `app.requests.noise_compatibility`.
"""

from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field

from app.requests.derived_specs import DerivedSpec, create_spec, kind_field, union_by_kind
from app.requests.request_model import RequestModel
from core import ESTIMATORS, NOISE_KINDS
from core.service_api import correction_parameters, estimator_parameters, noise_parameters


def _injection_spec(kind: str) -> type[DerivedSpec]:
    noise = NOISE_KINDS[kind]
    parameters = noise_parameters(kind)
    return create_spec(noise.__name__, DerivedSpec, noise.help, parameters, kind=kind_field(kind, required=True))


if TYPE_CHECKING:

    class CorrectionSpec(DerivedSpec):
        transition: Any

    InjectionSpec = DerivedSpec
else:
    CorrectionSpec = create_spec(
        "CorrectionSpec",
        DerivedSpec,
        "Correction of the fit for label noise with a known or estimated transition matrix.",
        correction_parameters(),
    )
    InjectionSpec = union_by_kind([_injection_spec(kind) for kind in NOISE_KINDS])


_CORRECTED_KINDS = ", ".join(
    f"`{kind}`" for kind in ESTIMATORS if "correction" in {parameter.name for parameter in estimator_parameters(kind)}
)


class NoiseSpec(RequestModel):
    """Noise that is injected into the training labels, never into test labels, and correction for noise in the data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inject: InjectionSpec | None = Field(None, description="Noise to inject into the training labels, for experiments.")
    correction: CorrectionSpec | None = Field(
        None,
        description=f"Correction for label noise in the data. It is supported by {_CORRECTED_KINDS}.",
    )
