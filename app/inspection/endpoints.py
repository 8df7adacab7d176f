"""Routes that look into trained models: GET /models/{reference}/trees/{number} and …/importances."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from app.access.scopes import Scope, needs
from app.http.error_handlers import responses
from app.http.large_answers import LARGE_ANSWER_ERRORS, Answer
from app.http.pagination import SliceParameters
from app.inspection import service
from app.inspection.errors import TreeNotFound
from app.inspection.schemas import FeatureImportanceOut, ImportancesOut, PermutationOut, TreeNode, TreeOut
from app.predictions.dependencies import Context, PredictionResources, Service
from app.predictions.service import ServedModel
from app.storage.database import reading
from app.storage.pages import InvalidCursor, SliceQuery
from app.trained_models.endpoints import ModelReference
from app.trained_models.errors import ArtifactDamaged, ArtifactMissing, ArtifactUnsupported, ModelNotFound
from app.trained_models.schemas import ModelVersionOut
from app.trained_models.service import TrainedModelService

router = APIRouter(prefix="/models", tags=["models"])

MAX_NODES = 1_000

_MODEL_ERRORS = (ModelNotFound, ArtifactMissing, ArtifactDamaged, ArtifactUnsupported)


@router.get(
    "/{reference}/trees/{number}",
    summary="Get the nodes of one tree",
    description="Nodes come in preorder: the left child of a node is the next one. An answer has fewer nodes than "
    "`limit` if they have many classes or categories; `next_cursor` continues.",
    responses=responses(*_MODEL_ERRORS, TreeNotFound, InvalidCursor),
)
@needs(Scope.READ)
def get_tree(
    reference: ModelReference,
    number: Annotated[int, Path(ge=0, le=2**31 - 1, description="number of the tree, from 0")],
    predictions: Service,
    context: Context,
    limit: Annotated[int, Query(ge=1, le=MAX_NODES, description="most nodes to return")] = 200,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the previous part")] = None,
) -> TreeOut:
    served = predictions.open(reference)
    part = service.tree_part(served, number, SliceQuery(limit=limit, cursor=cursor), context.settings.limits)
    scored = part.tree.scored_class
    return TreeOut(
        model=_version(served),
        tree=number,
        n_trees=part.n_trees,
        n_nodes=part.tree.n_nodes,
        n_leaves=part.tree.n_leaves,
        depth=part.tree.depth,
        classes=list(served.labels),
        scored_class=None if scored is None else served.labels[scored],
        rule_weight=part.tree.rule_weight,
        nodes=[TreeNode(**node) for node in part.nodes],
        next_cursor=part.next_cursor,
    )


@router.get(
    "/{reference}/importances",
    summary="Get the importances of the features",
    description="By impurity: the share of a feature in the decrease of the training risk, which favors features with "
    "many values. By permutation: the decrease of the accuracy on held-out rows, measured when the model was trained. "
    "The most important features by impurity come first; `next_cursor` continues.",
    response_model=ImportancesOut,
    responses=responses(*_MODEL_ERRORS, InvalidCursor, *LARGE_ANSWER_ERRORS),
)
@needs(Scope.READ)
async def get_importances(
    reference: ModelReference, page: SliceParameters, predictions: Service, context: Context, answer: Answer
) -> Response:
    def count_bytes() -> int:
        with reading(context.sessions) as session:
            return TrainedModelService(session, context.artifact_store).stored_bytes(reference)

    return await answer.of(count_bytes, lambda: _importances(predictions.open(reference), page, context))


def _importances(served: ServedModel, page: SliceQuery, context: PredictionResources) -> ImportancesOut:
    with reading(context.sessions) as session:
        models = TrainedModelService(session, context.artifact_store)
        measured = models.importances(uuid.UUID(served.id))
    listed = service.feature_importances(served, measured, page)
    return ImportancesOut(
        model=_version(served),
        n_trees=len(served.estimator.trees_),
        permutation=PermutationOut.model_validate(measured),
        features=[FeatureImportanceOut.model_validate(one) for one in listed.items],
        next_cursor=listed.next_cursor,
        total=listed.total,
    )


def _version(served: ServedModel) -> ModelVersionOut:
    return ModelVersionOut.model_validate(served.reference())
