"""PRIM-2 for languages: each interpreter says of a range of strings what `Language.meets` says."""

import time
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pytest
import z3
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from small_languages import (
    UNSHRUNK,
    Ends,
    Judged,
    Machine,
    bounds,
    bounds_beside,
    in_order,
    judged,
    listed,
    machines,
    ranges_beside,
    words,
)

from mutants.rules.language_kernels import MUTANTS, NULL_IS_EMPTY
from pruning.expressions.types import BINARY
from pruning.rules.interpreters import adaptive, exact
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.interpreters.arrow import languages as arrow_languages
from pruning.rules.interpreters.solver.interpreter import Solver
from pruning.rules.interpreters.solver.numbers import Bounded
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Input, Program
from pruning.rules.sets import languages
from pruning.rules.sets.languages import Language
from pruning.rules.sets.truths import Match

# numpy's, which a user would see
pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.filterwarnings("ignore:Generating overly large repr"),
]

LOWER, UPPER = (Input(aspect, "s", BINARY) for aspect in (Aspect.LOWER, Aspect.UPPER))
Case: TypeAlias = tuple[Language, list[Ends]]
# Some lanes of one language.
CASES: st.SearchStrategy[Case] = judged().flatmap(
    lambda drawn: st.tuples(st.just(drawn.language), st.lists(bounds_beside(drawn), min_size=1, max_size=8))
)


def lanes_of(ends: Sequence[bytes | None]) -> pa.Array:
    """One side's bounds, in the middle of a longer array as chunks are."""
    around = [b"before", *ends, b"after", None]
    return pa.array(around, pa.binary()).slice(1, len(ends))


def by_kernel(language: Language, lanes: Sequence[Ends]) -> list[bool]:
    """What the kernel says of each lane."""
    lower, upper = (lanes_of([ends[side] for ends in lanes]) for side in (0, 1))
    answers: list[bool] = arrow_languages.maybe_meets(lower, upper, language).to_pylist()
    return answers


def one_by_one(language: Language, lanes: Sequence[Ends]) -> list[bool]:
    """What it has to say."""
    return [language.meets(*ends) for ends in lanes]


@examples(4)
@given(CASES)
def test_arrow_agrees_with_meeting_on_each_lane(case: Case) -> None:
    assert by_kernel(*case) == one_by_one(*case)


@examples(2)
@given(machines(states_max=6), st.lists(bounds(size_max=6), min_size=1, max_size=12))
def test_arrow_agrees_on_longer_bounds_of_larger_languages(machine: Machine, lanes: list[Ends]) -> None:
    language = machine.language()
    assert by_kernel(language, lanes) == one_by_one(language, lanes)


@given(judged(), st.lists(st.none() | words(size_max=3), max_size=6), st.none() | words(size_max=3))
def test_a_bound_that_is_the_same_everywhere_is_a_scalar(
    drawn: Judged, ends: list[bytes | None], other: bytes | None
) -> None:
    language, meets = drawn.language, arrow_languages.maybe_meets
    scalar = pa.scalar(other, pa.binary())
    below = [end if end is None or other is None or end <= other else other for end in ends]
    above = [end if end is None or other is None or end >= other else other for end in ends]
    assert meets(lanes_of(below), scalar, language).to_pylist() == [
        language.meets(end, other) for end in below
    ]
    assert meets(scalar, lanes_of(above), language).to_pylist() == [
        language.meets(other, end) for end in above
    ]
    assert meets(scalar, scalar, language).as_py() == language.meets(other, other)


def test_lanes_without_any_byte_are_lanes() -> None:
    """Arrow may leave out the bytes of an array of nulls, and the offsets of an empty one."""
    language = listed([b"", b"b"])
    nulls = pa.nulls(3, pa.binary())
    empty = pa.array([b"", b"", None], pa.binary())
    assert arrow_languages.maybe_meets(nulls, nulls, language).to_pylist() == [True, True, True]
    assert arrow_languages.maybe_meets(empty, empty, language).to_pylist() == [True, True, True]
    assert arrow_languages.maybe_meets(empty, empty, listed([b"b"])).to_pylist() == [False, False, True]
    assert len(arrow_languages.maybe_meets(nulls[:0], nulls[:0], language)) == 0


def test_bounds_beyond_the_limit_are_unknown_and_others_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along both bounds, and along one of them."""
    long, late = b"a" * 9, b"a" * 8 + b"b"
    language = listed([late])
    lanes: list[Ends] = [(long, long), (b"A", long), (late + b"a", b"a" * 7 + b"b"), (b"b", b"c")]
    assert by_kernel(language, lanes) == [False, False, False, False] == one_by_one(language, lanes)
    monkeypatch.setattr(arrow_languages, "_BYTES_MAX", 4)
    assert by_kernel(language, lanes) == [True, True, True, False]


def test_bounds_in_the_wrong_order_hold_nothing_once_they_differ() -> None:
    """No row lies between them; the exact answer and the kernel's are the same all the same."""
    language = listed([b"a", b"b", b"c"])
    lanes: list[Ends] = [(b"c", b"a"), (b"ab", b"a"), (b"b", b"")]
    assert by_kernel(language, lanes) == [False, False, False] == one_by_one(language, lanes)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_meeting_kills_a_kernel_where(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    find(CASES, lambda case: by_kernel(*case) != one_by_one(*case), settings=UNSHRUNK)


def test_meeting_kills_a_kernel_that_takes_a_null_for_an_empty_upper_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*NULL_IS_EMPTY)
    find(CASES, lambda case: by_kernel(*case) != one_by_one(*case), settings=UNSHRUNK)


