"""PRIM-3 for regular languages: they are what enumeration says, and each is written in one way."""

import pickle
from collections.abc import Callable
from typing import TypeAlias

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from small_languages import (
    LETTERS,
    LONG_WORDS,
    UNSHRUNK,
    WORDS,
    Ends,
    Judged,
    Machine,
    between,
    bounds,
    judged,
    listed,
    machines,
    ranges_beside,
    unions,
    words,
)

from mutants.rules.languages import MUTANTS
from pruning.expressions.types import BINARY
from pruning.rules.sets import cuts, languages
from pruning.rules.sets.automata import Automaton
from pruning.rules.sets.languages import ANY_STRING, NO_STRING, Language, of_cuts

Case: TypeAlias = tuple[Judged, Ends]
# Two states and bounds of two bytes have a witness of four.
CASES = ranges_beside()


@examples(0.5)
@given(machines())
def test_a_language_holds_what_its_automaton_accepts(machine: Machine) -> None:
    language = machine.language()
    assert {word for word in WORDS if language.holds(word)} == set(filter(machine.accepts, WORDS))
    assert machine.members == set(filter(machine.accepts, WORDS))


@given(st.lists(words(size_max=3), max_size=6), st.integers(0, 6))
def test_a_language_of_few_members_lists_them_all(chosen: list[bytes], limit: int) -> None:
    """Those of a list, in whatever order it was; none of them where the limit is below their number."""
    members = sorted(set(chosen), key=lambda word: (len(word), word))
    event("too many" if len(members) > limit else "few")
    assert listed(chosen).members(limit) == (None if len(members) > limit else tuple(members))


@given(machines(states_max=3))
def test_listed_members_are_all_that_an_automaton_accepts(machine: Machine) -> None:
    """A member as long as there are states tells a language without end; of others none is missed."""
    found = machine.language().members(2_000)
    endless = any(len(word) >= len(machine.moves) for word in machine.members)
    event("without end" if endless else "too many" if found is None else "listed")
    assert not (endless and found is not None)
    assert found is None or set(found) & set(WORDS) == machine.members


@examples(0.5)
@given(machines(), machines())
def test_a_language_of_two_holds_what_they_do(one: Machine, other: Machine) -> None:
    left, right = one.language(), other.language()
    either, both = languages.union(left, right), languages.intersection(left, right)
    assert either is not None
    assert both is not None
    neither = either.complement()
    for word in WORDS:
        in_one, in_other = one.accepts(word), other.accepts(word)
        assert either.holds(word) == (in_one or in_other)
        assert both.holds(word) == (in_one and in_other)
        assert neither.holds(word) != either.holds(word)


@given(machines(states_max=2), machines(states_max=2))
def test_equal_languages_are_equal_and_others_are_not(one: Machine, other: Machine) -> None:
    """Two automata of n states each tell apart languages that differ by a word of 2n - 2 bytes."""
    left, right = one.language(), other.language()
    alike = one.members == other.members
    event(f"alike: {alike}")
    assert (left == right) == alike
    assert hash(left) == hash(right) or not alike


@given(machines(), st.data())
def test_a_language_is_written_in_one_way_whatever_automaton_it_is_from(
    machine: Machine, data: st.DataObject
) -> None:
    """Each state twice, either of which any byte may lead to, in another order."""
    count = len(machine.moves)
    coins = data.draw(st.lists(st.integers(0, 1), min_size=16, max_size=16))
    order = data.draw(st.permutations(range(2 * count)))
    place = {(state, copy): order[2 * state + copy] for state in range(count) for copy in (0, 1)}
    original = {number: state for (state, _), number in place.items()}

    def step(number: int, byte: int) -> int:
        return place[machine.step(original[number], byte), coins[(number + byte) % 16]]

    doubled = languages.from_automaton(
        place[0, coins[0]], step, lambda number: machine.accepting[original[number]]
    )
    assert doubled == machine.language()


