"""What may be done to the labels of a job: wrong ones put in, and a correction for those that are wrong already.

Shapes and types are checked here; whether numbers go together and suit a data set is `core`'s to say, once the data set
is known.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

#: A data set has no more classes.
_MOST_CLASSES = 1000

Rate = Annotated[float, Field(ge=0, lt=1, strict=True, allow_inf_nan=False)]
Chance = Annotated[float, Field(strict=True, allow_inf_nan=False)]
MatrixRow = Annotated[list[Chance], Field(max_length=_MOST_CLASSES)]
Matrix = Annotated[
    list[MatrixRow],
    Field(
        min_length=1,
        max_length=_MOST_CLASSES,
        description="transition[a][b] = share of class a that is observed as class b, in class order; rows sum to 1",
        examples=[[[0.8, 0.2], [0.3, 0.7]]],
    ),
]
_RATE_RULE = "must stay below (K-1)/K for K classes"


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


class UniformNoise(_Spec):
    """Each training label is replaced with probability `rate` by one of the other classes, all equally likely."""

    kind: Literal["uniform"]
    rate: Rate = Field(description=_RATE_RULE)


class PairwiseNoise(_Spec):
    """Of two classes, labels of the first are replaced with probability `rates[0]`, of the second with `rates[1]`."""

    kind: Literal["pairwise"]
    rates: list[Rate] = Field(min_length=2, max_length=2, description="each below 1/2")


class OneSidedNoise(_Spec):
    """Labels of one class are replaced with probability `rate` by one of the other classes, all equally likely."""

    kind: Literal["one_sided"]
    noisy_class: bool | int | FiniteFloat | str = Field(alias="class", description="with its JSON type")
    rate: Rate = Field(description=_RATE_RULE)


class MatrixNoise(_Spec):
    """Each training label is drawn from its class's row of a matrix."""

    kind: Literal["matrix"]
    transition: Matrix


class ClassConditionalNoise(_Spec):
    """Labels move between classes that are near each other in the features, at rates of 0.1 to 0.5 by class; three
    classes or more.
    """

    kind: Literal["class_conditional"]


class AdversarialNoise(_Spec):
    """A share `rate` of the labels is replaced: those that boosting on the clean labels is surest of, each by the class
    that comes second.
    """

    kind: Literal["adversarial"]
    rate: Rate = Field(description=_RATE_RULE)


InjectionSpec = Annotated[
    UniformNoise | PairwiseNoise | OneSidedNoise | MatrixNoise | ClassConditionalNoise | AdversarialNoise,
    Field(discriminator="kind"),
]


class CorrectionSpec(_Spec):
    """Forward: correct what leaves say. Backward: grow on corrected labels, with the loss `gini` alone."""

    kind: Literal["forward", "backward"]
    transition: Matrix | Literal["estimate"] = Field(
        description="the matrix of the noise that is there, or `estimate`: found in the training rows of each fit"
    )


class NoiseSpec(_Spec):
    """What happens to the labels. Injection touches training labels only, never the test labels."""

    inject: InjectionSpec | None = Field(None, description="wrong labels put in on purpose, for an experiment")
    correction: CorrectionSpec | None = Field(
        None, description="for label noise of a known or estimated matrix; of `tree`, `forest` and `extra_trees`"
    )
