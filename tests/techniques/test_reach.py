"""REACH-1 to REACH-5: what is said of a way from keys to a scan is so; and when a join drops rows."""

import functools
from collections.abc import Callable

import pytest
from budget import examples, unshrunk
from hypothesis import given, settings
from hypothesis import strategies as st
from plans_at_work import ROWS, VALUES, Made, Row, Tables, bag, plans
from searches import find

from mutants.key_paths import BOTH_SIDES_PRUNABLE, MUTANTS, NULL_SAFETY_FORGOTTEN
from pruning.expressions.plans import JoinKind, Limit, Offset, Plan, inputs
from pruning.expressions.trees import Column
from pruning.expressions.types import INTEGER
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import join_sites

# Plans that the mutants are tried on.
CASES = 1_500


@st.composite
def cases(draw):
    """A plan, its scans' filters, tables for them, and one or two keys."""
    made, filters = draw(plans())
    tables = tuple(draw(ROWS) for _ in filters)
    keys = draw(st.lists(st.sampled_from(made.attributes), min_size=1, max_size=2, unique=True))
    return made, filters, tables, tuple(Column(key, INTEGER) for key in keys)


@st.composite
def conditions(draw):
    """Conditions on keys: which of their values are wanted."""
    wanted = draw(st.sets(VALUES))
    return lambda values: all(value in wanted for value in values)


def on_scan(way: KeyPath, row: tuple[int | None, ...]) -> list[int | None]:
    """The values of the keys that the scan determines."""
    values = dict(zip(("a", "b"), row, strict=True))
    return [values[key.name] for key in way.keys if key is not None]


def on_plan(way: KeyPath, keys: tuple[Column, ...], row: Row) -> list[int | None]:
    """The same of a row of the plan."""
    return [row[key.name] for key, seen in zip(keys, way.keys, strict=True) if seen is not None]


def with_rows(tables: Tables, number: int, rows: list[tuple[int | None, ...]]) -> Tables:
    """The tables with other rows of one scan."""
    return tuple(tuple(rows) if place == number else table for place, table in enumerate(tables))


def contradiction(made: Made, filters, tables: Tables, keys, wanted: Callable) -> str:
    """What is said of a way and is not so; empty where all is."""
    full = made.run(tables)
    for way in key_paths(made.plan, keys):
        number = way.scan.number
        rows = tables[number]
        kept = [row for row in rows if wanted(on_scan(way, row))]
        narrowed = made.run(with_rows(tables, number, kept))
        answer = bag([row for row in full if wanted(on_plan(way, keys, row))])
        if bag([row for row in narrowed if wanted(on_plan(way, keys, row))]) != answer:
            return "a condition drops other rows than it says"
        if bag(narrowed) - bag(full) and (way.rowwise or way.sole_source):
            return "without some rows, others come"
        parts = [made.run(with_rows(tables, number, part)) for part in (list(rows[:2]), list(rows[2:]))]
        if way.rowwise and way.sole_source and bag([*parts[0], *parts[1]]) != bag(full):
            return "the parts of a scan do not give the parts of the answer"
        seen = {tuple(on_plan(way, keys, row)) for row in full}
        if way.monotone and {tuple(on_plan(way, keys, row)) for row in parts[0]} - seen:
            return "a part gives keys that the whole does not"
        through = [tuple(on_scan(way, row)) for row in rows if all(own(row) for own in filters[number])]
        if way.preserving and set(through) - seen:
            return "a row of the scan is lost"
        counted = [tuple(on_plan(way, keys, row)) for row in full]
        if way.preserving and way.rowwise and any(through.count(key) > counted.count(key) for key in seen):
            return "of several rows with a key, some are lost"
    return ""


@examples(6)
@given(case=cases(), wanted=conditions())
def test_what_is_said_of_a_way_is_so(case, wanted):
    """REACH-1. Of any plan, tables and condition on keys, for each way to a scan: its claim and flags."""
    assert not contradiction(*case, wanted)


@examples(4)
@given(case=cases())
def test_rows_without_a_partner_do_not_matter(case):
    """REACH-2. Of any join, leaving out rows of its probe side without a partner changes no answer."""
    made, _, tables, _ = case
    assert not lost_by_join(made, tables)


def lost_by_join(made: Made, tables: Tables) -> bool:
    """Whether the answer of a join changes where its probe side leaves out rows without a partner."""
    for place in join_sites(made.plan):
        if place.join is not made.plan:
            continue
        (build_key,), (probe_key,), (null_safe,) = place.build_keys, place.probe_keys, place.null_safe
        build = made.sides[0 if place.build_is_left else 1].run(tables)
        keys = {row[build_key.name] for row in build} - (set() if null_safe else {None})
        for way in key_paths(place.probe, (probe_key,)):
            rows = [row for row in tables[way.scan.number] if on_scan(way, row)[0] in keys]
            if bag(made.run(with_rows(tables, way.scan.number, rows))) != bag(made.run(tables)):
                return True
    return False


