"""This project's pruning on the stand: what Spark is asked, after `pruning.prune`."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
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
        _check_place()
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


def _check_place() -> None:
    """End the worker where `pruning` is not the one that lies beside the installed skipproof.

    No question would be answered by it, and a hunt that is refused everything finds nothing.
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
