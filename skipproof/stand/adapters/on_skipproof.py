"""The adapter of this project: Spark runs each query after `pruning.prune`."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pruning

from .on_spark import OnSpark

# The setting that lets `prune` run small parts of a query to prune more.
_RUNTIME = "runtime"
# Settings that make Spark read files by its second interface, which is not pruned.
_UNPRUNED = {"spark.sql.sources.useV1SourceList", "spark.sql.parquet.aggregatePushdown"}


class OnSkipproof(OnSpark):
    """Runs pruned queries in Spark."""

    def __init__(self) -> None:
        super().__init__()
        _check_place()
        self._runtime = True

    def start(self) -> str:
        """Return text that imports `pruning` and starts Spark."""
        return "import pruning\n" + super().start()

    def hello(self) -> dict[str, Any]:
        """Return the version of skipproof and the abilities of Spark."""
        hello = super().hello()
        settings = {name: values for name, values in hello["settings"].items() if name not in _UNPRUNED}
        settings[_RUNTIME] = ["true", "false"]
        own = {"engine": "skipproof", "version": version("skipproof"), "formats": ["parquet"]}
        return hello | own | {"settings": settings}

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes a view for each table, as for Spark."""
        self._runtime = settings.get(_RUNTIME, "true") == "true"
        of_spark = {name: value for name, value in settings.items() if name != _RUNTIME}
        return super().setup(tables, of_spark)

    def ask(self, question: dict[str, Any]) -> str:
        """Return text that runs one pruned statement."""
        runtime = "" if self._runtime else ", runtime=False"
        sql = f"spark.sql({self._statement(question)!r})"
        return f"frame = pruning.prune({sql}{runtime})\nanswer = rows(frame)\n"

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """Return the number of row groups kept; Spark may still read others of the same files."""
        scans = pruning.explain(names["frame"], runtime=False).scans
        counts = [(scan.blocks_kept, scan.blocks_total) for scan in scans]
        known_counts = [(kept, total) for kept, total in counts if kept is not None and total is not None]
        if not known_counts or len(known_counts) < len(counts):
            return None
        return {
            "row_groups": sum(kept for kept, _ in known_counts),
            "of": sum(total for _, total in known_counts),
        }


def _check_place() -> None:
    """End the worker if `pruning` is not the package beside the installed skipproof.

    Otherwise every question would be refused, and the hunt would end without a finding.
    """
    own = find_spec("skipproof")
    assert own is not None
    assert own.origin is not None
    home, place = Path(own.origin).parents[1], Path(next(iter(pruning.__path__)))
    if place.resolve() != (home / "pruning").resolve():
        raise SystemExit(
            f"The folder {place} hides skipproof's own package `pruning`, which lies in {home}: "
            f"rename that folder, or start Python so that {place.parent} is not before {home} on its path."
        )


ADAPTER = OnSkipproof
