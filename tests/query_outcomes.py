"""Runs of whole queries: pruned answers beside unpruned ones, and what was taken out of the scans."""

import random
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import currently_in_test_context, event
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from small_pages import small_pages

import pruning
from oracles.answers.frames import pushdown, session
from oracles.answers.source_frames import query_versions, with_first_twice
from oracles.answers.whole_queries import judge_answer
from pruning.rules.sets.truths import Match
from pruning.spark.drive import filter_technique, scans
from pruning.spark.drive.report import Report
from strategies.base.page_layouts import page_layouts
from strategies.queries.queries import PARQUET, Query, SourceKind, TableSource

Change = Callable[[pa.Int8Array], pa.Int8Array]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a pruned query: the fault of its answer, and what was taken out of its scans.

    Attributes:
        query: The query.
        problem: What is wrong about the first wrong answer; None if each is right.
        spark_alone: True if Spark alone answers wrongly.
        reports: The reports of each run.
        has_rows: True if any right answer has a row.
    """

    query: Query
    problem: str | None
    spark_alone: bool
    reports: tuple[Report, ...]
    has_rows: bool

    @property
    def report(self) -> Report:
        """The report of the last run."""
        return self.reports[-1]


def outcome(
    spark: SparkSession,
    query: Query,
    change: Change | None = None,
    rows_of_rdds: Collection[str] = (),
    repeated: bool = False,
    cache: pruning.PredicateCache | None = None,
    **files: Any,
) -> Outcome:
    """Store the query's tables, prune it and compare: before and after each change of a table.

    Args:
        spark: The session.
        query: The query.
        change: Made to all verdicts.
        rows_of_rdds: The names of tables that the query reads from RDDs.
        repeated: True if the query is run twice through a predicate cache. A query whose tables change always
            is, and is run once more after each change.
        cache: The cache, in place of a new one.
        files: How files are written.
    """
    if rows_of_rdds:
        checkpoint = TableSource(SourceKind.CHECKPOINT)
        sources = (checkpoint if name in rows_of_rdds else PARQUET for name in query.tables_by_name)
        query = replace(query, sources=tuple(sources))
    if repeated or query.changes:
        cache = cache or pruning.PredicateCache()
    reports: list[Report] = []
    has_rows = False
    with (
        TemporaryDirectory() as directory,
        session(spark),
        small_pages(),
        query_versions(spark, query, Path(directory), **files) as versions,
        changed_verdicts(change),
        pushdown(spark),
    ):
        for expected in versions if cache is None else with_first_twice(versions):
            frame = spark.sql(query.sql)
            pruned = pruning.prune(frame, cache=cache)
            reports.append(pruning.explain(pruned))
            judgement = judge_answer(query, frame, pruned.collect(), expected)
            has_rows |= query.size(len(expected)) > 0
            if judgement.problem is not None:
                break
    if judgement.spark_alone and currently_in_test_context():
        event("Spark alone is wrong")
    problem = None if judgement.spark_alone else judgement.problem
    return Outcome(query, problem, judgement.spark_alone, tuple(reports), has_rows)


def file_options(draw: st.DataObject, query: Query) -> dict[str, Any]:
    """Draw how files are written: how many blocks each, and with which statistics."""
    some = [table.columns[0].name for table in query.tables[:1]]
    statistics = draw.draw(st.sampled_from((True, True, True, False, some)))
    blocks = draw.draw(st.integers(1, 3))
    pages = draw.draw(st.none() | page_layouts())
    return {
        "statistics": statistics,
        "blocks_per_file": blocks,
        "pages": pages,
        # Row groups of several pages, which differ as blocks do.
        "together": pages is not None and draw.draw(st.booleans()),
    }


@contextmanager
def changed_verdicts(change: Change | None) -> Iterator[None]:
    """Verdicts on blocks are changed for the time of a `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (filter_technique, scans):
            classify = getattr(module, "classify_blocks", None)
            if change is not None and classify is not None:
                patch.setattr(module, "classify_blocks", _then(classify, change))
        if change is not None:
            patch.setattr(
                filter_technique, "classify_within", _within(filter_technique.classify_within, change)
            )
        yield


def weaker(seed: int) -> Change:
    """About half of the verdicts NONE and ALL become SOME."""
    chance = random.Random(seed)
    return lambda verdicts: pa.array(
        [verdict if chance.random() < 0.5 else int(Match.SOME) for verdict in verdicts.to_pylist()], pa.int8()
    )


def with_other_verdict(right: Match, wrong: Match) -> Change:
    """A pruner that claims too much: each verdict `right` becomes `wrong`."""
    return lambda verdicts: pa.array(
        [int(wrong) if verdict == right else verdict for verdict in verdicts.to_pylist()], pa.int8()
    )


def unaccounted_scans(report: Report) -> list[str]:
    """Scans whose skipped blocks or files are not those that the techniques say they took out."""
    faults = []
    for scan in report.scans:
        for kind in ("blocks", "files"):
            total, kept = getattr(scan, f"{kind}_total"), getattr(scan, f"{kind}_kept")
            if total is None or kept is None:
                continue
            removed = sum(getattr(removal, kind) for removal in scan.removals)
            if total - kept != removed or any(getattr(removal, kind) < 0 for removal in scan.removals):
                faults.append(f"{kept} of {total} {kind} kept, {removed} removed: {scan}")
    return faults


def acting(result: Outcome) -> set[str]:
    """Return the techniques that removed something from the scans of the last run."""
    return {removal.technique for scan in result.report.scans for removal in scan.removals}


def techniques_of(result: Outcome) -> set[str]:
    """Return the techniques that removed blocks or files in any run."""
    return {
        removal.technique
        for report in result.reports
        for scan in report.scans
        for removal in scan.removals
        if removal.blocks or removal.files
    }


def _then(classify: Callable[..., pa.Int8Array], change: Change) -> Callable[..., pa.Int8Array]:
    return lambda *arguments, **options: change(classify(*arguments, **options))


def _within(classify: Callable[..., Any], change: Change) -> Callable[..., Any]:
    def within(*arguments: Any, **options: Any) -> Any:
        classified = classify(*arguments, **options)
        return replace(classified, verdicts=change(classified.verdicts))

    return within
