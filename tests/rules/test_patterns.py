"""TEXT-1: the sets on which a predicate of text is TRUE and FALSE are what it means, on any string."""

import functools
import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_meanings import (
    ANCHORS,
    ATOMS,
    COUNTS,
    FAULTS,
    LETTERS,
    Regex,
    faulty,
    is_text,
    like,
    read,
    rlike,
    texts,
)

from pruning.expressions.trees import (
    Column,
    Contains,
    EndsWith,
    Expression,
    Like,
    RLike,
    StartsWith,
)
from pruning.expressions.types import STRING, unknown
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.table import RULES
from pruning.rules.families import patterns
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import Outcomes
from pruning.rules.text import java_patterns

S = Column("s", STRING)
SHORT = tuple(texts(LETTERS, 1)) + tuple(texts(tuple("ab\n\ré_\U0001f600"), 3))
WRONG = tuple(faulty(tuple("abé"), 1))


def outcomes(node: Expression) -> Outcomes:
    return Analysis(RULES).outcomes(node)


def check(node: Expression, meaning: Callable[[bytes], bool], values: Sequence[bytes]) -> None:
    """Each string is in the set of its outcome, and UTF-8 in no other set."""
    found = outcomes(node)
    assert found.subject == S
    true, false = found.true.cuts, found.false.cuts
    for value in values:
        holds = true.holds(value), false.holds(value)
        expected = (True, False) if meaning(value) else (False, True)
        assert holds[not expected[0]], (node, value)
        if is_text(value):
            assert holds == expected, (node, value)


@functools.cache
def like_patterns() -> st.SearchStrategy[str]:
    part = st.sampled_from(["%", "_", "a", "b", "é", "\U0001f600", "\n", "\\_", "\\%", "\\\\", "\ufffd", "."])
    return st.lists(part, max_size=6).map("".join)


@functools.cache
def regexes() -> st.SearchStrategy[Regex]:
    counted = st.builds(
        lambda atom, count: Regex(atom + count, ATOMS[atom] + count),
        st.sampled_from(list(ATOMS)),
        st.sampled_from(COUNTS),
    )
    sequences = st.lists(counted, max_size=3).map(
        lambda parts: Regex("".join(part.java for part in parts), "".join(part.python for part in parts))
    )
    groups = st.builds(
        lambda one, other, count: Regex(
            f"({one.java}|{other.java}){count}", f"(?:{one.python}|{other.python}){count}"
        ),
        sequences,
        sequences,
        st.sampled_from(COUNTS),
    )
    anchored = st.builds(
        lambda start, body, end: Regex(start + body.java + end, ANCHORS[start] + body.python + ANCHORS[end]),
        st.sampled_from(["^", ""]),
        sequences | groups,
        st.sampled_from(["$", ""]),
    )
    return st.lists(anchored, min_size=1, max_size=2).map(
        lambda each: Regex("|".join(part.java for part in each), "|".join(part.python for part in each))
    )


@given(like_patterns(), st.lists(st.sampled_from(SHORT + WRONG), max_size=40))
def test_like_agrees_with_its_meaning(pattern: str, values: list[bytes]) -> None:
    check(Like(S, pattern.encode()), like(pattern, "\\"), values)


@given(like_patterns().filter(lambda pattern: "\\" not in pattern), st.data())
def test_like_agrees_on_texts_that_nearly_match(pattern: str, data: st.DataObject) -> None:
    """Wildcards filled in, then a character more, less or other."""
    fills = st.sampled_from(["", "a", "ab", "\n", "é", "\U0010ffff"])
    filled = "".join(data.draw(fills) if part == "%" else "b" if part == "_" else part for part in pattern)
    place = data.draw(st.integers(0, len(filled)))
    other = filled[:place] + data.draw(fills) + filled[place + data.draw(st.integers(0, 1)) :]
    check(Like(S, pattern.encode()), like(pattern, "\\"), [filled.encode(), other.encode()])