@examples(4)
@given(case=cases(), wanted=st.integers(0, 4), data=st.data())
def test_any_rows_that_are_enough_are_enough(case, wanted, data):
    """REACH-3. Of any plan, `wanted` rows of a scan that pass its filters give as many of the answer."""
    made, filters, tables, _ = case
    rows = data.draw(st.sampled_from([1, 2, 3, 4])), data.draw(st.integers(0, 4))
    assert not too_few(made, filters, tables, wanted, *rows)


def too_few(made: Made, filters, tables: Tables, wanted: int, step: int, start: int) -> str:
    """What a choice of rows for a LIMIT lacks; empty where nothing."""
    full = bag(made.run(tables))
    limited = any(isinstance(node, Limit | Offset) for node in everything(made.plan))
    for way in key_paths(made.plan, (), rows_wanted=wanted):
        if not (way.preserving and way.rowwise):
            continue
        number = way.scan.number
        chosen = list(tables[number][start::step])
        sure = sum(all(own(row) for own in filters[number]) for row in chosen)
        others = with_rows(tables, number, chosen)
        answer = made.run(others)
        if sure >= wanted > len(answer):
            return "too few rows"
        # Limits that are drawn give the least rows, which depend on what else there is.
        if not limited and bag(answer) - full:
            return "rows that are no rows of the answer"
    return ""


def everything(plan: Plan) -> list[Plan]:
    """All nodes of a plan."""
    found = [plan]
    for below in inputs(plan):
        found += everything(below)
    return found


# Reach

REACHED = {
    "a way through a join": lambda way: bool(way.joins),
    "a way through two joins": lambda way: len(way.joins) > 1,
    "a way that preserves through a join": lambda way: way.preserving and bool(way.joins),
    "a way through an aggregate or a window": lambda way: not way.rowwise,
    "a way that does not grow": lambda way: not way.monotone,
    "a way beside others": lambda way: not way.sole_source,
    "a way that hides a key": lambda way: len(way.keys) == 2 and None in way.keys,
}


@pytest.mark.parametrize("what", REACHED)
def test_plans_reach_each_kind_of_way(what):
    """Without this, REACH-1 could hold because no such way is ever drawn."""
    find(
        cases(),
        lambda case: any(map(REACHED[what], key_paths(case[0].plan, case[3]))),
        settings=unshrunk(2_000),
    )


def test_plans_reach_groups_that_remain_with_other_aggregates():
    """Without the rows of one branch of a union; the claim has an exception for them."""

    def is_changed(case) -> bool:
        made, _, tables, keys = case
        full = bag(made.run(tables))
        ways = key_paths(made.plan, keys)
        return any(bag(made.run(with_rows(tables, way.scan.number, []))) - full for way in ways)

    find(cases(), is_changed, settings=unshrunk(20_000))


@pytest.mark.parametrize("kind", JoinKind)
def test_plans_reach_joins_that_prune(kind):
    """Without this, REACH-2 could hold because rows without a partner are never there."""
    prunable = kind is not JoinKind.FULL
    assert any(_leaves_out(case, kind) for case in drawn()) is prunable


def _leaves_out(case, kind: JoinKind) -> bool:
    made = case[0]
    return any(
        place.join is made.plan
        and place.join.kind is kind
        and any(True for _ in key_paths(place.probe, place.probe_keys))
        for place in join_sites(made.plan)
    )


@functools.cache
def drawn() -> list:
    """Cases, always the same."""
    found = []

    @settings(parent=unshrunk(CASES))
    @given(cases())
    def note(case) -> None:
        found.append(case)

    note()
    return found


# Mutants


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_ways_is_found_out(name, monkeypatch):
    """REACH-4. A plausible mistake in the walk contradicts itself on a plan that is drawn."""
    monkeypatch.setattr(*MUTANTS[name])
    wants = [
        lambda values, wanted=wanted: all(value in wanted for value in values)
        for wanted in ({0, 1}, {2, None}, {None})
    ]
    assert any(contradiction(*case, want) for case in drawn() for want in wants)


@pytest.mark.parametrize("kind", BOTH_SIDES_PRUNABLE)
def test_a_mutant_of_the_prunable_sides_is_found_out(kind, monkeypatch):
    """REACH-5. Leaving out rows of a side that the join keeps changes an answer that is drawn."""
    monkeypatch.setattr(*BOTH_SIDES_PRUNABLE[kind])
    assert any(lost_by_join(case[0], case[2]) for case in drawn())


def test_a_mutant_that_forgets_null_safety_is_found_out(monkeypatch):
    """REACH-5. NULL has a partner where the equality is NULL-safe."""
    monkeypatch.setattr(*NULL_SAFETY_FORGOTTEN)
    assert any(lost_by_join(case[0], case[2]) for case in drawn())


def test_a_limit_that_counts_what_a_join_drops_is_found_out(monkeypatch):
    """A mutant of REACH-3: rows that an inner join may drop are counted."""
    monkeypatch.setattr(*MUTANTS["an inner join preserves rows"])
    assert any(too_few(*case[:3], wanted, 2, 0) for case in drawn() for wanted in (1, 2))
