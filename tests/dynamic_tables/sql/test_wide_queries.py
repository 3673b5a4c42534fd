"""Aggregates, windows and frames that the usual queries never have, above and below other operators."""

from collections import Counter
from random import Random

import pytest

from dynamic_tables.bags.aggregate_signatures import AggregateSignature
from dynamic_tables.bags.aggregates import AGGREGATES
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.listed_aggregates import LISTED
from dynamic_tables.bags.statistics import STATISTICS
from dynamic_tables.maintenance.algebra import Explode, Group, RangeFrame, Relation, Window, subrelations
from dynamic_tables.values.types import Type
from mutants.sql.aggregates import MUTANTS
from strategies.dynamic.cases import drawn_case, interval_outcomes
from strategies.dynamic.wide_queries import TRUTHS, drawn_wide_query

DEPTH = 2
SEEDS = 300
SEEDS_DEEP = 40_000
# Mutants whose result depends on the order of rows.
ORDERED = (("max_by", "the first of ties"), ("listagg", "texts as rows come"))


def finding(seed: int) -> str:
    """The first wrong changes of the case of a seed; empty if there are none."""
    random, backend = Random(seed), BagBackend()
    case = drawn_case(random, DEPTH, drawn_wide_query)
    for outcome in interval_outcomes(random, case, backend):
        if outcome.finding is not None:
            return f"seed {seed}: {outcome}\n{case.query.relation}"
    return ""


def test_changes_agree_with_full_evaluation(deep: bool) -> None:
    """DIFF-15. As DIFF-1, of these queries."""
    for seed in range(SEEDS_DEEP if deep else SEEDS):
        assert not finding(seed)


@pytest.mark.parametrize(("name", "mistake"), ORDERED)
def test_changes_kill_aggregates_of_an_order(
    name: str, mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DIFF-15 can fail."""
    right = AGGREGATES[name]

    def resolve(argument: Type) -> AggregateSignature:
        signature = right(argument)
        return AggregateSignature(signature.result, signature.argument, MUTANTS[name, mistake])

    monkeypatch.setitem(AGGREGATES, name, resolve)
    assert any(finding(seed) for seed in range(SEEDS))


def traits(relation: Relation) -> Counter[str]:
    """The functions, frames and trees of a query."""
    counts: Counter[str] = Counter()
    for node in subrelations(relation):
        match node:
            case Group():
                counts.update(part.function for part in node.aggregates)
            case Window():
                counts.update(function.function for function in node.functions)
                counts.update(type(function.frame).__name__ for function in node.functions)
            case Explode():
                counts["tree"] += node.recursive
    return counts


def test_queries_reach_each_function_and_frame() -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        counts += traits(drawn_case(Random(seed), DEPTH, drawn_wide_query).query.relation)
    wanted = {
        *STATISTICS,
        *LISTED,
        *TRUTHS,
        "ntile",
        "percent_rank",
        "cume_dist",
        RangeFrame.__name__,
        "tree",
    }
    assert min(counts[name] for name in wanted) >= 3