@pytest.mark.parametrize(
    ("pattern", "escape"),
    [
        ("a%b", "\\"),
        ("a#%b#_##", "#"),
        ("%%", "%"),
        ("a%_b", "%"),
        ("a__%", "_"),
        ("\ufffd%", "\\"),
        ("\ufffd", "\\"),
    ],
)
def test_like_agrees_under_each_escape(pattern: str, escape: str) -> None:
    values = [*texts(("a", "b", "%", "_", "#", "\ufffd"), 4), *WRONG]
    check(Like(S, pattern.encode(), escape), like(pattern, escape), values)


@pytest.mark.parametrize(
    ("pattern", "escape"), [(b"ab\\c", "\\"), (b"ab\\", "\\"), (b"ab#c%", "#"), (b"ab\xff%", "\\")]
)
def test_of_a_malformed_pattern_only_its_start_is_used(pattern: bytes, escape: str) -> None:
    found = outcomes(Like(S, pattern, escape))
    assert not found.true.cuts.holds(b"b")
    assert found.true.cuts.holds(b"ab\xff")
    assert found.false.cuts.full


@given(regexes(), st.lists(st.sampled_from(SHORT + WRONG), max_size=30))
def test_rlike_agrees_with_its_meaning(regex: Regex, values: list[bytes]) -> None:
    assert java_patterns.parse_search(regex.java.encode()) is not None
    check(RLike(S, regex.java.encode()), rlike(regex), values)


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "a(?=b)", r"(a)\1", "a*+", r"\bA", r"\p{L}", "[a&&b]", "[a[b]]", r"\Qa\E", "a$b", "a^b", "(^a)",
     "a**", "a{2", "a{,2}", "a{3,2}", "*a", "(a", "a)", "[]", "[z-a]", r"[\w-z]", r"\x41", r"\R", "(?<n>a)",
     "(" * 99 + ")" * 99],
)  # fmt: skip
def test_of_a_pattern_that_is_not_known_nothing_is_guessed(pattern: str) -> None:
    assert java_patterns.parse_search(pattern.encode()) is None
    found = outcomes(RLike(S, pattern.encode()))
    assert found.true.cuts.full
    assert found.false.cuts.full


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("^abc(?i)d", b"abc"), ("^abc*+", b"ab"), ("^a|b(?=c)", b""), ("ab(?=c)", b""), ("^ab{2}(?=c)", b"a"),
     (r"^ab\bc", b"ab"), ("^ab\ufffd(?=c)", b"ab")],
)  # fmt: skip
def test_the_text_after_an_anchor_is_certain(pattern: str, prefix: bytes) -> None:
    assert java_patterns.certain_prefix(pattern.encode()) == prefix


@given(st.binary(max_size=4), st.lists(st.binary(max_size=6), max_size=20))
def test_parts_are_looked_for_byte_by_byte(part: bytes, values: list[bytes]) -> None:
    values = [*values, part, part + b"\0", b"\xff" + part, part[1:], part + part[:-1]]
    for node, meaning in (
        (Contains(S, part), lambda value: part in value),
        (EndsWith(S, part), lambda value: value.endswith(part)),
        (StartsWith(S, part), lambda value: value.startswith(part)),
    ):
        found = outcomes(node)
        for value in values:
            assert found.true.cuts.holds(value) is meaning(value)
            assert found.false.cuts.holds(value) is not meaning(value)


def test_contains_follows_a_part_that_repeats_itself() -> None:
    for part, value in itertools.product(texts(("a", "b"), 4), texts(("a", "b"), 7)):
        assert outcomes(Contains(S, part)).true.cuts.holds(value) is (part in value)
        assert outcomes(EndsWith(S, part)).true.cuts.holds(value) is value.endswith(part)


@pytest.mark.parametrize("pattern", [b"abc%", b"abc", b"", b"%", b"a\\_b%%"])
def test_plain_patterns_stay_intervals(pattern: bytes) -> None:
    found = outcomes(Like(S, pattern))
    assert isinstance(found.true.cuts, Cuts)
    assert isinstance(found.false.cuts, Cuts)


