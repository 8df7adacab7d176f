"""Contract types of the import linter, which find modules by their role: the last word of their names."""

from collections.abc import Iterable, Iterator
from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.domain.imports import ModuleExpression


class ForbiddenRolesContract(ForbiddenContract):
    """The contract "forbidden", except that `app.*.service` includes `app.trained_models.pointer_service` as well."""

    type_name = "forbidden_roles"

    # The linter replaces each field by its value.
    source_modules: Any = fields.SetField(subfield=fields.ModuleExpressionField())
    forbidden_modules: Any = fields.SetField(subfield=fields.ModuleExpressionField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        self.source_modules = set(_with_prefixed(self.source_modules, graph))
        self.forbidden_modules = set(_with_prefixed(self.forbidden_modules, graph))
        return super().check(graph, verbose)


def _with_prefixed(expressions: Iterable[ModuleExpression], graph: grimp.ImportGraph) -> Iterator[ModuleExpression]:
    """Yield the expressions, and for one such as `app.*.service` modules such as
    `app.trained_models.pointer_service`.
    """
    for expression in expressions:
        yield expression
        package, _, role = expression.expression.rpartition(".")
        if package.endswith(".*"):
            siblings = graph.find_matching_modules(f"{package}.*")
            yield from (ModuleExpression(name) for name in siblings if name.endswith(f"_{role}"))


class PrivateModulesContract(Contract):
    """Modules of the given roles in the subpackages of a package are imported within the same subpackage only.

    Options:
        package: the package whose subpackages are checked, such as `app`.
        private_roles: last words of names: `repository` is the role of `app.trained_models.repository` and of
            `app.trained_models.name_repository`.
        ignore_imports: imports that are allowed nevertheless.
    """

    type_name = "private_modules"

    package: Any = fields.StringField()
    private_roles: Any = fields.ListField(subfield=fields.StringField())
    ignore_imports: Any = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        contract_utils.remove_ignored_imports(graph, self.ignore_imports, contract_utils.AlertLevel.ERROR)
        broken = [
            f"{importer} imports {private}, which is private to {private.rpartition('.')[0]}"
            for private in self._private_modules(graph)
            for importer in sorted(graph.find_modules_that_directly_import(private))
            if not importer.startswith(private.rpartition(".")[0] + ".")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(f"- {line}")

    def _private_modules(self, graph: grimp.ImportGraph) -> list[str]:
        modules = graph.find_matching_modules(f"{self.package}.*.*")
        return sorted(name for name in modules if name.rpartition(".")[2].rpartition("_")[2] in self.private_roles)
