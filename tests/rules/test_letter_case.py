"""TEXT-2 of upper and lower case: what becomes wanted is in the set, whatever the letter and the locale."""

import itertools
import unicodedata

import pytest
from budget import examples, sampled
from hypothesis import given
from hypothesis import strategies as st
from text_meanings import faulty, texts
from text_nodes import call, preimage

from pruning.expressions.trees import Function
from pruning.expressions.types import STRING
from pruning.rules.families import patterns
from pruning.rules.sets import cuts, languages, value_sets
from pruning.rules.text import ascii_case, caseless, letter_case

CASES = (Function.UPPER, Function.LOWER)


def images(function: Function, character: str) -> tuple[str, ...] | None:
    """What a character may become; None is anything beyond ASCII."""
    found = letter_case.images_of(function, character)
    if found is None:
        return (character,)
    return tuple(image.decode() for image in found) or None


@pytest.mark.parametrize("step", sampled([1, 16], default=[16]))
def test_spark_changes_the_case_of_each_character_as_the_table_says(spark, step: int) -> None:
    """Axiom CASE over the two first planes, and all that changes beyond, alone and among letters.

    Of the second plane and of those beyond, one character of `step` is asked about.
    """
    some = f"id < {0x10000} or id % {step} = 0"
    points = f"select id from range({0x110000}) where (id < 55296 or id > 57343) and ({some})"
    texts_of = "substring(decode(unhex(concat('00000041', lpad(hex(id), 8, '0'))), 'UTF-32'), 2)"
    rows = spark.sql(
        f"select id, upper(s), lower(s), upper(concat('a', s, 'a')), lower(concat('A', s, 'A'))"
        f" from (select id, {texts_of} s from ({points}))"
        f" where id < {0x20000} or upper(s) <> s or lower(s) <> s"
        f" or upper(concat('a', s, 'a')) <> concat('A', s, 'A')"
        f" or lower(concat('A', s, 'A')) <> concat('a', s, 'a')"
    ).collect()
    assert len(rows) == 0x10000 - 0x800 + 0x10000 // step
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
        letter_case.case_preimage(function, wanted),
        ascii_case.case_preimage_over_ascii(function, wanted),
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
        found = ascii_case.case_preimage_over_ascii(function, wanted)
        assert found is not None
        if value.isascii() or not set(value) & set("Ii"):
            assert found.holds(value.encode()) is wanted.holds(changed.encode())
        else:
            assert found.holds(value.encode()) or not wanted.holds(changed.encode())


def test_a_long_pattern_under_a_case_is_decided_by_its_beginning() -> None:
    """It takes too many states for each letter to be known, and is no less tight in ASCII."""
    wanted = patterns.like_sets(b"warehouse/n______________1", "\\")[0]
    assert isinstance(wanted, languages.Language)
    assert letter_case.case_preimage(Function.LOWER, wanted) is None
    found = preimage(call(Function.LOWER), wanted)
    assert not value_sets.meets(b"Warehouse/s", b"Warehouse/t", found)
    assert value_sets.meets(b"Warehouse/n", b"Warehouse/o", found)


@pytest.mark.parametrize("literal", ["kééé", "zжжé", "ſbßſ", "жaéﬀ"])
def test_a_literal_of_a_few_letters_inside_of_a_text_is_exact(literal: str) -> None:
    """More states are explored for it than for others."""
    answer = preimage(call(Function.LOWER), patterns.like_sets(f"%{literal}%".encode(), "\\")[0])
    for value in (f"x{literal}y", literal[:-1], f"{literal[0]}a{literal[1:]}", "ﬀſ"):
        assert answer.holds(value.encode()) is (literal in value.lower()), value


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
