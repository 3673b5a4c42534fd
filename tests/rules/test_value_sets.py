"""PRIM-3 for intervals and languages together, and for what is made of them: outcomes and ranges."""

from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from small_languages import UNSHRUNK, WORDS, Ends, Judged, between, bounds, judged, listed, unions, words

from pruning.expressions.trees import Column
from pruning.expressions.types import BINARY
from pruning.rules.analysis import ranges
from pruning.rules.analysis.ranges import Range
from pruning.rules.interpreters import exact
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Flag, Input, Op
from pruning.rules.sets import cuts, outcomes, value_sets
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.outcomes import NULL_ONLY, Outcomes, ValueSet
from pruning.rules.sets.truths import Truths
from pruning.rules.sets.value_sets import Values

# Of the members, which `find` prints though they are left out.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

S = Column("s", BINARY)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A set, and which of the words are in it."""

    values: Values
    members: frozenset[bytes] = field(repr=False)


MIXED = judged().map(lambda drawn: Drawn(drawn.language, drawn.members)) | unions().map(
    lambda union: Drawn(union, frozenset(filter(union.holds, WORDS)))
)


def members(values: Values) -> frozenset[bytes]:
    """The words in a set."""
    return frozenset(filter(values.holds, WORDS))


@given(MIXED, MIXED)
def test_two_sets_together_hold_what_they_do(one: Drawn, other: Drawn) -> None:
    """Also where an interval and a language meet."""
    left, right, in_left, in_right = one.values, other.values, one.members, other.members
    event(f"{type(left).__name__} and {type(right).__name__}")
    assert members(value_sets.union(left, right)) == in_left | in_right
    assert members(value_sets.intersection(left, right)) == in_left & in_right
    assert members(value_sets.complement(left)) == frozenset(WORDS) - in_left


@given(MIXED, MIXED)
def test_what_takes_too_many_states_is_answered_loosely(one: Drawn, other: Drawn) -> None:
    """Never without a member, and of an intersection no more than one of the two."""
    left, right, in_left, in_right = one.values, other.values, one.members, other.members
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(value_sets.languages, "intersection", lambda _, __: None)
        patched.setattr(value_sets.languages, "union", lambda _, __: None)
        either, both = value_sets.union(left, right), value_sets.intersection(left, right)
    assert members(either) >= in_left | in_right
    assert members(both) >= in_left & in_right
    assert both in (left, right, EMPTY, FULL) or isinstance(both, Cuts)


@given(judged(), judged())
def test_a_union_that_takes_too_many_states_is_what_lies_around_each(one: Judged, other: Judged) -> None:
    """A prefix beside a list too long for an automaton still is a prefix beside a list."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(value_sets.languages, "union", lambda _, __: None)
        either = value_sets.union(one.language, other.language)
    around = [between(*drawn.language.hull()) for drawn in (one, other) if drawn.members]
    if len(around) == 2:
        assert members(either) == {word for word in WORDS if any(inside(word) for inside in around)}


@given(st.integers(700, 900), st.booleans())
def test_a_list_too_long_for_an_automaton_is_cut_by_a_language(size: int, kept: bool) -> None:
    """Word by word, so that IN and LIKE together are exact and stay a list."""
    chosen = [b"%05d" % number for number in range(size)]
    having = listed([b"00001", b"00699", b"absent"])
    language = having if kept else having.complement()
    both = value_sets.intersection(cuts.of_values(chosen, BINARY), language)
    assert both == cuts.of_values(filter(language.holds, chosen), BINARY)


def test_an_interval_beside_too_long_a_list_is_kept_as_it_is() -> None:
    """A list of so many words is no automaton; nothing is lost where it meets a language."""
    chosen = [b"%06d" % (7 * number) * 2 for number in range(1_000)]
    far = cuts.union(cuts.of_values(chosen, BINARY), cuts.above(b"9", BINARY, inclusive=True))
    assert value_sets.as_language(far) is None
    language = listed([b"000001"]).complement()
    assert value_sets.intersection(far, language) == language
    assert value_sets.union(far, language) == FULL


@given(MIXED, MIXED)
def test_a_set_of_nothing_and_one_of_everything_are_known_as_such(one: Drawn, other: Drawn) -> None:
    """So that they are constants of a program, whichever way they were made."""
    made = value_sets.intersection(one.values, value_sets.complement(one.values))
    assert made in (EMPTY, one.values)
    assert value_sets.union(one.values, value_sets.complement(one.values)).full
    both = value_sets.intersection(one.values, other.values)
    assert both.empty == (not one.members & other.members)


# Predicates on one subject


def outcome_of(drawn: Drawn) -> Outcomes:
    """A predicate that is TRUE on a set."""
    values = drawn.values
    return Outcomes(S, true=ValueSet(values), false=ValueSet(value_sets.complement(values)), null=NULL_ONLY)


@given(MIXED, MIXED, MIXED)
def test_connectives_of_languages_hold_where_python_says(one: Drawn, other: Drawn, third: Drawn) -> None:
    both = outcomes.connective([outcome_of(one), outcome_of(other)], decides=Truths.FALSE)
    assert both is not None
    whole = outcomes.connective([outcomes.negation(both), outcome_of(third)], decides=Truths.TRUE)
    assert whole is not None
    true = (frozenset(WORDS) - (one.members & other.members)) | third.members
    assert members(whole.true.cuts) == true
    assert members(whole.false.cuts) == frozenset(WORDS) - true
    assert (whole.true.null, whole.false.null, whole.null.null) == (False, False, True)


