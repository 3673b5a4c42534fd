"""TEXT-2: what a function of text takes into a set is said of the operand, and nothing is lost."""

import functools
import itertools
from collections.abc import Callable, Sequence

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from text_meanings import LETTERS, SPACED, before, faulty, is_text, lpad, rpad, substring, texts
from text_nodes import S, call, preimage, text_rules

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Call, Column, Function, Literal
from pruning.expressions.types import INTEGER, STRING, Type, Value
from pruning.rules.families import patterns
from pruning.rules.sets import cuts, value_sets
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import EVERYTHING, NOTHING, NULL_ONLY, NUMBERS, ValueSet
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import interval_preimages

Meaning = Callable[[str], str | int]


def concat(before: str, after: str) -> Call:
    parts = (Literal(before.encode(), STRING), S, Literal(after.encode(), STRING))
    return Call(Function.CONCAT, parts, STRING)


SPACE = " "
CALLS: dict[str, tuple[Call, Meaning]] = {
    "trim": (call(Function.TRIM), lambda s: s.strip(" ")),
    "ltrim": (call(Function.LTRIM), lambda s: s.lstrip(" ")),
    "rtrim": (call(Function.RTRIM), lambda s: s.rstrip(" ")),
    "trim é and b": (call(Function.TRIM, "éb"), lambda s: s.strip("éb")),
    "rtrim a and tab": (call(Function.RTRIM, "a\t"), lambda s: s.rstrip("a\t")),
    "ltrim nothing": (call(Function.LTRIM, ""), lambda s: s),
    "concat": (concat("a ", "b"), lambda s: f"a {s}b"),
    "concat before": (concat("é", ""), lambda s: f"é{s}"),
    "concat after": (concat("", "aé"), lambda s: f"{s}aé"),
    "rpad": (call(Function.RPAD, 3, " "), lambda s: rpad(s, 3, " ")),
    "rpad with more": (call(Function.RPAD, 4, "éb"), lambda s: rpad(s, 4, "éb")),
    "rpad with nothing": (call(Function.RPAD, 2, ""), lambda s: rpad(s, 2, "")),
    "rpad to less than nothing": (call(Function.RPAD, -1, "x"), lambda s: ""),
    "lpad": (call(Function.LPAD, 3, " "), lambda s: lpad(s, 3, " ")),
    "lpad with more": (call(Function.LPAD, 4, "éb"), lambda s: lpad(s, 4, "éb")),
    "lpad with nothing": (call(Function.LPAD, 2, ""), lambda s: lpad(s, 2, "")),
    "lpad to less than nothing": (call(Function.LPAD, -1, "x"), lambda s: ""),
    "replace": (call(Function.REPLACE, "a", "é"), lambda s: s.replace("a", "é")),
    "replace aab": (call(Function.REPLACE, "aab", "b"), lambda s: s.replace("aab", "b")),
    "replace aa by more": (call(Function.REPLACE, "aa", " a "), lambda s: s.replace("aa", " a ")),
    "replace é by nothing": (call(Function.REPLACE, "é", ""), lambda s: s.replace("é", "")),
    "replace nothing": (call(Function.REPLACE, "", "x"), lambda s: s),
    "before a space": (call(Function.SUBSTRING_INDEX, " ", 1), lambda s: s.split(" ")[0]),
    "before the second a": (call(Function.SUBSTRING_INDEX, "a", 2), lambda s: before(s, "a", 2)),
    "before the second aa": (call(Function.SUBSTRING_INDEX, "aa", 2), lambda s: before(s, "aa", 2)),
    "before éb": (call(Function.SUBSTRING_INDEX, "éb", 1), lambda s: s.split("éb")[0]),
    "position of b": (call(Function.INSTR, "b"), lambda s: s.find("b") + 1),
    "position of aab": (call(Function.INSTR, "aab"), lambda s: s.find("aab") + 1),
    "position of é": (call(Function.INSTR, "é"), lambda s: s.find("é") + 1),
    "length": (call(Function.LENGTH), len),
}
for _position, _length in itertools.product((-3, -2, -1, 0, 1, 2, 3), (-1, 0, 1, 2, 2**31 - 1)):
    CALLS[f"substring {_position} {_length}"] = (
        call(Function.SUBSTRING, _position, _length),
        lambda s, position=_position, length=_length: substring(s, position, length),
    )
COUNTS = tuple(name for name, (node, _) in CALLS.items() if node.type == INTEGER)
VALUES = tuple(texts(SPACED, 3)) + tuple(texts(("a", " "), 5)) + tuple(texts(LETTERS, 1))
WRONG = tuple(faulty(("a", " ", "é"), 1))
# RPAD keeps what CHAR columns do not cut; so of longer texts more is in the answer than is so.
LOOSE_ABOVE = {"rpad": 3, "rpad with more": 4, "rpad with nothing": 2, "rpad to less than nothing": 0}


