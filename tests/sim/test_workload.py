"""Drawn queries have the published proportions, as far as any are published."""

import random
import re
from statistics import mean, median

import pytest

from pruning.errors import InputError
from sim.scans.scenario import scenario, world_of_seed
from sim.scans.workload import Workload, draw_queries

KEYS, QUERIES = 1_000_000, 20_000
BETWEEN = re.compile(r"([a-z.]+) BETWEEN (\d+) AND (\d+)")
TEXT = """
title = ""
claim = ""

[workload]
table = "t"
build = "d"
queries = 50
span_us = 1_000

[[table]]
name = "t"
spread = true
blocks = 10
rows_per_block = 100

[[table]]
name = "d"
spread = true
blocks = 2
rows_per_block = 5
keys = 1_000
"""


def query_texts(build: str) -> list[str]:
    """Return the texts of many queries."""
    workload = Workload(table="t", build=build, queries=QUERIES, span_us=1_000)
    return [text for _, text in draw_queries(random.Random(1), workload, KEYS)]


def test_queries_have_the_published_shares() -> None:
    """[P] Table 1, Figure 6 and 3.3, [M] 4: within a tenth, or half a point."""
    found = query_texts("")
    assert not any("JOIN" in text for text in found)
    ordered = [text for text in found if "ORDER BY" in text]
    limited = [text for text in found if "LIMIT" in text and "ORDER BY" not in text]
    assert len(ordered) / QUERIES == pytest.approx(0.0555, abs=0.005)
    assert len(limited) / QUERIES == pytest.approx(0.0260, abs=0.005)
    few = [text for text in ordered + limited if int(text.rpartition(" ")[2]) <= 10_000]
    assert len(few) / len(ordered + limited) == pytest.approx(0.97, abs=0.01)
    told = [match for text in found if (match := BETWEEN.search(text))]
    assert 0.90 < len(told) / QUERIES < 0.93
    assert sum(match[1] == "u" for match in told) / len(told) == pytest.approx(0.27, abs=0.01)
    shares = [(int(match[3]) - int(match[2]) + 1) / KEYS for match in told]
    assert sum(share < 1e-4 for share in shares) / len(told) == pytest.approx(0.25, abs=0.02)
    assert sum(share < 1e-2 for share in shares) / len(told) == pytest.approx(0.61, abs=0.02)


def test_what_joins_leave_is_as_published() -> None:
    """[P] 6: what is pruned is 79 % in the mean, at least 72 % in the median, all in 13 queries of 100."""
    joins = [text for text in query_texts("d") if "JOIN" in text]
    assert 0.17 < len(joins) / QUERIES < 0.20
    told = [BETWEEN.search(text) for text in joins]
    pruned = [1 - (int(match[3]) - int(match[2]) + 1) / KEYS if match else 1.0 for match in told]
    assert {match[1] for match in told if match} == {"d.k"}
    assert mean(pruned) == pytest.approx(0.79, abs=0.01)
    assert median(pruned) >= 0.72
    assert pruned.count(1.0) / len(pruned) == pytest.approx(0.13, abs=0.01)
    assert 0.999 < max(share for share in pruned if share < 1) <= 0.9999


def test_a_scenario_has_the_joins_of_its_workload() -> None:
    queries = world_of_seed(scenario(TEXT), 0).queries
    joined = [[asked.table for asked in query.scans.values()] for query in queries if query.join is not None]
    assert joined
    assert all(tables == ["d", "t"] for tables in joined)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (TEXT.replace('build = "d"', 'build = "e"'), "workload: e is no table without rows"),
        (TEXT.replace('table = "t"', 'table = "e"'), "workload: e is no table without rows"),
        (TEXT.replace("keys = 1_000", "keys = 999"), "workload: d has 999 keys, t 1000"),
        (TEXT.replace('build = "d"', 'build = "t"'), "workload: t cannot be joined with itself"),
    ],
)
def test_a_workload_of_other_tables_is_refused(wrong: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        scenario(wrong)
