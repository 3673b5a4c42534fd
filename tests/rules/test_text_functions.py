"""TEXT-2: what a function of text takes into a set is said of the operand, and nothing is lost."""

import itertools
import unicodedata
from collections.abc import Callable, Sequence

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from text_meanings import LETTERS, SPACED, faulty, is_text, rpad, substring, texts

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Call, Column, Expression, Function, Literal
from pruning.expressions.types import INTEGER, STRING, Type, Value
from pruning.rules import (
    ascii_case,
    caseless,
    cuts,
    languages,
    letter_case,
    patterns,
    text,
    text_intervals,
    value_sets,
)
from pruning.rules.cuts import Cuts
from pruning.rules.outcomes import EVERYTHING, NOTHING, NULL_ONLY, NUMBERS, ValueSet
from pruning.rules.value_sets import Values

S = Column("s", STRING)
Meaning = Callable[[str], str | int]


def call(function: Function, *arguments: str | int | None, operand: Expression = S) -> Call:
    """A function of S and literals."""
    literals = (
        Literal(
            value.encode() if isinstance(value, str) else value, STRING if isinstance(value, str) else INTEGER
        )
        for value in arguments
    )
    return Call(function, (operand, *literals), INTEGER if function is Function.LENGTH else STRING)


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
    "length": (call(Function.LENGTH), len),
}
for _position, _length in itertools.product((-3, -2, -1, 0, 1, 2, 3), (-1, 0, 1, 2, 2**31 - 1)):
    CALLS[f"substring {_position} {_length}"] = (
        call(Function.SUBSTRING, _position, _length),
        lambda s, position=_position, length=_length: substring(s, position, length),
    )
VALUES = tuple(texts(SPACED, 3)) + tuple(texts(("a", " "), 5)) + tuple(texts(LETTERS, 1))
WRONG = tuple(faulty(("a", " ", "é"), 1))
# RPAD keeps what CHAR columns do not cut; so of longer texts more is in the answer than is so.
LOOSE_ABOVE = {"rpad": 3, "rpad with more": 4, "rpad with nothing": 2, "rpad to less than nothing": 0}


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


def wanted_lengths() -> st.SearchStrategy[Cuts]:
    number = st.integers(-1, 5)
    return st.one_of(
        number.map(lambda bound: cuts.below(bound, INTEGER, inclusive=True)),
        number.map(lambda bound: cuts.above(bound, INTEGER, inclusive=True)),
        st.lists(number, min_size=1, max_size=3).map(lambda chosen: cuts.of_values(chosen, INTEGER)),
    )


def preimage(node: Call, wanted: Values) -> Values:
    """What the rule says, of S."""
    rule = text_rules()[node.function]
    assert rule.preimage is not None
    found = rule.preimage(node, ValueSet(wanted))
    assert found is not None
    assert found[0] == S
    assert not found[1].null
    return found[1].cuts


def text_rules() -> dict[Function, text.Rule]:
    return {
        Function.UPPER: text.CASE,
        Function.LOWER: text.CASE,
        Function.TRIM: text.TRIM,
        Function.LTRIM: text.TRIM,
        Function.RTRIM: text.RTRIM,
        Function.SUBSTRING: text.SUBSTRING,
        Function.CONCAT: text.CONCAT,
        Function.LENGTH: text.LENGTH,
        Function.RPAD: text.RPAD,
    }


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
    wanted = data.draw(wanted_lengths() if name == "length" else wanted_sets())
    check(name, wanted, RESULTS[name])


