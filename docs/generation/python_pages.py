"""Markdown of the Python reference: the public names of `core`, grouped by subject."""

import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType

from sphinx.pycode import ModuleAnalyzer

import core
from docs.generation.markdown import page

GROUPS = (
    "estimators",
    "losses",
    "label noise",
    "annotators",
    "evaluation",
    "data frames",
    "model files",
    "exceptions",
    "other names",
)
#: Folder or module below `core` -> group of what is defined there.
_GROUP_OF_MODULE = {
    "automatic": "estimators",
    "forests": "estimators",
    "boosting": "estimators",
    "growth": "estimators",
    "registry": "estimators",
    "inspection": "estimators",
    "losses": "losses",
    "noise": "label noise",
    "label_quality": "label noise",
    "annotators": "annotators",
    "evaluation": "evaluation",
    "holdout": "evaluation",
    "columns": "data frames",
    "artifact": "model files",
    "exceptions": "exceptions",
}


def public_names(group: str) -> str:
    """Return the directives that document one group of the names in `core.__all__`."""
    names = [name for name in core.__all__ if _group_of(name) == group]
    if not names:
        raise KeyError(f"no public name of core belongs to {group!r}; the groups are {', '.join(GROUPS)}")
    return page(f"```{{eval-rst}}\n{_directive(name)}\n```" for name in names)


def _group_of(name: str) -> str:
    _, part, *_ = f"{_home(name)}.".split(".")
    return _GROUP_OF_MODULE.get(part, "other names")


def _directive(name: str) -> str:
    value = getattr(core, name)
    if inspect.isclass(value):
        inherited = "   :inherited-members: object\n" if _shows_inherited(value) else ""
        return f".. autoclass:: core.{name}\n   :members:\n{inherited}"
    if inspect.isroutine(value):
        return f".. autofunction:: core.{name}"
    return f".. py:data:: core.{name}\n\n   {_comment(name)}"


def _shows_inherited(value: type) -> bool:
    return value in core.ESTIMATORS.values() or value is core.Loss


def _home(name: str) -> str:
    """Return the module that defines a public name."""
    value = getattr(core, name)
    return value.__module__ if inspect.isclass(value) or inspect.isroutine(value) else _home_of_constant(name)


def _home_of_constant(name: str) -> str:
    return next(module.__name__ for module in _modules() if ("", name) in _comments(module))


def _comment(name: str) -> str:
    return " ".join(_comments(importlib.import_module(_home(name)))["", name])


@cache
def _modules() -> list[ModuleType]:
    return [importlib.import_module(module.name) for module in pkgutil.walk_packages(core.__path__, "core.")]


@cache
def _comments(module: ModuleType) -> dict[tuple[str, str], list[str]]:
    """Return the `#:` comments of a module's names."""
    analyzer = ModuleAnalyzer.for_module(module.__name__)
    return analyzer.find_attr_docs()