@given(machines())
def test_an_automaton_is_the_smallest_and_in_order(machine: Machine) -> None:
    """No two states accept the same words, no two classes lead the same way, all are numbered as found."""
    automaton = machine.language().automaton
    rests = [
        tuple(accepts_from(automaton, state, word) for word in WORDS) for state in range(len(automaton.moves))
    ]
    assert len(set(rests)) == len(rests)
    assert len(set(zip(*automaton.moves, strict=True))) == len(automaton.moves[0])
    found = [0]
    for state in found:
        found += [following for following in dict.fromkeys(automaton.moves[state]) if following not in found]
    assert found == list(range(len(automaton.moves)))
    assert list(dict.fromkeys(automaton.classes)) == list(range(len(automaton.moves[0])))


def accepts_from(automaton: Automaton, state: int, word: bytes) -> bool:
    for byte in word:
        state = automaton.step(state, byte)
    return automaton.accepting[state]


def meets(case: Case) -> bool:
    """What is claimed."""
    judged_, (lower, upper) = case
    return judged_.language.meets(lower, upper)


def holds_one(case: Case) -> bool:
    """What enumeration says."""
    judged_, ends = case
    return any(map(between(*ends), judged_.members))


@examples(4)
@given(CASES)
def test_a_range_meets_a_language_where_a_member_lies_in_it(case: Case) -> None:
    assert meets(case) == holds_one(case)


@examples(4)
@given(machines(states_max=6), bounds(size_max=8))
def test_meeting_agrees_with_cutting_the_language(machine: Machine, ends: Ends) -> None:
    """For languages and bounds beyond enumeration: what is left of the language between the bounds."""
    language, (lower, upper) = machine.language(), ends
    interval = of_cuts(cuts.between(lower, upper, BINARY))
    assert interval is not None
    inside = languages.intersection(language, interval)
    assert inside is not None
    assert language.meets(lower, upper) == (not inside.empty)


WITNESSES: dict[str, Callable[[bytes, bytes, bytes], bool]] = {
    "the lower bound itself": lambda word, lower, upper: word == lower < upper,
    "the upper bound itself": lambda word, lower, upper: lower < word == upper,
    "longer than the lower bound": lambda word, lower, upper: word.startswith(lower) and word > lower,
    "a start of the upper bound": lambda word, lower, upper: upper.startswith(word) and lower < word < upper,
    "strictly between": lambda word, lower, upper: lower[:1] < word[:1] < upper[:1],
}


