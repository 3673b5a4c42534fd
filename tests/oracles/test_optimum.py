"""The optimum: its engines agree with one another, it knows worked cases, and it can be wrong."""

import math
from typing import Any

import pytest
from budget import examples
from hypothesis import assume, event, given
from hypothesis import strategies as st

from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from oracles.optimum import rows_within
from oracles.optimum.domains import (
    CellFacts,
    all_cells,
    compares_by_order_alone,
    ordinal,
    representatives,
    value_at,
)
from oracles.optimum.optimum import Answer, Judge, Optimum
from oracles.optimum.rows_within import combinations
from pruning.expressions.traversal import columns
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Mode,
    Not,
    Opaque,
    Operator,
    StartsWith,
)
from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    BYTES,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    Type,
    Value,
    decimal,
)
from strategies.base.layouts import tables
from strategies.base.tables import Table, is_nan, sort_key
from strategies.base.values import TYPES, values
from strategies.predicates.predicates import predicates

A, B, C = Column("a", INTEGER), Column("b", INTEGER), Column("c", INTEGER)
S, T, D = Column("s", STRING), Column("t", STRING), Column("d", DOUBLE)
POSSIBLE, IMPOSSIBLE = Answer.POSSIBLE, Answer.IMPOSSIBLE


def between(lower: Value | None, upper: Value | None, type_: Type = INTEGER, **flags: bool) -> CellFacts:
    """A column with these bounds that holds values only, unless the flags say otherwise."""
    plain = {"may_null": False, "may_nan": False, "may_value": True}
    return CellFacts(type=type_, lower=lower, upper=upper, **(plain | flags))


def less(left: Expression, right: Expression) -> Expression:
    """left < right."""
    return Compare(Comparison.LESS, left, right)


def number(value: int, type_: Type = INTEGER) -> Literal:
    """A literal."""
    return Literal(value, type_)


def total(left: Expression, right: Expression, mode: Mode = Mode.TRY) -> Expression:
    """left + right, of integers."""
    return Arithmetic(Operator.ADD, left, right, INTEGER, mode)


def known_in(table: Table) -> dict[str, CellFacts]:
    """What exact metadata of all of a table's rows together tells."""
    return {column.name: _known(column.type, table.values(column.name)) for column in table.columns}


def _known(type_: Type, cells: tuple[Value | None, ...]) -> CellFacts:
    plain = sorted((cell for cell in cells if cell is not None and not is_nan(cell)), key=sort_key)
    return CellFacts(
        type=type_,
        lower=plain[0] if plain else None,
        upper=plain[-1] if plain else None,
        may_null=None in cells,
        may_nan=any(map(is_nan, cells)),
        may_value=bool(plain),
    )


@st.composite
def judged(draw: st.DrawFn) -> tuple[Expression, Table]:
    """A predicate, and a table with a row at least."""
    table = draw(tables(max_columns=2, max_blocks=1, max_rows=4))
    assume(table.rows)
    return draw(predicates(table, max_leaves=6, modes=(Mode.TRY, Mode.LEGACY))), table


def contradicts(one: Optimum, other: Optimum) -> bool:
    """Whether one says possible and the other impossible of one truth value."""
    pairs = ((one.true, other.true), (one.false, other.false), (one.null, other.null))
    return any({left, right} == {POSSIBLE, IMPOSSIBLE} for left, right in pairs)


@examples(6)
@given(judged())
def test_the_solver_agrees_with_enumeration(case: tuple[Expression, Table]) -> None:
    """OPT-1. Neither engine calls possible what the other calls impossible."""
    predicate, table = case
    known = known_in(table)
    judge = Judge(predicate)
    try:
        counted = judge.by_enumeration(known)
    except NoSecondOpinion:
        return
    if counted is not None:
        event("both decide")
        assert not contradicts(judge.by_search(known), counted)


@examples(6)
@given(judged())
def test_what_a_row_of_the_table_gives_is_possible(case: tuple[Expression, Table]) -> None:
    """OPT-2. The optimum calls nothing impossible that a row within the bounds does; no row is hinted at."""
    predicate, table = case
    found = Judge(predicate).optimum(known_in(table))
    answers = {True: found.true, False: found.false, None: found.null}
    for row in table.rows:
        try:
            truth: Any = evaluate(predicate, table.as_mapping(row))
        except (ArithmeticError, NoSecondOpinion):
            continue
        assert answers[truth] is not IMPOSSIBLE


@examples(4)
@given(st.data())
def test_representatives_stand_for_every_value(data: st.DataObject) -> None:
    """OPT-3. Where values meet by order alone, the representatives give the truths that all values give."""
    lows = [data.draw(st.integers(-3, 3)) for _ in "ab"]
    known = {
        name: between(low, low + data.draw(st.integers(0, 12)), may_null=data.draw(st.booleans()))
        for name, low in zip("ab", lows, strict=True)
    }
    table = Table((A, B), (tuple((low, low) for low in lows),))
    predicate = data.draw(predicates(table, max_leaves=8, modes=(Mode.TRY,)))
    assume(compares_by_order_alone(predicate))
    names = list(columns(predicate))
    every = {name: all_cells(known[name], size_max=100) or [] for name in names}
    standing = representatives(predicate, {name: known[name] for name in names})
    assert _truths(predicate, standing) == _truths(predicate, every)


