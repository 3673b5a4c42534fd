"""DENSITY-1: a guess at a density is a share that is never 0, near the truth where rows lie evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.trees import And, Column, Compare, Comparison, IsNull, Literal, Not, Opaque
from pruning.expressions.types import BOOLEAN, DATE, DOUBLE, LONG, STRING
from pruning.verdicts.densities import POINTS, _even_fractions, densities
from strategies.base.layouts import tables
from strategies.base.metadata import exact_facts, metadata, to_metadata
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

EVEN = range(100)


def share(type_, values, predicate) -> float:
    """The guess at one block of one column, `a`."""
    table = Table((Column("a", type_),), (tuple((value,) for value in values),))
    return float(densities(predicate, to_metadata(table, exact_facts(table)))[0])


@given(st.data())
def test_a_density_is_a_share_and_never_nothing(data):
    """DENSITY-1. Of any table, metadata and predicate."""
    table = data.draw(tables())
    found = densities(data.draw(predicates(table)), data.draw(metadata(table)))
    assert found.shape == (len(table.blocks),)
    assert ((found > 0) & (found <= 1)).all()


@pytest.mark.parametrize("type_", [LONG, DOUBLE, DATE], ids=str)
@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_rows_that_lie_evenly_are_guessed_to_a_few_points(type_, part):
    values = [float(value) if type_ is DOUBLE else value for value in EVEN]
    below = Compare(Comparison.LESS, Column("a", type_), Literal(type(values[0])(100 * part), type_))
    assert abs(share(type_, values, below) - part) <= 2.5 / POINTS


def test_columns_are_guessed_apart():
    """Two halves that knew nothing of each other would keep a quarter."""
    table = Table((Column("a", LONG), Column("b", LONG)), (tuple((value, value) for value in EVEN),))
    half = [Compare(Comparison.LESS, column, Literal(50, LONG)) for column in table.columns]
    (found,) = densities(And(tuple(half)), to_metadata(table, exact_facts(table)))
    assert 2 / POINTS <= found <= 7 / POINTS


def test_nulls_are_counted():
    is_null = IsNull(Column("a", LONG))
    values = [None if value % 4 == 0 else value for value in EVEN]
    assert abs(share(LONG, values, is_null) - 0.25) <= 2.5 / POINTS
    assert abs(share(LONG, values, Not(is_null)) - 0.75) <= 2.5 / POINTS


def test_what_no_rule_knows_and_what_nothing_is_known_of_may_match():
    assert share(LONG, EVEN, Opaque("f(a)", BOOLEAN)) == 1
    table = Table((Column("a", STRING),), (((b"x",),),))
    unknown = to_metadata(table, exact_facts(table), columns=())
    (found,) = densities(Compare(Comparison.LESS, table.columns[0], Literal(b"a", STRING)), unknown)
    assert found == 1


def test_the_widest_integers_are_no_trouble():
    ends = [-(2**63), 2**63 - 1]
    found = share(LONG, ends, Compare(Comparison.LESS, Column("a", LONG), Literal(0, LONG)))
    assert 0 < found <= 1


def test_very_many_blocks_are_not_looked_at(monkeypatch):
    monkeypatch.setattr("pruning.verdicts.densities.POINTS_MAX", 0)
    table = Table((Column("a", LONG),), (((1,),),))
    predicate = Compare(Comparison.LESS, table.columns[0], Literal(0, LONG))
    assert densities(predicate, to_metadata(table, exact_facts(table))) is None


def test_points_do_not_repeat():
    """Else two columns would be guessed together."""
    assert not np.allclose(_even_fractions(100, 0), _even_fractions(100, 1))
