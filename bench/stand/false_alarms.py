"""Hunt where nothing skips wrongly, so that a finding is the stand's own error, or Spark's beside its skips.

    PYTHONPATH=. python bench/stand/false_alarms.py [--small N] [--own N] [--spark N] [--seed N]

Hunts in the correct small engine, over files and over its own tables, and in Spark with every skip off.
Prints Markdown, and each finding; fails if there is one.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.writing import available_writers, make_write
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import EngineClient, Worker

SMALL, OWN, SPARK = 90_000, 10_000, 5_000
# What makes Spark skip, switched off.
NO_SKIPS: Mapping[str, str] = {
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "parquet.filter.stats.enabled": "false",
    "parquet.filter.columnindex.enabled": "false",
    "parquet.filter.dictionary.enabled": "false",
    "parquet.filter.bloom.enabled": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
}


class WithSettings:
    """A client of an engine whose settings are the same for every question."""

    def __init__(self, worker: Worker, settings: Mapping[str, str]) -> None:
        self.hello = replace(worker.hello, settings={})
        self._worker, self._settings = worker, settings

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request with these settings."""
        return self._worker.ask(**request | {"settings": self._settings})


def hunt_in(
    name: str, engine: EngineClient, workers: Mapping[str, EngineClient], examples: int, seed: int
) -> Hunt:
    """Hunt for a number of examples, and show the progress under a name."""

    def show(state: Hunt) -> None:
        counts = f"{state.examples:,} examples, {len(state.findings)} findings"
        print(f"\r{name}: {counts}", end="", file=sys.stderr, flush=True)

    state = hunt(
        engine,
        capabilities(engine, writers=available_writers(workers)),
        Limits(examples=examples),
        hunt_seed=seed,
        write=make_write(workers),
        progress=show,
    )
    print(file=sys.stderr)
    return state


def main() -> None:
    """Hunt, print, and fail if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", type=int, default=SMALL, help="over files (default %(default)s)")
    parser.add_argument("--own", type=int, default=OWN, help="over own tables (default %(default)s)")
    parser.add_argument("--spark", type=int, default=SPARK, help="in Spark (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hunts: dict[str, Hunt] = {}
    for name, engine, examples in (
        ("the small engine", SmallEngine(), options.small),
        ("its own tables", SmallEngine(tables="own"), options.own),
    ):
        if examples:
            hunts[name] = hunt_in(name, engine, {}, examples, options.seed)
    if options.spark:
        with Worker(engines.find_engine("spark").command, seconds_max=120.0) as worker:
            spark = WithSettings(worker, NO_SKIPS)
            name = "Spark without skips"
            hunts[name] = hunt_in(name, spark, {"spark": worker}, options.spark, options.seed)
    print("| engine | examples | findings | tables | seconds |\n| --- | ---: | ---: | ---: | ---: |")
    for name, state in hunts.items():
        counts = f"{state.examples:,} | {len(state.findings)} | {state.worlds:,}"
        print(f"| {name} | {counts} | {state.seconds:.0f} |")
    for state in hunts.values():
        for finding in state.findings:
            assert finding.outcome.contradiction is not None
            print(f"\n- {finding.outcome.contradiction.difference}: {', '.join(sorted(finding.traits))}")
            print(f"  {finding.world}")
    sys.exit(any(state.findings for state in hunts.values()))


if __name__ == "__main__":
    main()