def test_spark_says_what_the_sets_say(spark) -> None:
    """One query, with strings that are not UTF-8 among its rows."""
    values = [*texts(SPACED, 2), *texts(LETTERS, 1), *texts(("a", " ", "é"), 4), *WRONG]
    frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
    names = [name for name in CALLS if name != "length"]
    columns = ", ".join(f"cast({to_sql(CALLS[name][0])} as binary)" for name in names)
    rows = (
        frame.selectExpr("b", "cast(b as string) s")
        .selectExpr("b", f"array({columns})", "length(s)")
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
    lengths = [(bytes(row[0]), row[2]) for row in rows]
    for wanted in (cuts.of_values([length], INTEGER) for length in range(8)):
        check("length", wanted, lengths)
        check("length", cuts.complement(wanted), lengths)


@given(st.binary(max_size=8), st.lists(st.binary(max_size=8), max_size=10), st.integers(-1, 4))
def test_truncation_keeps_the_order_of_all_bytes(bound: bytes, values: list[bytes], length: int) -> None:
    """Axiom TRUNCATION, and that the intervals which it gives are exact."""
    start = text_intervals.first_characters
    for one, other in itertools.pairwise(sorted([*values, bound])):
        assert start(one, length) <= start(other, length)
    for wanted in (cuts.above(bound, STRING, inclusive=True), cuts.of_values([bound, *values[:2]], STRING)):
        found = text_intervals.starting(wanted, length)
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
        found = text_intervals.following(wanted, before)
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
            expected = text_intervals.first_characters(bytes(value), count)
            assert found == expected or (expected == bytes(value) and found.startswith(expected))


CASES = (Function.UPPER, Function.LOWER)


def images(function: Function, character: str) -> tuple[str, ...] | None:
    """What a character may become; None is anything beyond ASCII."""
    found = letter_case.images_of(function, character)
    if found is None:
        return (character,)
    return tuple(image.decode() for image in found) or None


def test_spark_changes_the_case_of_each_character_as_the_table_says(spark) -> None:
    """Axiom CASE over the two first planes, and all that changes beyond, alone and among letters."""
    points = f"select id from range({0x110000}) where id < 55296 or id > 57343"
    texts_of = "substring(decode(unhex(concat('00000041', lpad(hex(id), 8, '0'))), 'UTF-32'), 2)"
    rows = spark.sql(
        f"select id, upper(s), lower(s), upper(concat('a', s, 'a')), lower(concat('A', s, 'A'))"
        f" from (select id, {texts_of} s from ({points}))"
        f" where id < {0x20000} or upper(s) <> s or lower(s) <> s"
        f" or upper(concat('a', s, 'a')) <> concat('A', s, 'A')"
        f" or lower(concat('A', s, 'A')) <> concat('a', s, 'a')"
    ).collect()
    assert len(rows) == 0x20000 - 0x800
    for code, upper, lower, upper_inside, lower_inside in rows:
        for function, alone, inside, letter in (
            (Function.UPPER, upper, upper_inside, "A"),
            (Function.LOWER, lower, lower_inside, "a"),
        ):
            expected = images(function, chr(code))
            middle = inside.removeprefix(letter).removesuffix(letter)
            for image in (alone, middle):
                if expected is None:
                    assert image
                    assert not any(map(str.isascii, image))
                else:
                    assert image in expected
    unknown = sum(images(Function.UPPER, chr(code)) is None for code in range(0x80, 0x250))
    assert unknown < 50, "nearly all Latin letters are known"


def test_signs_never_got_a_case_and_are_known_to_have_none() -> None:
    """Of Unicode 3.2 no character of these categories has one; of letters, marks and numbers some got one."""
    old = unicodedata.ucd_3_2_0
    got = {old.category(letter) for letter in map(chr, range(0x110000)) if letter.swapcase() != letter}
    assert got >= {"Lo", "So", "Nl"}
    assert not got & (caseless.CATEGORIES)
    assert all(
        map(caseless.is_caseless, "\U0010ffff\ufffe\ufdd0\ud7ff\ue000\U0001f600\U0001faff\u9ffd-\u20bf")
    )
    for letter in "a\u019b\u10d0\u2132\u2183\u24b6\u0345\U0001f130\u0221\U00010400\ua7dd":
        assert not caseless.is_caseless(letter)


MARKED = ("\u03b1{}", "\u03b9\u0308{}", "\u1f70{}b", "\u00e9{}", "a{}", "i{}", "{}I", "J{}", "\U0001f600{}")


@pytest.mark.parametrize("locale", ["el", "tr", "lt", "az", "hy", "nl"])
def test_no_locale_makes_a_text_what_is_not_in_the_sets(spark, locale: str) -> None:
    """Greek drops accents, Turkish and Lithuanian dots: of each mark, letter and neighbour."""
    marks = [chr(code) for code in (*range(0x300, 0x370), 0x37A, 0x384, 0x385, 0x3AE, 0x3B9, 0x1DC0)]
    values = [form.format(mark) for form in MARKED for mark in marks]
    frame = spark.createDataFrame([(value,) for value in values], "s string")
    locales = spark.sparkContext._jvm.java.util.Locale
    before = locales.getDefault()
    locales.setDefault(locales.forLanguageTag(locale))
    try:
        rows = frame.selectExpr("s", "upper(s)", "lower(s)").collect()
    finally:
        locales.setDefault(before)
    changed = [
        (value, function, result)
        for value, *results in rows
        for function, result in zip(CASES, results, strict=True)
        if result != (value.upper() if function is Function.UPPER else value.lower())
    ]
    assert locale in ("hy", "nl") or changed
    by_result = {(function, result): value for value, function, result in changed}
    for (function, result), value in itertools.islice(by_result.items(), 0, None, 1 + len(by_result) // 40):
        wanted = languages.of_cuts(cuts.of_values([result.encode()], STRING))
        assert wanted is not None
        assert all(found.holds(value.encode()) for found in becoming(function, wanted)), (value, result)


def becoming(function: Function, wanted: languages.Language) -> list[languages.Language]:
    """What is said of each letter, and what of ASCII alone."""
    both = (
        letter_case.becoming(function, wanted),
        ascii_case.becoming_roughly(function, wanted),
    )
    return [found for found in both if found is not None]


@examples(0.3)
@given(st.sampled_from(CASES), st.data())
def test_many_wildcards_under_a_case_are_exact_in_ascii(function: Function, data: st.DataObject) -> None:
    """The rough answer loses nothing; of ASCII and characters without case it holds nothing else."""
    plain = st.text("abIiKz2\U0001f600\ue000\U0010ffff", max_size=5)
    value = data.draw(plain)
    shape = "".join(data.draw(st.sampled_from((letter, "_", "%"))) for letter in data.draw(plain))
    changed = value.upper() if function is Function.UPPER else value.lower()
    for sets in patterns.like_sets(shape.encode(), "\\"):
        wanted = value_sets.as_language(sets)
        assert wanted is not None
        found = ascii_case.becoming_roughly(function, wanted)
        assert found is not None
        if value.isascii() or not set(value) & set("Ii"):
            assert found.holds(value.encode()) is wanted.holds(changed.encode())
        else:
            assert found.holds(value.encode()) or not wanted.holds(changed.encode())


def test_a_long_pattern_under_a_case_is_decided_by_its_beginning() -> None:
    """It takes too many states for each letter to be known, and is no less tight in ASCII."""
    wanted = patterns.like_sets(b"warehouse/n______________1", "\\")[0]
    assert isinstance(wanted, languages.Language)
    assert letter_case.becoming(Function.LOWER, wanted) is None
    found = preimage(call(Function.LOWER), wanted)
    assert not value_sets.meets(b"Warehouse/s", b"Warehouse/t", found)
    assert value_sets.meets(b"Warehouse/n", b"Warehouse/o", found)


@examples(0.3)
@given(st.data())
def test_the_case_of_a_text_is_that_of_its_characters(data: st.DataObject) -> None:
    """Each image of each character, drawn; what they make is wanted, so the text is in the answer."""
    function = data.draw(st.sampled_from(CASES))
    letters = st.sampled_from("abIijJKKſßéÉıİσΣςﬀαάΩ\u0307\u0300ǆǅẞ\U00010400\u019b\u0221")
    drawn = data.draw(st.lists(letters, max_size=4))
    becomes = [
        data.draw(st.sampled_from(images(function, letter) or ("\u0416", "\u0416é"))) for letter in drawn
    ]
    value, result = "".join(drawn), "".join(becomes)
    if value.isascii():
        result = value.upper() if function is Function.UPPER else value.lower()
    for wanted in (
        cuts.of_values([result.encode()], STRING),
        cuts.below(result.encode(), STRING, inclusive=True),
        patterns.like_sets(b"%s%%", "\\")[result[:1] != "s"],
        patterns.like_sets(b"%S", "\\")[result[-1:] != "S"],
    ):
        assert wanted.holds(result.encode())
        assert preimage(call(function), wanted).holds(value.encode())


@examples(0.5)
@given(st.sampled_from(CASES), st.data())
def test_the_case_of_plain_texts_is_exact(function: Function, data: st.DataObject) -> None:
    """ASCII, and letters that mean one thing everywhere: in the answer if and only if wanted."""
    plain = st.text("abIiKkz _\0", max_size=4) | st.text("abzKſßéÉ\ufb00Жж", max_size=4)
    values = data.draw(st.lists(plain, min_size=1, max_size=8))
    changed = str.upper if function is Function.UPPER else str.lower
    bound = data.draw(st.sampled_from(values).map(changed) | plain)
    for wanted in (
        cuts.of_values([bound.encode()], STRING),
        cuts.complement(cuts.of_values([bound.encode()], STRING)),
        cuts.above(bound.encode(), STRING, inclusive=False),
        patterns.like_sets(b"%" + bound.replace("_", "").encode() + b"%", "\\")[0],
    ):
        found = preimage(call(function), wanted)
        for value in values:
            assert found.holds(value.encode()) is wanted.holds(changed(value).encode())


def test_spark_changes_the_case_of_faults_as_the_sets_say(spark) -> None:
    values = [*faulty(("i",), 1), *texts(tuple("iIΣ"), 2)]
    frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
    rows = frame.selectExpr(
        "b", *(f"cast({name}(cast(b as string)) as binary)" for name in ("upper", "lower"))
    ).collect()
    for value, *results in rows:
        for function, result in zip(CASES, results, strict=True):
            wanted = cuts.of_values([bytes(result)], STRING)
            assert preimage(call(function), wanted).holds(bytes(value))


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
    ],
)
def test_what_takes_too_many_states_is_looser_and_loses_nothing(
    node: Call, wanted: Values, kept: bytes
) -> None:
    assert preimage(node, wanted).holds(kept)