@functools.cache
def wanted_sets() -> st.SearchStrategy[Values]:
    """Sets of results: intervals, lists, languages."""
    some = st.sampled_from(list(texts(("a", "b", " ", "é"), 3)))
    return st.one_of(
        st.lists(some, min_size=1, max_size=3).map(lambda chosen: cuts.of_values(chosen, STRING)),
        st.lists(some, min_size=1, max_size=2).map(
            lambda chosen: cuts.complement(cuts.of_values(chosen, STRING))
        ),
        some.map(lambda bound: cuts.below(bound, STRING, inclusive=True)),
        some.map(lambda bound: cuts.above(bound, STRING, inclusive=False)),
        st.sampled_from(["%a_", "a%b", "_", "%é%", "% "]).flatmap(
            lambda pattern: st.sampled_from(patterns.like_sets(pattern.encode(), "\\"))
        ),
    )


@functools.cache
def wanted_lengths() -> st.SearchStrategy[Cuts]:
    number = st.integers(-1, 5)
    return st.one_of(
        number.map(lambda bound: cuts.below(bound, INTEGER, inclusive=True)),
        number.map(lambda bound: cuts.above(bound, INTEGER, inclusive=True)),
        st.lists(number, min_size=1, max_size=3).map(lambda chosen: cuts.of_values(chosen, INTEGER)),
    )


def check(name: str, wanted: Values, results: Sequence[tuple[bytes, Value]]) -> None:
    """A string whose result is wanted is in the set; UTF-8 whose result is not, is not."""
    node, _ = CALLS[name]
    found = preimage(node, wanted)
    for value, result in results:
        if wanted.holds(result):
            assert found.holds(value), (name, value, result)
        elif is_text(value) and len(value.decode()) <= LOOSE_ABOVE.get(name, 100):
            assert not found.holds(value), (name, value, result)


def result_of(name: str, value: bytes) -> Value:
    result = CALLS[name][1](value.decode())
    return result.encode() if isinstance(result, str) else result


RESULTS = {name: [(value, result_of(name, value)) for value in VALUES] for name in CALLS}


@pytest.mark.parametrize("name", CALLS)
@examples(0.3)
@given(st.data())
def test_what_becomes_wanted_is_what_means_so(name: str, data: st.DataObject) -> None:
    wanted = data.draw(wanted_lengths() if name in COUNTS else wanted_sets())
    check(name, wanted, RESULTS[name])


def test_spark_says_what_the_sets_say(spark) -> None:
    """One query, with strings that are not UTF-8 among its rows."""
    values = [*texts(SPACED, 2), *texts(LETTERS, 1), *texts(("a", " ", "é"), 4), *WRONG]
    frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
    names = [name for name in CALLS if name not in COUNTS]
    counted = ", ".join(to_sql(CALLS[name][0]) for name in COUNTS)
    columns = ", ".join(f"cast({to_sql(CALLS[name][0])} as binary)" for name in names)
    rows = (
        frame.selectExpr("b", "cast(b as string) s")
        .selectExpr("b", f"array({columns})", f"array({counted})")
        .collect()
    )
    sets = [cuts.of_values([b"a"], STRING), cuts.below(b"a ", STRING, inclusive=True)]
    sets += [
        cuts.of_values([b"", b"a b", b"ab"], STRING),
        patterns.like_sets(b"%a_", "\\")[0],
        patterns.like_sets(b"_a%", "\\")[1],
    ]
    for position, name in enumerate(names):
        results = [(bytes(row[0]), bytes(row[1][position])) for row in rows]
        for value, result in results:
            assert not is_text(value) or result == result_of(name, value)
        for wanted in (*sets, *map(value_sets.complement, sets)):
            check(name, wanted, results)
        for result in {result for _, result in results[-len(WRONG) :]}:
            check(name, cuts.of_values([result], STRING), results[-len(WRONG) :])
    for position, name in enumerate(COUNTS):
        numbers = [(bytes(row[0]), row[2][position]) for row in rows]
        assert all(not is_text(value) or number == result_of(name, value) for value, number in numbers)
        for wanted in (cuts.of_values([number], INTEGER) for number in range(8)):
            check(name, wanted, numbers)
            check(name, cuts.complement(wanted), numbers)


@given(st.binary(max_size=8), st.lists(st.binary(max_size=8), max_size=10), st.integers(-1, 4))
def test_truncation_keeps_the_order_of_all_bytes(bound: bytes, values: list[bytes], length: int) -> None:
    """Axiom TRUNCATION, and that the intervals which it gives are exact."""
    start = interval_preimages.first_characters
    for one, other in itertools.pairwise(sorted([*values, bound])):
        assert start(one, length) <= start(other, length)
    for wanted in (cuts.above(bound, STRING, inclusive=True), cuts.of_values([bound, *values[:2]], STRING)):
        found = interval_preimages.truncation_preimage(wanted, length)
        for value in [*values, bound, bound[:-1], bound + b"\0", start(bound, length) + b"\xff"]:
            longer = [start(value + b"\0\0\0", count) for count in range(length + 1)]
            if any(len(less) < len(value) < len(more) for less, more in itertools.pairwise(longer)):
                ends = (
                    start(value + rest, length) for rest in (b"\0\0\0", b"\xff\xff\xff", bound[len(value) :])
                )
                assert found.holds(value) or not any(wanted.holds(end) for end in ends)
            else:
                assert found.holds(value) is wanted.holds(start(value, length))
        assert list(found.points) == sorted(set(found.points))


