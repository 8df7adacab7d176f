"""Answers about trees and importances of trained models."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from app.trained_models.schemas import ModelVersionOut

Label = bool | int | float | str
Side = Literal["left", "right"]


class TreeNode(BaseModel):
    """Node of a tree; the fields of a split are null in a leaf."""

    node: int = Field(description="number of the node; 0 is the root, and a parent comes before its children")
    parent: int | None
    depth: int = Field(description="edges from the root")
    feature: str | None = Field(description="feature that the node splits by; null in a leaf")
    threshold: float | str | None = Field(
        description="values up to it go left, larger ones right; a date for dates. Null if the split is one of "
        "categories, or sends all present values left and missing ones right. Models of earlier versions may split "
        "categories by their positions, from 0"
    )
    categories: list[str] | None = Field(description="categories that go to the side of `categories_go`")
    categories_go: Side | None = Field(description="side of `categories`; all others go where missing values go")
    missing_goes: Side | None
    left: int | None
    right: int | None
    n_rows: int = Field(description="training rows in the node")
    weight: float = Field(description="sum of their weights")
    impurity: float
    distribution: list[float] = Field(description="weighted shares of `classes`; with a correction the corrected ones")
    output: float | None = Field(description="output of a leaf of a booster's rule; null for trees and forests")


class TreeOut(BaseModel):
    """Tree of a model with a part of its nodes."""

    model: ModelVersionOut
    tree: int = Field(description="number of the tree, from 0")
    n_trees: int
    n_nodes: int
    n_leaves: int
    depth: int
    classes: list[Label] = Field(
        description="order of `distribution`; for the rules of a booster: the other class or classes, then `class`"
    )
    scored_class: Label | None = Field(
        serialization_alias="class", description="class that the rule of a booster adds to the score of; null otherwise"
    )
    rule_weight: float | None = Field(description="weight of the rule in the score of the class; null otherwise")
    nodes: list[TreeNode]
    next_cursor: str | None = Field(description="`cursor` of the next nodes; null after the last")


class FeatureImportanceOut(BaseModel):
    """Importance of a feature."""

    model_config = ConfigDict(from_attributes=True)

    feature: str
    impurity: float = Field(description="share of the feature in the impurity decrease of the trees; the sum is 1")
    impurity_sd: float | None = Field(description="standard deviation over the trees; null for a single tree")
    permutation: float | None = Field(
        description="how much the accuracy on held-out rows decreases when the values of the feature are permuted"
    )
    permutation_sd: float | None = Field(description="standard deviation over the repeats")


class PermutationOut(BaseModel):
    """How permutation importances were measured."""

    accuracy: float | None = Field(None, description="accuracy on the held-out rows as they are, as labeled")
    n_rows: int | None = Field(None, description="held-out rows that were used, drawn at random if there are many")
    n_repeats: int | None = None
    reason: str | None = Field(None, description="why there are none, or none of some features; else null")


class ImportancesOut(BaseModel):
    """Part of the importances of the features of a model, the most important by impurity first."""

    model: ModelVersionOut
    n_trees: int
    permutation: PermutationOut
    features: list[FeatureImportanceOut]
    next_cursor: str | None = Field(description="`cursor` of the next features; null after the last")
    total: int = Field(description="number of features of the model")
