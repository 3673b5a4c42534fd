"""PRIM-3: sets of values are what enumeration says, in types with steps, without, and in between."""

import functools
import math

from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.types import BINARY, BOOLEAN, BYTE, DOUBLE, STRING, Type, Value
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts

NUMBERS = (-math.inf, -1.0, -5e-324, 0.0, 5e-324, 1.0, math.nextafter(1.0, 2.0), math.inf)
# A value, its successors by one and two zero bytes, and neighbours without any value between.
TEXTS = (b"", b"\0", b"\0\0", b"a", b"a\0", b"a\0\0", b"a\0\xff", b"a\x01", b"b", b"\xff", b"\xff\xff")
DOMAINS: dict[Type, tuple[Value, ...]] = {
    BYTE: tuple(range(-128, 128)),
    BOOLEAN: (False, True),
    DOUBLE: NUMBERS,
    BINARY: TEXTS,
}


@functools.cache
def sets(type_: Type) -> st.SearchStrategy[tuple[Cuts, frozenset[Value]]]:
    """Sets built every way there is, each with its members among the domain."""
    domain = DOMAINS[type_]
    values = st.sampled_from(domain)
    rays = st.builds(
        lambda value, upwards, inclusive: (
            (cuts.above if upwards else cuts.below)(value, type_, inclusive=inclusive),
            frozenset(
                other
                for other in domain
                if (inclusive and other == value) or (other > value if upwards else other < value)
            ),
        ),
        values,
        st.booleans(),
        st.booleans(),
    )
    lists = st.lists(values, max_size=6).map(
        lambda chosen: (cuts.of_values(chosen, type_), frozenset(chosen))
    )
    return st.recursive(rays | lists, lambda parts: _combined(parts, frozenset(domain)), max_leaves=5)


def _combined(
    parts: st.SearchStrategy[tuple[Cuts, frozenset[Value]]], domain: frozenset[Value]
) -> st.SearchStrategy[tuple[Cuts, frozenset[Value]]]:
    both = st.tuples(parts, parts)
    return st.one_of(
        both.map(lambda pair: (cuts.union(pair[0][0], pair[1][0]), pair[0][1] | pair[1][1])),
        both.map(lambda pair: (cuts.intersection(pair[0][0], pair[1][0]), pair[0][1] & pair[1][1])),
        parts.map(lambda part: (cuts.complement(part[0]), domain - part[1])),
    )


@given(st.data())
def test_a_set_holds_what_it_was_built_of(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(list(DOMAINS)))
    built, members = data.draw(sets(type_))
    assert {value for value in DOMAINS[type_] if built.holds(value)} == members


@given(st.data())
def test_a_range_meets_a_set_where_a_value_is_in_both(data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from([BYTE, BOOLEAN]))
    built, members = data.draw(sets(type_))
    ends = st.none() | st.sampled_from(DOMAINS[type_])
    lower, upper = data.draw(ends), data.draw(ends)
    if lower is not None and upper is not None and lower > upper:
        lower, upper = upper, lower
    within = {
        value
        for value in DOMAINS[type_]
        if (lower is None or lower <= value) and (upper is None or value <= upper)
    }
    assert cuts.meets(lower, upper, built) == bool(members & within)


@given(st.data())
def test_a_set_in_a_finite_type_is_written_in_one_way(data: st.DataObject) -> None:
    """So that equal sets are one operation, and an empty one is known to be empty."""
    type_ = data.draw(st.sampled_from([BYTE, BOOLEAN]))
    (one, members), (other, others) = data.draw(sets(type_)), data.draw(sets(type_))
    assert (one == other) == (members == others)
    assert one.empty == (not members)
    assert one.full == (members == set(DOMAINS[type_]))


@given(st.data())
def test_the_hull_encloses_and_is_attained_in_a_finite_type(data: st.DataObject) -> None:
    built, members = data.draw(sets(BYTE))
    least, greatest = built.hull()
    if members:
        assert (-128 if least is None else least) <= min(members)
        assert (127 if greatest is None else greatest) >= max(members)


def test_nothing_lies_between_a_string_and_its_successor() -> None:
    above = cuts.above(b"a", STRING, inclusive=False)
    below = cuts.below(b"a\0", STRING, inclusive=False)
    assert cuts.intersection(above, below) == EMPTY
    assert cuts.union(above, below) == FULL


def test_zeros_of_both_signs_are_one_value() -> None:
    only_zero = cuts.of_values([-0.0], DOUBLE)
    assert only_zero.holds(0.0)
    assert only_zero == cuts.of_values([0.0], DOUBLE)


def test_what_is_above_infinity_is_nothing() -> None:
    assert cuts.above(math.inf, DOUBLE, inclusive=False) == EMPTY
    assert cuts.above(-math.inf, DOUBLE, inclusive=True) == FULL
