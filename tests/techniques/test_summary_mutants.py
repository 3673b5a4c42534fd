"""JOIN-1 and JOIN-3 kill summaries of one key that have a mistake, each by joins that turn on it."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from joining import Join, joins, metadata_of
from key_checks import FILTERED, RANGED, lost_by_bounds, lost_by_condition, wrong_rows
from searches import find

from mutants.joins.key_summaries import MUTANTS, NOTHING_IS_EXCLUDED, NULL_EQUALS_NULL
from pruning.expressions.trees import Column
from pruning.expressions.types import DOUBLE, INTEGER, STRING, Type
from strategies.base.metadata import exact_facts, to_metadata
from strategies.base.tables import Row, Table

SERIES_COUNT = 40


def of_itself(join: Join) -> Join:
    """Each row of the probe side has a partner."""
    return replace(join, parts=(join.table.rows,), null_safe=(True,))


def of_rows(*rows: Row) -> Callable[[Join], Join]:
    """A join with these rows alone, in which NULL equals NULL."""
    return lambda join: replace(join, parts=(rows,), null_safe=(True,))


def of_null_last(join: Join) -> Join:
    """Only the last part of the build side has a NULL, which is a partner."""
    present = tuple(row for row in join.build if row[0] is not None)
    return replace(join, parts=(present, ((None,),)), null_safe=(True,))


def overlapping(join: Join) -> Join:
    """The second part lies inside of the first, which is the probe side."""
    rows = sorted(join.table.rows)
    return replace(join, parts=(tuple(rows), tuple(rows[1:2])))


def without_bound(name: str) -> Callable[[Join], Join]:
    """A join of the probe side with itself, of whose blocks one bound is unknown."""

    def forgotten(join: Join) -> Join:
        facts = tuple(
            replace(
                block,
                columns=tuple(replace(one, **{name: None, f"{name}_exact": None}) for one in block.columns),
            )
            for block in exact_facts(join.table)
        )
        return replace(of_itself(join), known=to_metadata(join.table, facts))

    return forgotten


@st.composite
def enclosed(draw: st.DrawFn) -> Join:
    """Joins of a probe side with itself that has too many keys for a list, each in a block of its own."""
    keys = draw(st.lists(st.integers(-100, 100), min_size=7, max_size=12, unique=True))
    table = Table((Column("a", INTEGER),), tuple(((key,),) for key in keys))
    return Join(
        table=table,
        known=metadata_of(table),
        parts=(table.rows,),
        null_safe=(False,),
        bytes_max=draw(st.sampled_from(RANGED)),
    )


@st.composite
def filtered(draw: st.DrawFn, type_: Type, *, parts: int = 1) -> Join:
    """Joins with too many keys for a list, with blocks of two rows: no key, and the key that follows it."""
    step = draw(st.integers(2, 5))
    start = draw(st.integers(1_000, 1_100))
    keys = [start + step * at for at in range(SERIES_COUNT)]
    found = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4))

    def row(number: int) -> Row:
        return (str(number).encode(),) if type_ == STRING else (number,)

    table = Table((Column("a", type_),), tuple((row(key - 1), row(key)) for key in found))
    return Join(
        table=table,
        known=metadata_of(table),
        parts=tuple(tuple(map(row, keys[part::parts])) for part in range(parts)),
        null_safe=(False,),
        bytes_max=draw(st.sampled_from(FILTERED)),
    )


INTEGERS, DOUBLES = joins([INTEGER]), joins([DOUBLE])
# The joins among which each mutant is looked for.
JOINS = {
    "NULL-safe equality forgets NULL": INTEGERS.map(of_itself),
    "the condition forgets NULL": INTEGERS.map(of_itself),
    "no value is taken for no row": INTEGERS.map(of_rows((None,))),
    "NaN is dropped": DOUBLES.map(of_rows((math.nan,), (1.0,))),
    "the two zeros differ": DOUBLES.map(of_rows((-0.0,))),
    "merging overwrites": INTEGERS,
    "merging drops NULL": INTEGERS.map(of_null_last),
    "ranges that overlap stay apart": enclosed().map(overlapping),
    "the lower end of a range is cut": INTEGERS.map(of_itself),
    "the upper end of a range is cut": INTEGERS.map(of_itself),
    "an unknown lower bound is above all": INTEGERS.map(without_bound("lower")),
    "an unknown upper bound is below all": INTEGERS.map(without_bound("upper")),
    "BETWEEN without its end": enclosed(),
    "the last range is dropped": enclosed(),
    "the upper end is not looked up": filtered(INTEGER),
    "only the first candidate is looked up": filtered(INTEGER),
    "only the lower end of texts is looked up": filtered(STRING),
    "the filter of one part is that of all": filtered(INTEGER, parts=2),
    "filters overwrite each other": filtered(INTEGER, parts=2),
}
# Mutants of the condition on rows; the others exclude blocks.
OF_CONDITION = ("the condition forgets NULL", "BETWEEN without its end")


@pytest.mark.parametrize("mutant", MUTANTS)
@examples(0.2)
@given(data=st.data())
def test_a_summary_without_the_mistake_loses_nothing(mutant: str, data: st.DataObject) -> None:
    """JOIN-1, of the joins that kill a mutant: it is the mistake that they show."""
    join = data.draw(JOINS[mutant])
    assert not lost_by_bounds(join)
    assert not lost_by_condition(join)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_summary_with_a_mistake_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-1 kills each mutant."""
    for replacement in MUTANTS[mutant]:
        monkeypatch.setattr(*replacement)
    lost = lost_by_condition if mutant in OF_CONDITION else lost_by_bounds
    find(JOINS[mutant], lost, settings=unshrunk(2_000))


@pytest.mark.parametrize("safe", [True, False])
def test_a_summary_that_keeps_too_much_is_seen(safe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOIN-3 kills a summary in which NULL equals NULL always, and one that excludes nothing."""
    monkeypatch.setattr(*(NULL_EQUALS_NULL if safe else NOTHING_IS_EXCLUDED))
    find(joins([INTEGER], budgets=(10_000,)), lambda join: bool(wrong_rows(join)), settings=unshrunk(2_000))