# Ranges, by the exact interpreter


def in_block(build: Builder) -> Range:
    """The range of a column that has values."""
    return Range(
        lower=build.bound_input(Aspect.LOWER, S.name, BINARY),
        upper=build.bound_input(Aspect.UPPER, S.name, BINARY),
        may_null=build.flag(False),
        may_nan=build.flag(False),
        may_value=build.flag(True),
    )


def answer(build: Builder, flag: Flag, ends: Ends) -> object:
    """The flag in a block of these bounds."""
    inputs = {
        Input(aspect, S.name, BINARY): end
        for aspect, end in zip((Aspect.LOWER, Aspect.UPPER), ends, strict=True)
    }
    return exact.run(build.program(flag), inputs)[0]


Narrowing: TypeAlias = tuple[Drawn, Drawn, Ends]
NARROWINGS = st.tuples(MIXED, MIXED, bounds(size_max=2))


def may_be_in_both(case: Narrowing) -> bool:
    """Whether a row may lie in one set where it lies in the other."""
    first, second, ends = case
    build = Builder()
    narrowed = ranges.inside(build, in_block(build), ValueSet(first.values))
    lies = ranges.may_lie(build, narrowed, ValueSet(second.values))
    return bool(answer(build, build.and_(narrowed.may_value, lies), ends))


def is_in_both(case: Narrowing) -> bool:
    """Whether a word does."""
    first, second, ends = case
    return any(map(between(*ends), first.members & second.members))


@given(NARROWINGS)
def test_a_range_inside_a_set_loses_no_row(case: Narrowing) -> None:
    assert may_be_in_both(case) or not is_in_both(case)


@given(st.tuples(unions(), unions(), bounds(size_max=2)))
def test_a_range_inside_a_language_is_as_narrow_as_inside_intervals(case: tuple[Cuts, Cuts, Ends]) -> None:
    """Whichever way one set is written."""
    first, second, ends = case
    as_languages = [Drawn(value_sets.as_language(union) or FULL, frozenset()) for union in (first, second)]
    as_intervals = [Drawn(union, frozenset()) for union in (first, second)]
    assert may_be_in_both((*as_languages, ends)) == may_be_in_both((*as_intervals, ends))


@pytest.mark.parametrize("wanted", [True, False])
def test_the_narrowings_reach_both_answers(wanted: bool) -> None:
    """By two languages, neither of them empty."""
    find(
        NARROWINGS,
        lambda case: (
            all(isinstance(drawn.values, Language) and drawn.members for drawn in case[:2])
            and bool(case[0].members & case[1].members)
            and may_be_in_both(case) is wanted
        ),
        settings=UNSHRUNK,
    )


@given(judged(), judged(), bounds(size_max=2))
def test_the_rows_of_two_ranges_are_in_either_set(one: Judged, other: Judged, ends: Ends) -> None:
    build = Builder()
    first, second = (
        ranges.inside(build, in_block(build), ValueSet(drawn.language)) for drawn in (one, other)
    )
    united, both = ranges.union(build, first, second), ranges.intersection(build, first, second)
    inside = between(*ends)
    assert answer(build, united.may_value, ends) or not any(map(inside, one.members | other.members))
    assert answer(build, both.may_value, ends) or not any(map(inside, one.members & other.members))
    lies = ranges.may_lie(build, united, ValueSet(one.language))
    assert answer(build, lies, ends) or not any(map(inside, one.members))


@given(judged(), words(size_max=2), words(size_max=2))
def test_a_language_between_constants_is_no_operation(drawn: Judged, lower: bytes, upper: bytes) -> None:
    build = Builder()
    lower, upper = min(lower, upper), max(lower, upper)
    flag = build.maybe_meets(build.bound(lower, BINARY), build.bound(upper, BINARY), drawn.language)
    step = build.operations[flag.index]
    assert (step.op, step.payload) == (Op.FLAG, any(map(between(lower, upper), drawn.members)))


@given(judged(), st.data())
def test_a_limit_beside_the_bounds_becomes_part_of_the_language(drawn: Judged, data: st.DataObject) -> None:
    """So that one look-up tells what the block's own bounds and a constant limit allow together."""
    build = Builder()
    known = in_block(build)
    limits = data.draw(bounds(size_max=2))
    lower = build.greatest_known(known.lower, build.bound(limits[0], BINARY))
    upper = build.least_known(known.upper, build.bound(limits[1], BINARY))
    flag = build.maybe_meets(lower, upper, drawn.language)
    used = {step.op for step in build.program(flag).operations}
    assert used.isdisjoint({Op.GREATEST_KNOWN, Op.LEAST_KNOWN})
    ends = data.draw(bounds(size_max=2))
    inside, allowed = between(*ends), between(*limits)
    expected = any(inside(word) and allowed(word) for word in drawn.members)
    assert answer(build, flag, ends) is expected
