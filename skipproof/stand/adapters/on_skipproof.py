"""This project's pruning on the stand: what Spark is asked, after `pruning.prune`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pruning

from .on_spark import OnSpark

# Whether `prune` may run small parts of a query to prune more.
_RUNTIME = "runtime"
# Where Spark reads by its second interface to files, no query is pruned.
_UNPRUNED = {"spark.sql.sources.useV1SourceList", "spark.sql.parquet.aggregatePushdown"}


class OnSkipproof(OnSpark):
    """Asks Spark the pruned query; rows in memory have nothing to prune by."""

    def __init__(self) -> None:
        super().__init__()
        self._runtime = True

    def start(self) -> str:
        """As for Spark."""
        return "import pruning\n" + super().start()

    def hello(self) -> dict[str, Any]:
        """What Spark can be asked."""
        said = super().hello()
        settings = {name: values for name, values in said["settings"].items() if name not in _UNPRUNED}
        settings[_RUNTIME] = ["true", "false"]
        return dict(said, engine="skipproof", version=version("skipproof"), settings=settings)

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """As for Spark."""
        self._runtime = settings.get(_RUNTIME, "true") == "true"
        of_spark = {name: value for name, value in settings.items() if name != _RUNTIME}
        return super().setup(tables, of_spark)

    def ask(self, question: dict[str, Any]) -> str:
        """One statement, pruned."""
        runtime = "" if self._runtime else ", runtime=False"
        sql = f"spark.sql({self._statement(question)!r})"
        return f"frame = pruning.prune({sql}{runtime})\nanswer = rows(frame)\n"

    def read(self, names: dict[str, Any]) -> dict[str, int] | None:
        """The row groups that may hold a needed row; Spark may still read others of the same files."""
        scans = pruning.explain(names["frame"], runtime=False).scans
        counts = [(scan.blocks_kept, scan.blocks_total) for scan in scans]
        known = [(kept, total) for kept, total in counts if kept is not None and total is not None]
        if not known or len(known) < len(counts):
            return None
        return {"row_groups": sum(kept for kept, _ in known), "of": sum(total for _, total in known)}


ADAPTER = OnSkipproof
