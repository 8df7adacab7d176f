"""Error codes: each is unique, stable and explained in docs/errors.md."""

import importlib
import pkgutil
import re
from pathlib import Path

import app
import core
from app.errors import ServiceError
from app.http.error_handlers import HTTP_CODES
from core.exceptions import CoreError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"


def _subclasses(base: type) -> set[type]:
    return {base} | {descendant for child in base.__subclasses__() for descendant in _subclasses(child)}


def _codes() -> dict[str, set[type]]:
    for package in (app, core):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "demo" not in module.name:
                importlib.import_module(module.name)
    codes: dict[str, set[type]] = {}
    for error in _subclasses(ServiceError) | _subclasses(CoreError):
        if not error.__name__.startswith("_"):
            codes.setdefault(error.code, set()).add(error)
    return codes


def test_every_code_is_explained() -> None:
    explained = set(re.findall(r"^\| `([a-z0-9_]+)` \|", PAGE.read_text(), flags=re.MULTILINE))
    raised = {*_codes(), *HTTP_CODES.values()}
    stored_codes = {"invalid_request", "worker_lost", "out_of_memory", "database_unavailable", "sweep_cells_failed"}
    assert raised - explained == set()
    assert explained - raised - stored_codes == set()


def test_codes_are_snake_case_words() -> None:
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", code) for code in _codes())