@pytest.mark.parametrize("witness", WITNESSES)
def test_the_cases_reach_a_range_that_meets_only_by(witness: str) -> None:
    """Without this, a way to meet could be forgotten and never be missed."""

    def only_so(case: Case) -> bool:
        judged_, (lower, upper) = case
        if not lower or not upper:
            return False
        inside = list(filter(between(lower, upper), judged_.members))
        return bool(inside) and all(WITNESSES[witness](word, lower, upper) for word in inside)

    find(CASES, only_so, settings=UNSHRUNK)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_enumeration_kills_a_meeting_where(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    find(CASES, lambda case: meets(case) != holds_one(case), settings=UNSHRUNK)


@given(machines())
def test_a_hull_encloses_the_language(machine: Machine) -> None:
    assert all(map(between(*machine.language().hull()), machine.members))


@given(st.lists(words(size_max=9), min_size=1, max_size=5))
def test_the_hull_of_a_list_is_attained(members: list[bytes]) -> None:
    language = of_cuts(cuts.of_values(members, BINARY))
    assert language is not None
    assert language.hull() == (min(members) or None, max(members))


#    language                  hull
HULLS = {
    "nothing": (NO_STRING, (None, None)),
    "everything": (ANY_STRING, (None, None)),
    "only the empty string": (listed([b""]), (None, b"")),
    "all but it": (listed([b""]).complement(), (b"\0", None)),
    "longer than what is kept of it": (listed([b"ab" * 50]), (b"ab" * 32, b"ab" * 31 + b"ac")),
    "its greatest member ends in 0xFF": (
        listed([b"a" * 63 + b"\xff" * 9]),
        (b"a" * 63 + b"\xff", b"a" * 62 + b"b"),
    ),
    "no upper end is left of 0xFF": (listed([b"\xff" * 65]), (b"\xff" * 64, None)),
}


@pytest.mark.parametrize("case", HULLS)
def test_the_hull_of(case: str) -> None:
    language, hull = HULLS[case]
    assert language.hull() == hull


def test_the_hull_of_a_prefix_is_its_interval() -> None:
    having = of_cuts(cuts.with_prefix(b"ab\xff", BINARY))
    assert having is not None
    assert having.hull() == (b"ab\xff", b"ac")


def test_enumeration_kills_a_hull_whose_end_is_cut_inwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first bytes of the greatest member are below it."""
    monkeypatch.setattr(languages, "_HULL_BYTES_MAX", 1)
    monkeypatch.setattr(languages.primitives, "prefix_end", lambda prefix: prefix)
    find(judged(), lambda case: not all(map(between(*case.language.hull()), case.members)), settings=UNSHRUNK)


@given(unions())
def test_a_union_of_intervals_is_the_same_as_a_language(union: cuts.Cuts) -> None:
    language = of_cuts(union)
    assert language is not None
    assert [language.holds(word) for word in WORDS] == [union.holds(word) for word in WORDS]
    assert (language.empty, language.full) == (union.empty, union.full)


@given(st.lists(words(size_max=7, letters=b"ab"), min_size=40, max_size=80))
def test_a_long_list_is_the_same_as_a_language(members: list[bytes]) -> None:
    language = of_cuts(cuts.of_values(members, BINARY))
    assert language is not None
    assert {word for word in LONG_WORDS if language.holds(word)} == set(members)


@given(unions(), unions())
def test_intervals_and_languages_make_the_same_together(one: cuts.Cuts, other: cuts.Cuts) -> None:
    left, right = of_cuts(one), of_cuts(other)
    assert left is not None
    assert right is not None
    assert of_cuts(cuts.union(one, other)) == languages.union(left, right)
    assert of_cuts(cuts.intersection(one, other)) == languages.intersection(left, right)
    assert of_cuts(cuts.complement(one)) == left.complement()


def test_an_automaton_of_too_many_states_is_no_language() -> None:
    def counting(states: int) -> Language | None:
        return languages.from_automaton(
            0, lambda state, _: min(state + 1, 4), lambda state: state == 4, states_max=states
        )

    assert counting(4) is None
    assert counting(5) is not None


def test_bytes_that_are_said_to_be_alike_are_stepped_once() -> None:
    asked = []

    def step(state: int, byte: int) -> int:
        asked.append(byte)
        return byte

    odd = bytes(byte % 2 for byte in range(256))
    language = languages.from_automaton(2, step, lambda state: state == 1, byte_classes=odd)
    assert set(asked) == {0, 1}
    assert language is not None
    assert [language.holds(bytes([byte])) for byte in (0, 1, 254, 255)] == [False, True, False, True]


def test_every_byte_may_be_a_letter() -> None:
    """More classes than a byte can number would be one too many."""
    every = of_cuts(cuts.of_values([bytes([byte]) for byte in range(0, 256, 2)], BINARY))
    assert every is not None
    assert all(every.holds(bytes([byte])) == (byte % 2 == 0) for byte in range(256))


def test_a_language_survives_the_way_to_an_executor() -> None:
    language = listed([b"ab"]).complement()
    sent = pickle.loads(pickle.dumps(language))
    assert sent == language
    assert {language: "found"}[sent] == "found"


@examples(0.2)
@given(machines(states_max=6), machines(states_max=6))
def test_what_takes_too_many_states_is_said_so(one: Machine, other: Machine) -> None:
    """Never a language that is not the one asked for."""
    left, right = one.language(), other.language()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(languages, "STATES_MAX", 3)
        languages.intersection.cache_clear()
        both = languages.intersection(left, right)
    languages.intersection.cache_clear()
    event(f"found: {both is not None}")
    if both is not None:
        assert all(both.holds(word) == (one.accepts(word) and other.accepts(word)) for word in WORDS[::7])


def test_letters_are_among_the_bytes_that_are_tried() -> None:
    """One of each gap between two letters, so that the words of this file stand for all."""
    ordered = sorted(LETTERS)
    tried = {byte for word in WORDS for byte in word}
    gaps = [
        range(low + 1, high) for low, high in zip(ordered, [*ordered[1:], 256], strict=True) if low + 1 < high
    ]
    assert set(ordered) <= tried
    assert all(tried & set(gap) for gap in gaps)
