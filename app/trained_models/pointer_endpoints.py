"""Routes of aliases, and of names of models: their default version and renaming."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.access.scopes import Scope, needs
from app.http.dependencies import Actor
from app.http.error_handlers import responses
from app.http.json_body import JSON_ERRORS, json_body, json_request_body
from app.http.pagination import NameContains, Page, PageParameters, SliceParameters
from app.storage.database import reading
from app.storage.pages import InvalidCursor, SliceQuery, UnknownSort
from app.trained_models import pointer_service
from app.trained_models.dependencies import Context
from app.trained_models.errors import AliasNotFound, ModelNameTaken, ModelNotFound
from app.trained_models.names import AliasName, ModelName
from app.trained_models.pointer_service import PointerService
from app.trained_models.registry_schemas import (
    Alias,
    AliasItem,
    AliasTarget,
    DefaultOfName,
    DefaultVersion,
    NewName,
)
from app.trained_models.renaming import rename_models

router = APIRouter(tags=["models"])

_FIRST_MOVES = SliceQuery(limit=50, cursor=None)

AliasPath = Annotated[AliasName, Path(description="name of the alias, without `@`", examples=["production"])]
NamePath = Annotated[ModelName, Path(description="name of the models", examples=["credit-risk"])]


@router.get("/aliases", summary="List aliases", responses=responses(InvalidCursor, UnknownSort))
@needs(Scope.READ)
def list_aliases(context: Context, page: PageParameters, name_contains: NameContains = None) -> Page[AliasItem]:
    with reading(context.sessions) as session:
        listed = PointerService(session).aliases(page, name_contains)
    return Page.of(listed, AliasItem.from_record)


@router.get(
    "/aliases/{name}",
    summary="Get an alias and its history",
    responses=responses(AliasNotFound, InvalidCursor),
)
@needs(Scope.READ)
def get_alias(name: AliasPath, context: Context, page: SliceParameters) -> Alias:
    alias, history = pointer_service.get_alias(context.sessions, name, page)
    return Alias.from_records(alias, history.moves, history.next_cursor)


@router.put(
    "/aliases/{name}",
    summary="Make an alias point to a model",
    description="The alias is made, or moved if it exists. `@NAME` means this model from the next request on, in every "
    "route that takes a model. The answer is 201 for a new alias.",
    responses={
        201: {"model": Alias, "description": "The alias is new"},
        **responses(*JSON_ERRORS, ModelNotFound),
    },
    openapi_extra=json_request_body(AliasTarget, {}),
)
@needs(Scope.ADMIN)
def put_alias(
    name: AliasPath,
    target: Annotated[AliasTarget, json_body(AliasTarget)],
    context: Context,
    actor: Actor,
    response: Response,
) -> Alias:
    is_new = pointer_service.point_alias(context.sessions, context.artifact_store, name, target.model_id, actor)
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/aliases/{name}"
    return get_alias(name, context, _FIRST_MOVES)


@router.delete(
    "/aliases/{name}",
    status_code=204,
    summary="Delete an alias",
    description="The model stays. The history stays as well, and is shown again if the alias is made again.",
    responses=responses(AliasNotFound),
)
@needs(Scope.ADMIN)
def delete_alias(name: AliasPath, context: Context, actor: Actor) -> None:
    pointer_service.remove_alias(context.sessions, name, actor)


@router.get(
    "/models/by-name/{name}/default",
    summary="Get the version that a name means",
    responses=responses(ModelNotFound, InvalidCursor),
)
@needs(Scope.READ)
def get_default(name: NamePath, context: Context, page: SliceParameters) -> DefaultOfName:
    default, history = pointer_service.get_default(context.sessions, name, page)
    return DefaultOfName.from_records(default, history.moves, history.next_cursor)


@router.put(
    "/models/by-name/{name}/default",
    summary="Set the version that a name means",
    description="Without a default version, a bare name means its newest version, so that retraining changes what "
    "requests with this name use. Null restores that.",
    responses=responses(*JSON_ERRORS, ModelNotFound),
    openapi_extra=json_request_body(DefaultVersion, {}),
)
@needs(Scope.ADMIN)
def put_default(
    name: NamePath, default: Annotated[DefaultVersion, json_body(DefaultVersion)], context: Context, actor: Actor
) -> DefaultOfName:
    pointer_service.set_default(context.sessions, name, default.version, actor)
    return get_default(name, context, _FIRST_MOVES)


@router.patch(
    "/models/by-name/{name}",
    summary="Rename all versions of a model",
    description="Ids, versions, aliases and the default version stay. A job that is queued under the old name "
    "registers its model under the old name, whose versions continue to count.",
    responses=responses(*JSON_ERRORS, ModelNotFound, ModelNameTaken),
    openapi_extra=json_request_body(NewName, {}),
)
@needs(Scope.ADMIN)
def rename(
    name: NamePath, new: Annotated[NewName, json_body(NewName)], context: Context, actor: Actor
) -> DefaultOfName:
    rename_models(context.sessions, name, new.name, actor)
    return get_default(new.name, context, _FIRST_MOVES)
