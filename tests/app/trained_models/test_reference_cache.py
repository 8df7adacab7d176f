"""References that API processes remember, and everything that changes what they mean."""

from collections.abc import Callable

import pytest

from app.context import ServiceContext, open_context
from app.predictions.service import PredictionService
from app.storage.database import writing
from app.storage.generation import Generation
from app.trained_models import reference_cache
from app.trained_models.errors import ModelNotFound
from app.trained_models.pointer_service import point_alias, remove_alias, set_default
from app.trained_models.reference_cache import ReferenceCache
from app.trained_models.renaming import rename_models
from app.trained_models.repository import TrainedModelRepository
from app.trained_models.service import change_model, delete_model
from tests.app.trained_models.made import make_trained_model
from tests.app.trained_models.registered import like, register
from tests.factories import make_job

NAME = "credit-risk"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is remembered, so that nothing but a change invalidates it."""
    for name in ("REFRESH_SECONDS", "MAX_AGE_SECONDS"):
        monkeypatch.setattr(reference_cache, name, 1e9)


def _move_alias(context: ServiceContext) -> None:
    point_alias(context.sessions, context.artifact_store, "live", f"{NAME}:2")


def _remove_alias(context: ServiceContext) -> None:
    remove_alias(context.sessions, "live")


def _set_default(context: ServiceContext) -> None:
    set_default(context.sessions, NAME, 1)


def _delete(context: ServiceContext) -> None:
    delete_model(context.sessions, context.artifact_store, f"{NAME}:2")


def _rename(context: ServiceContext) -> None:
    rename_models(context.sessions, NAME, "loans")


def _retrain(context: ServiceContext) -> None:
    register(context, like(make_trained_model(context, name="other"), name=NAME))


@pytest.mark.parametrize(
    ("change", "reference", "after"),
    [
        (_move_alias, "@live", (NAME, 2)),
        (_remove_alias, "@live", None),
        (_set_default, NAME, (NAME, 1)),
        (_delete, NAME, (NAME, 1)),
        (_delete, f"{NAME}:2", None),
        (_rename, NAME, None),
        (_rename, "@live", ("loans", 1)),
        (_retrain, NAME, (NAME, 3)),
    ],
)
def test_a_change_by_another_process_counts_in_the_next_request(
    context: ServiceContext, change: Callable[[ServiceContext], None], reference: str, after: tuple[str, int] | None
) -> None:
    first = make_trained_model(context)
    register(context, like(first, seed=1))
    point_alias(context.sessions, context.artifact_store, "live", f"{NAME}:1")
    other = open_context(context.settings)
    predictions = PredictionService(
        context.sessions, context.artifact_store, context.served_models, context.instruments
    )
    predictions.open(reference)
    assert context.served_models.warm(reference) is not None
    change(other)
    other.close()
    assert context.served_models.warm(reference) is None
    if after is None:
        with pytest.raises(ModelNotFound):
            predictions.open(reference)
        return
    served = predictions.open(reference)
    assert (served.name, served.version) == after
    assert served.reference()["name"] == after[0]


def test_descriptions_tags_and_jobs_keep_what_is_remembered(context: ServiceContext) -> None:
    make_trained_model(context)
    predictions = PredictionService(
        context.sessions, context.artifact_store, context.served_models, context.instruments
    )
    predictions.open(NAME)
    for changes in ({"description": "for new loans"}, {"tags": ["loans"]}, {}):
        change_model(context.sessions, context.artifact_store, NAME, changes)
    make_job(context)
    assert context.served_models.warm(NAME) is not None


def test_an_update_of_anything_else_counts(context: ServiceContext) -> None:
    model = make_trained_model(context)
    generation = Generation(context.settings.generation_file)
    before = generation.current()
    with writing(context.sessions) as session:
        TrainedModelRepository(session).update(model.id, {"description": "renamed", "name": "other"})
    assert generation.current() != before


def test_changes_on_other_machines_count_when_the_time_is_over(
    context: ServiceContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_trained_model(context)
    looked_up: list[str] = []
    cache = ReferenceCache(Generation(context.settings.home / "of-another-machine"))
    [found] = [cache.resolve(NAME, lambda reference: _found(looked_up, reference)) for _ in range(1)]
    assert cache.known(NAME) is found
    monkeypatch.setattr(reference_cache, "REFRESH_SECONDS", 0.0)
    # One request looks it up again, while the others use what is known.
    assert cache.known(NAME) is None
    assert cache.known(NAME) is found
    assert cache.resolve(NAME, lambda reference: _found(looked_up, reference)) is not found
    monkeypatch.setattr(reference_cache, "MAX_AGE_SECONDS", 0.0)
    assert [cache.known(NAME), cache.known(NAME)] == [None, None]
    assert looked_up == [NAME, NAME]


def _found(looked_up: list[str], reference: str) -> object:
    looked_up.append(reference)
    return object()


def test_what_is_remembered_has_a_limit(context: ServiceContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_cache, "MAX_REFERENCES", 2)
    cache = ReferenceCache(Generation(context.settings.home / "generation"))
    for reference in "abc":
        cache.resolve(reference, lambda reference: _found([], reference))
    assert [cache.known(reference) is None for reference in "abc"] == [True, False, False]