def test_of_texts_whose_order_is_not_that_of_bytes_nothing_is_known() -> None:
    collated = Column("s", unknown("string collate UNICODE_CI"))
    for node in (
        Like(collated, b"a%"),
        RLike(collated, b"^a"),
        StartsWith(collated, b"a"),
        EndsWith(collated, b"a"),
        Contains(collated, b"a"),
    ):
        found = outcomes(node)
        assert found.true.cuts.full
        assert found.false.cuts.full


def test_a_pattern_of_too_many_states_is_known_by_its_prefix() -> None:
    found = outcomes(Like(S, b"x%a" + b"_" * 20))
    assert found.true.cuts.holds(b"xx")
    assert not found.true.cuts.holds(b"y")
    assert found.false.cuts.full


# All that is drawn above, once more by Spark: a few hundred patterns, a few dozen strings.
LIKES = [
    "%b",
    "_",
    "__%",
    "%a_",
    "a%b%",
    "\\_%",
    "%\\%",
    "%\\\\%",
    "\ufffd%",
    "%\ufffd",
    "_\ufffd_",
    "\U0001f600%",
    "%\n%",
]
SPARK_VALUES = [
    *texts(LETTERS, 1),
    *texts(tuple("ab\n\r"), 3),
    *faulty(("a", "\ufffd"), 1),
    *texts(("\U0001f600", "é", "_"), 2),
]


def _regexes_for_spark() -> list[Regex]:
    bodies = [
        Regex(atom + count + other, ATOMS[atom] + count + ATOMS[other])
        for atom in ATOMS
        for count in ("", "*", "{2}")
        for other in ("a", ".")
    ]
    groups = [
        Regex(f"({one}|{other}*){count}", f"(?:{ATOMS[one]}|{ATOMS[other]}*){count}")
        for one, other in (("a", "é"), (".", "\r"), (r"\s", r"\n"), (r"(?:a.|)", r"\W"))
        for count in ("", "*", "+", "{2}", "{1,2}", "*?")
    ]
    return [
        Regex(start + body.java + end, ANCHORS[start] + body.python + ANCHORS[end])
        for body in bodies + groups
        for start, end in (("", ""), ("^", ""), ("", "$"), ("^", "$"))
    ]


def test_spark_says_what_the_sets_say(spark) -> None:
    """One query: each pattern a column, each string a row."""
    nodes: list[Expression] = [Like(S, pattern.encode()) for pattern in LIKES]
    nodes += [RLike(S, regex.java.encode()) for regex in _regexes_for_spark()]
    frame = spark.createDataFrame([(value,) for value in map(bytearray, SPARK_VALUES)], "b binary")
    frame = frame.selectExpr("b", "cast(b as string) s")
    operators = ["LIKE" if isinstance(node, Like) else "RLIKE" for node in nodes]
    answers = frame.selectExpr(
        "b",
        "array("
        + ", ".join(
            f"s {operator} {_quoted(node.pattern)}" for operator, node in zip(operators, nodes, strict=True)
        )
        + ")",
    ).collect()
    assert len(answers) == len(SPARK_VALUES)
    for node, column in zip(nodes, range(len(nodes)), strict=True):
        said = {bytes(row[0]): row[1][column] for row in answers}
        check(node, said.__getitem__, SPARK_VALUES)


def _quoted(pattern: bytes) -> str:
    return "'" + pattern.decode().replace("\\", "\\\\").replace("'", "\\'") + "'"


def test_the_meaning_reads_faults_as_java_does(spark) -> None:
    """At least one U+FFFD for a fault, right after the characters before it (axiom REPLACEMENT)."""
    values = [b"a" + fault + b"b" for fault in FAULTS]
    frame = spark.createDataFrame([(bytearray(value),) for value in values], "b binary")
    rows = frame.selectExpr("b", "cast(b as string) RLIKE '^a\ufffd'").collect()
    assert all(row[1] for row in rows)
    assert all(read(value).startswith("a\ufffd") for value in values)
    assert patterns.like_sets("a\ufffd%b".encode(), "\\")[0].holds(values[0])