def _truths(predicate: Expression, cells: dict[str, list[Any]]) -> set[object]:
    return {evaluate(predicate, row) for row in combinations(cells)}


# predicate, what is known, then which truth values a row can give: TRUE, FALSE, NULL
WORKED = [
    (less(A, number(3)), {"a": between(3, 9)}, "F"),
    (less(A, number(3)), {"a": between(0, 2)}, "T"),
    (less(A, number(3)), {"a": between(0, 2, may_null=True)}, "TN"),
    (less(A, number(3)), {"a": between(None, None, may_null=True, may_value=False)}, "N"),
    (less(A, number(3)), {"a": between(None, 2)}, "T"),
    (less(A, A), {"a": between(None, None)}, "F"),
    # Three different integers do not fit in two places; two do.
    (And((less(A, B), less(B, C))), dict.fromkeys("abc", between(1, 2)), "F"),
    (And((less(A, B), less(B, C))), dict.fromkeys("abc", between(1, 3)), "TF"),
    (And((less(A, B), less(B, C))), dict.fromkeys("abc", between(None, None)), "TF"),
    (In(A, (number(4), number(5))), {"a": between(4, 5)}, "T"),
    (Not(In(A, (number(4), number(6)))), {"a": between(4, 6)}, "TF"),
    (And((less(number(4), A), less(A, number(5)))), {"a": between(None, None)}, "F"),
    # No string lies between s and s followed by a zero byte; one lies before the next.
    (
        And((less(Literal(b"a", STRING), S), less(S, Literal(b"a\0", STRING)))),
        {"s": between(None, None, STRING)},
        "F",
    ),
    (
        And((less(Literal(b"a", STRING), S), less(S, Literal(b"a\0\0", STRING)))),
        {"s": between(None, None, STRING)},
        "TF",
    ),
    (
        And((less(Literal(b"a", STRING), S), less(S, T), less(T, Literal(b"a\0\0", STRING)))),
        dict.fromkeys("st", between(None, None, STRING)),
        "F",
    ),
    (StartsWith(S, b"ab"), {"s": between(b"ab", b"abz", STRING)}, "T"),
    (StartsWith(S, b"ab"), {"s": between(b"ac", b"az", STRING)}, "F"),
    # Floats have neighbours, too, and NaN is above all of them.
    (
        And((less(Literal(1.0, DOUBLE), D), less(D, Literal(math.nextafter(1.0, 2.0), DOUBLE)))),
        {"d": between(None, None, DOUBLE)},
        "F",
    ),
    (less(Literal(1.0, DOUBLE), D), {"d": between(2.0, 3.0, DOUBLE, may_nan=True)}, "T"),
    (less(D, Literal(math.inf, DOUBLE)), {"d": between(2.0, 3.0, DOUBLE, may_nan=True)}, "TF"),
    # Beyond enumeration: the solver.
    (less(total(A, B), number(3)), dict.fromkeys("ab", between(2, 10**6)), "F"),
    (less(total(A, B), number(5)), dict.fromkeys("ab", between(2, 10**6)), "TF"),
    (less(total(A, B), number(5)), dict.fromkeys("ab", between(2, None)), "TFN"),
    (Compare(Comparison.EQUAL, total(A, A), number(7)), {"a": between(None, None)}, "FN"),
    # A row that raises is no row.
    (IsNull(total(A, number(1), Mode.ANSI)), {"a": between(2**31 - 1, 2**31 - 1)}, ""),
    (less(number(0), total(A, number(1), Mode.ANSI)), {"a": between(0, None)}, "T"),
]


@pytest.mark.parametrize(("predicate", "known", "truths"), WORKED, ids=str)
def test_worked_cases(predicate: Expression, known: dict[str, CellFacts], truths: str) -> None:
    found = Judge(predicate).optimum(known)
    expected = [POSSIBLE if letter in truths else IMPOSSIBLE for letter in "TFN"]
    assert [found.true, found.false, found.null] == expected


@pytest.mark.parametrize(("predicate", "known", "truths"), WORKED, ids=str)
def test_the_solver_alone_gives_the_worked_cases(
    predicate: Expression, known: dict[str, CellFacts], truths: str
) -> None:
    found = Judge(predicate).by_search(known)
    expected = [POSSIBLE if letter in truths else IMPOSSIBLE for letter in "TFN"]
    answers = [found.true, found.false, found.null]
    # Between two floats there may be no float, which the reals do not know.
    assert all(answer in (Answer.UNDECIDED, right) for answer, right in zip(answers, expected, strict=True))
    assert Answer.UNDECIDED not in answers or D.name in columns(predicate)


