"""Statements that change rows: what DELETE, UPDATE and MERGE do to files, and their execution on tables.

`plan_delete`, `plan_update` and `plan_merge` tell which files and row groups of any Parquet files are
rewritten, dropped or left alone. `delete`, `update` and `merge` change tables of Delta Lake and Apache
Iceberg; they are imported when they are first used, because they need the packages of the extras `delta` and
`iceberg`.
"""

from typing import TYPE_CHECKING, Any

from pruning.dml.plans import MergeClause, RewritePlan, plan_delete, plan_merge, plan_update
from pruning.dml.when_clauses import WhenClause
from pruning.techniques.dml.rewriting import Fate, Then, When

if TYPE_CHECKING:
    from pruning.dml.merging import merge
    from pruning.dml.running import StatementResult
    from pruning.dml.statements import delete, update
    from pruning.dml.targets import StatementConflict, WriteMode

__all__ = [
    "Fate",
    "MergeClause",
    "RewritePlan",
    "StatementConflict",
    "StatementResult",
    "Then",
    "When",
    "WhenClause",
    "WriteMode",
    "delete",
    "merge",
    "plan_delete",
    "plan_merge",
    "plan_update",
    "update",
]

_HOMES = {
    "WriteMode": "targets",
    "StatementConflict": "targets",
    "StatementResult": "running",
    "delete": "statements",
    "merge": "merging",
    "update": "statements",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module, util

    from pruning.errors import MissingPackage

    if util.find_spec("pyroaring") is None:
        raise MissingPackage(
            f"pruning.dml.{name} needs pyroaring, which is not installed for this Python: run "
            "`pip install 'skipproof[delta]'`, or `'skipproof[iceberg]'` for tables of Iceberg."
        )
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
