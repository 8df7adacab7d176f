"""Contract type of the import linter: modules that only their own package may import, found by their names."""

from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils


class PrivateModulesContract(Contract):
    """Modules of the given names in the subpackages of a package are imported within the same subpackage only.

    Options:
        package: the package whose subpackages are checked, such as `app`.
        private_names: names of modules, such as `tables`; each subpackage may have one of each.
        ignore_imports: imports that are allowed nevertheless.
    """

    type_name = "private_modules"

    # The linter replaces each field by its value.
    package: Any = fields.StringField()
    private_names: Any = fields.ListField(subfield=fields.StringField())
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
        depth = self.package.count(".") + 2
        return sorted(
            module
            for module in graph.modules
            if module.startswith(f"{self.package}.")
            and module.count(".") == depth
            and module.rpartition(".")[2] in self.private_names
        )