def test_provable_is_what_no_row_contradicts() -> None:
    none = Optimum(true=IMPOSSIBLE, false=POSSIBLE, null=IMPOSSIBLE)
    every = Optimum(true=POSSIBLE, false=IMPOSSIBLE, null=IMPOSSIBLE)
    unsure = Optimum(true=POSSIBLE, false=Answer.TIMED_OUT, null=IMPOSSIBLE)
    assert (none.none_provable, none.all_provable) == (True, False)
    assert (every.none_provable, every.all_provable) == (False, True)
    assert (unsure.none_provable, unsure.all_provable, unsure.timed_out) == (False, None, True)


@pytest.mark.parametrize(
    ("type_", "null_count", "nan_count", "flags"),
    [
        (INTEGER, 0, 0, "V"),
        (INTEGER, 0, None, "V"),
        (INTEGER, 2, 0, "NV"),
        (INTEGER, 5, 0, "N"),
        (INTEGER, None, None, "NV"),
        (DOUBLE, 0, 5, "A"),
        (DOUBLE, 1, None, "NAV"),
        (DOUBLE, 5, None, "N"),
        (DOUBLE, 0, 0, "V"),
    ],
)
def test_counts_tell_what_a_cell_may_be(
    type_: Type, null_count: int | None, nan_count: int | None, flags: str
) -> None:
    """N is NULL, A is NaN, V a value; of five rows."""
    known = CellFacts.of_counts(
        type_, lower=None, upper=None, null_count=null_count, nan_count=nan_count, row_count=5
    )
    assert [known.may_null, known.may_nan, known.may_value] == [letter in flags for letter in "NAV"]


def test_what_takes_too_long_is_counted_as_such() -> None:
    """That no cube is a sum of two has a proof, but not one that a solver finds."""
    x, y, z = (Column(name, LONG) for name in "xyz")
    sum_of_cubes = Arithmetic(Operator.ADD, cube(x), cube(y), LONG, Mode.TRY)
    equation = Compare(Comparison.EQUAL, sum_of_cubes, cube(z))
    found = Judge(equation, timeout_ms=50).optimum(dict.fromkeys("xyz", between(1, 2_000, LONG)))
    assert found.true is Answer.TIMED_OUT
    assert (found.none_provable, found.all_provable, found.timed_out) == (None, False, True)


def cube(base: Expression) -> Expression:
    """base * base * base, of bigints."""
    square = Arithmetic(Operator.MULTIPLY, base, base, LONG, Mode.TRY)
    return Arithmetic(Operator.MULTIPLY, square, base, LONG, Mode.TRY)


def test_what_has_no_meaning_is_undecided() -> None:
    found = Judge(Opaque("f(a)", BOOLEAN, (A,))).optimum({"a": between(1, 2)})
    assert [found.none_provable, found.all_provable] == [None, None]


@pytest.mark.parametrize("fault", ["no successors", "half the rows"])
def test_a_broken_engine_is_found_out(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cross-check and the worked cases can fail."""
    if fault == "no successors":
        monkeypatch.setattr(rows_within, "representatives", lambda _, known: {n: [1] for n in known})
        broken = Judge(less(number(3), A)).optimum({"a": between(None, None)})
    else:
        monkeypatch.setattr(rows_within, "combinations", lambda cells: list(combinations(cells))[:1])
        broken = Judge(less(number(3), A)).optimum({"a": between(0, 9)})
    assert broken.true is IMPOSSIBLE


@given(st.data())
def test_places_are_in_the_order_of_values(data: st.DataObject) -> None:
    """Each value has its place, and the next place has the next value."""
    type_ = data.draw(st.sampled_from([type_ for type_ in TYPES if type_.kind not in BYTES]))
    one, other = (data.draw(values(type_).filter(lambda value: not is_nan(value))) for _ in range(2))
    places = ordinal(one, type_), ordinal(other, type_)
    assert value_at(places[0], type_) == one
    assert (places[0] < places[1]) == (sort_key(one) < sort_key(other))


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        (BYTE, LONG, True),
        (INTEGER, DOUBLE, True),
        (LONG, DOUBLE, False),
        (INTEGER, FLOAT, False),
        (FLOAT, DOUBLE, True),
        (DOUBLE, FLOAT, False),
        (decimal(9, 2), decimal(10, 0), False),
        (decimal(9, 2), decimal(18, 6), True),
        (INTEGER, decimal(9, 2), False),
        (decimal(9, 2), DOUBLE, False),
    ],
    ids=str,
)
def test_casts_that_keep_numbers(source: Type, target: Type, kept: bool) -> None:
    cast = Cast(Column("x", source), target)
    assert compares_by_order_alone(IsNull(cast)) is kept