@given(
    st.binary(max_size=3),
    st.lists(st.binary(max_size=4), min_size=1, max_size=4),
    st.lists(st.binary(max_size=4)),
)
def test_constants_before_a_text_keep_intervals(
    before: bytes, bounds: list[bytes], values: list[bytes]
) -> None:
    bounds += [before + bound for bound in bounds]
    for wanted in (cuts.above(bounds[0], STRING, inclusive=False), cuts.of_values(bounds, STRING)):
        found = interval_preimages.prefix_preimage(wanted, before)
        assert all(found.holds(value) is wanted.holds(before + value) for value in [*values, *bounds])
        assert found.first or b"" not in [point for point, _ in found.points[:1]] or found.holds(b"")


def test_spark_cuts_all_bytes_as_first_bytes_say(spark) -> None:
    """Each first byte, whole, short or followed by others; past the end Spark reads what is there."""
    values = [
        bytes([first]) + rest for first in range(256) for rest in (b"", b"abcde", b"\x80\x80\x80a", b"\x80a")
    ]
    frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
    rows = frame.selectExpr(
        "b", "cast(left(cast(b as string), 1) as binary)", "cast(left(cast(b as string), 2) as binary)"
    ).collect()
    for value, one, two in rows:
        for count, found in ((1, bytes(one)), (2, bytes(two))):
            expected = interval_preimages.first_characters(bytes(value), count)
            assert found == expected or (expected == bytes(value) and found.startswith(expected))


@pytest.mark.parametrize("name", [*CALLS, "upper", "lower"])
def test_null_comes_of_null_alone(name: str) -> None:
    node = CALLS[name][0] if name in CALLS else call(Function(name))
    rule = text_rules()[node.function]
    assert rule.preimage is not None
    assert rule.preimage(node, NULL_ONLY) == (S, NULL_ONLY)
    assert rule.preimage(node, NUMBERS) == (S, NUMBERS)
    assert rule.preimage(node, NOTHING) == (S, NOTHING)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (Function.TRIM, (None,)),
        (Function.SUBSTRING, (None, 1)),
        (Function.SUBSTRING, (1, None)),
        (Function.RPAD, (None, " ")),
        (Function.RPAD, (3, None)),
        (Function.CONCAT, (None,)),
    ],
)
def test_a_null_argument_makes_every_result_null(
    function: Function, arguments: tuple[str | int | None, ...]
) -> None:
    literals = tuple(
        Literal(
            argument.encode() if isinstance(argument, str) else argument,
            STRING if function is Function.CONCAT else INTEGER,
        )
        for argument in arguments
    )
    rule = text_rules()[function]
    assert rule.preimage is not None
    node = Call(function, (S, *literals), STRING)
    assert rule.preimage(node, NUMBERS) == (S, NOTHING)
    assert rule.preimage(node, NULL_ONLY) == (S, EVERYTHING)


def test_of_arguments_that_differ_by_row_nothing_is_pulled_back() -> None:
    other = Column("n", INTEGER)
    for node in (
        Call(Function.SUBSTRING, (S, other, Literal(1, INTEGER)), STRING),
        Call(Function.TRIM, (S, Column("t", STRING)), STRING),
        Call(Function.RPAD, (S, other, Literal(b" ", STRING)), STRING),
        Call(Function.CONCAT, (S, Column("t", STRING)), STRING),
    ):
        rule = text_rules()[node.function]
        assert rule.preimage is not None
        assert rule.preimage(node, ValueSet(cuts.of_values([b"a"], STRING))) is None


def test_binary_operands_are_left_alone() -> None:
    binary = Column("s", Type(STRING.kind.BINARY))
    for node in (
        call(Function.LENGTH, operand=binary),
        Call(Function.SUBSTRING, (binary, Literal(1, INTEGER), Literal(1, INTEGER)), binary.type),
    ):
        rule = text_rules()[node.function]
        assert rule.preimage is not None
        assert rule.preimage(node, ValueSet(cuts.of_values([1], INTEGER))) is None


@pytest.mark.parametrize(
    ("node", "wanted", "kept"),
    [
        (call(Function.SUBSTRING, 1, 5000), patterns.like_sets(b"%a", "\\")[0], b"xa"),
        (call(Function.SUBSTRING, -40, 40), cuts.of_values([b"a"], STRING), b"a"),
        (call(Function.RPAD, 5000, " "), cuts.of_values([b"a".ljust(5000)], STRING), b"a"),
        (call(Function.LENGTH), cuts.of_values([5000], INTEGER), b"a" * 5000),
        (call(Function.INSTR, "b"), cuts.of_values([5000], INTEGER), b"a" * 4999 + b"b"),
        (call(Function.LPAD, 5000, " "), cuts.of_values([b"a".rjust(5000)], STRING), b"a"),
    ],
)
def test_what_takes_too_many_states_is_looser_and_loses_nothing(
    node: Call, wanted: Values, kept: bytes
) -> None:
    assert preimage(node, wanted).holds(kept)
