"""The demo on a part of its data: it passes a pruner that skips nothing, and fails a wrong one."""

from collections.abc import Callable
from typing import Any

import pytest

from skipproof.commands.demo import QUERIES, DemoReport, Lake, query_outcomes, write_lakes
from skipproof.commands.examples import Examples
from skipproof.commands.flights import BLOCK_ROWS, flights
from skipproof.commands.showing import console, show_demo, summary_line

ROWS = 5 * BLOCK_ROWS + 500


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, ...]:
    return tuple(write_lakes(flights().slice(0, ROWS), tmp_path_factory.mktemp("demo")))


def report(
    spark: Any, lakes: tuple[Lake, ...], prune: Callable[[Any], Any], queries: tuple[str, ...] = QUERIES
) -> DemoReport:
    table = flights().slice(0, ROWS)
    found = tuple(query_outcomes(spark, table, lakes, prune=prune, queries=queries))
    return DemoReport(spark=spark.version, rows=ROWS, outcomes=found, examples=Examples())


def test_every_layout_has_all_its_blocks(lakes: tuple[Lake, ...]) -> None:
    assert [lake.blocks for lake in lakes][:3] == [6, 6, 6]
    assert all(lake.short == [500] for lake in lakes[:3])


def test_a_pruner_that_skips_nothing_gives_every_query_its_rows(
    spark: Any, lakes: tuple[Lake, ...], deep: bool
) -> None:
    count = 2 if deep else 1
    found = report(spark, lakes[:count], lambda frame: frame)
    assert len(found.outcomes) == len(QUERIES) * count
    assert found.all_held
    assert all(outcome.blocks_read == outcome.blocks_read_alone for outcome in found.outcomes)
    assert "lost no row" in summary_line(found)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda frame: frame.where("carrier <> 'AA'"),
        lambda frame: frame.union(frame),
        lambda frame: frame.limit(0),
    ],
    ids=["loses rows", "repeats rows", "loses all rows"],
)
def test_a_wrong_pruner_fails_the_demo(
    spark: Any, lakes: tuple[Lake, ...], wrong: Callable[[Any], Any]
) -> None:
    found = report(spark, lakes[:1], wrong, queries=("day = 1",))
    assert not found.all_held
    assert summary_line(found).startswith("FAILED: 1 of 1")


def test_a_wrong_generated_verdict_fails_the_demo() -> None:
    wrong = Examples(examples=7, difference="block 0 is called NONE")
    found = DemoReport(spark="4", rows=0, outcomes=(), examples=wrong)
    assert not found.all_held
    assert summary_line(found).startswith("FAILED")


def test_the_shown_demo_names_every_query(
    spark: Any, lakes: tuple[Lake, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(spark, lakes[:1], lambda frame: frame, queries=QUERIES[:2])
    show_demo(console(), found)
    shown = capsys.readouterr().out
    assert all(f"WHERE {query}" in shown for query in QUERIES[:2])
    assert shown.rstrip().splitlines()[-1] == summary_line(found)
    assert found.to_dict()["held"] is True