@pytest.mark.parametrize("answer", [True, False])
def test_the_lanes_reach_both_answers_beside_each_other(answer: bool) -> None:
    find(
        CASES,
        lambda case: len(case[1]) > 2 and by_kernel(*case)[:2] == [answer, not answer],
        settings=UNSHRUNK,
    )


# Programs


def program_of(language: Language) -> Program:
    """Whether a block may hold a string of the language, or of the others."""
    build = Builder()
    lower, upper = (build.bound_input(aspect, "s", BINARY) for aspect in (Aspect.LOWER, Aspect.UPPER))
    may_be, may_fail = (build.maybe_meets(lower, upper, each) for each in (language, language.complement()))
    return build.program(may_be, may_fail, build.flag(False))


@examples(0.5)
@given(CASES)
def test_programs_of_languages_give_the_same_in_each_interpreter(case: Case) -> None:
    language, lanes = case
    program = program_of(language)
    expected = [exact.run(program, {LOWER: lower, UPPER: upper})[:2] for lower, upper in lanes]
    event(f"distinct answers: {len(set(expected))}")
    columns = {input_: lanes_of([ends[side] for ends in lanes]) for side, input_ in enumerate((LOWER, UPPER))}

    def inputs_at(start: int, size: int) -> dict[Input, pa.Array]:
        return {input_: column.slice(start, size) for input_, column in columns.items()}

    flags = interpreter.run(program, inputs_at, len(lanes), chunk_lanes=3)
    assert list(zip(*(flag.to_pylist() for flag in flags[:2]), strict=True)) == expected
    verdicts = adaptive.run(program, inputs_at, len(lanes), clock=time.perf_counter, chunk_lanes=3).verdicts
    assert [Match(verdict) for verdict in verdicts] == [
        (Match.NONE, Match.ALL, Match.SOME)[may_be + (may_be and may_fail)] for may_be, may_fail in expected
    ]


# Proofs


@examples(0.5)
@given(ranges_beside())
def test_z3_knows_what_named_strings_tell(case: tuple[Judged, Ends]) -> None:
    language, ends, solver = case[0].language, case[1], Solver()
    cells = {
        input_: Bounded(z3.BoolVal(end is not None), solver.theory.constant(end or b"", BINARY))
        for input_, end in zip((LOWER, UPPER), ends, strict=True)
    }
    flags = solver.run(program_of(language), cells)[:2]
    prover = z3.Solver()
    prover.add(*solver.theory.axioms())
    assert prover.check() == z3.sat
    wanted = exact.run(program_of(language), dict(zip((LOWER, UPPER), ends, strict=True)))[:2]
    prover.add(z3.Or(*(flag != z3.BoolVal(bool(claim)) for flag, claim in zip(flags, wanted, strict=True))))
    assert prover.check() == z3.unsat


def test_z3_takes_a_range_of_one_string_for_a_membership() -> None:
    """So that an axiom may say of a row that it is in a set, whichever way the set is written."""
    solver, language = Solver(), listed([b"a"]).complement()
    row = solver.theory.variable("row", BINARY)
    place = Bounded(z3.BoolVal(True), row)
    assert solver.meets(place, place, language, BINARY).eq(solver.theory.language(language)(row.value))
    assert solver.theory.languages.meetings == []


def refuted(row_in: Language, asked: Language, *, within: Ends = (None, None)) -> bool:
    """Whether a row of one language may lie in a block that is said to hold none of another."""
    solver, build = Solver(), Builder()
    lower, upper = (build.bound_input(aspect, "s", BINARY) for aspect in (Aspect.LOWER, Aspect.UPPER))
    lower = build.greatest_known(lower, build.bound(within[0], BINARY))
    upper = build.least_known(upper, build.bound(within[1], BINARY))
    program = build.program(build.maybe_meets(lower, upper, asked))
    theory = solver.theory
    row = theory.variable("row", BINARY)
    cells = {
        input_: Bounded(z3.Bool(f"{input_.aspect} known"), theory.variable(str(input_.aspect), BINARY))
        for input_ in (LOWER, UPPER)
    }
    premises = [
        theory.language(row_in)(row.value),
        theory.in_type(row, BINARY),
        z3.Implies(cells[LOWER].known, cells[LOWER].number.at_most(row)),
        z3.Implies(cells[UPPER].known, row.at_most(cells[UPPER].number)),
        *(theory.constant(end, BINARY).at_most(row) for end in within[:1] if end is not None),
        *(row.at_most(theory.constant(end, BINARY)) for end in within[1:] if end is not None),
    ]
    (flag,) = solver.run(program, cells)
    prover = z3.Solver()
    prover.add(*premises, *theory.axioms(), z3.Not(flag))
    return prover.check() == z3.sat


@examples(0.5)
@given(judged(), judged(), words(size_max=2), words(size_max=2))
def test_z3_proves_that_a_row_of_a_language_is_found(
    one: Judged, other: Judged, left: bytes, right: bytes
) -> None:
    """By the language itself, by one that holds it, and beside constant limits."""
    either = languages.union(one.language, other.language)
    assert either is not None
    assert not refuted(one.language, one.language)
    assert not refuted(one.language, either)
    assert not refuted(one.language, either, within=in_order(left, right))


def test_z3_refutes_that_a_row_outside_the_language_asked_for_is_found() -> None:
    """The mutant of a rule that asks for too small a set."""
    assert refuted(listed([b"a", b"b"]), listed([b"a"]))
    assert refuted(listed([b"a"]).complement(), listed([b"b"]).complement())
    assert not refuted(listed([b"a", b"b"]), listed([b"b"]), within=(b"aa", None))
