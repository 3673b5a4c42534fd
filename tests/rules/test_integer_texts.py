"""TEXT-6: a cast of an integer to text is pulled back to the integers whose text is wanted."""

import itertools

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.trees import Cast, Column
from pruning.expressions.types import BYTE, INTEGER, LONG, STRING, Type
from pruning.rules.families import patterns
from pruning.rules.families.casts import cast_preimage
from pruning.rules.sets import cuts, value_sets
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import integer_texts

BYTES = range(-128, 128)
TEXTS = (
    "",
    "0",
    "-0",
    "00",
    "7",
    "-7",
    "07",
    "+7",
    "12",
    "-12",
    "127",
    "128",
    "-128",
    "-129",
    " 1",
    "1e1",
    "\u0661",
)
WANTED: dict[str, Values] = {
    "LIKE 1%": patterns.like_sets(b"1%", "\\")[0],
    "NOT LIKE 1%": patterns.like_sets(b"1%", "\\")[1],
    "LIKE %2": patterns.like_sets(b"%2", "\\")[0],
    "LIKE -_": patterns.like_sets(b"-_", "\\")[0],
    "RLIKE digits": patterns.rlike_sets(b"^[0-4]+$")[0],
    "> 12": cuts.above(b"12", STRING, inclusive=False),
    "<= 12": cuts.below(b"12", STRING, inclusive=True),
    "others than some": cuts.complement(cuts.of_values([b"5", b"x"], STRING)),
    "nothing": cuts.EMPTY,
    "everything": cuts.FULL,
}


def integers(wanted: Values, type_: Type) -> Cuts:
    """The answer of the rule for a column."""
    column = Column("n", type_)
    preimage = cast_preimage(Cast(column, STRING), ValueSet(wanted, null=True))
    assert preimage is not None
    operand, values = preimage
    assert operand == column
    assert values.null
    assert isinstance(values.cuts, Cuts)
    return values.cuts


@pytest.mark.parametrize("name", WANTED)
def test_of_all_bytes_those_are_held_whose_text_is_wanted(name: str) -> None:
    held = integers(WANTED[name], BYTE)
    assert [n for n in BYTES if held.holds(n)] == [n for n in BYTES if WANTED[name].holds(str(n).encode())]


def test_only_the_text_that_a_cast_writes_is_an_integer() -> None:
    for text in TEXTS:
        held = integers(cuts.of_values([text.encode()], STRING), BYTE)
        assert [n for n in BYTES if held.holds(n)] == [n for n in BYTES if str(n) == text], text


def test_a_long_list_of_texts_is_a_list_of_integers() -> None:
    listed = cuts.of_values([str(n).encode() for n in range(0, 100_000, 7)], STRING)
    assert integers(listed, INTEGER) == cuts.of_values(range(0, 100_000, 7), INTEGER)
    assert integers(cuts.complement(listed), INTEGER) == cuts.complement(integers(listed, INTEGER))


@examples(1)
@given(st.data(), st.sampled_from((INTEGER, LONG)))
def test_no_integer_whose_text_is_wanted_is_lost(data: st.DataObject, type_: Type) -> None:
    """TEXT-6. Near the limits of the type, near powers of ten, and where the set is too large to be exact."""
    least, greatest = type_.integer_range or (0, 0)
    powers = [sign * 10**size for size in range(10) for sign in (1, -1)]
    near = st.builds(sum, st.tuples(st.sampled_from([least, greatest, *powers]), st.integers(-2, 2)))
    number = data.draw((near | st.integers(least, greatest)).filter(lambda n: least <= n <= greatest))
    text = str(number)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    pattern = "%".join((text[:start], text[end:])).encode()
    for wanted in (
        patterns.like_sets(pattern, "\\")[0],
        cuts.above(text[:end].encode(), STRING, inclusive=True),
        cuts.of_values([text.encode(), b"5"], STRING),
        value_sets.complement(cuts.of_values([b"5", b"x"], STRING)),
    ):
        assert not wanted.holds(text.encode()) or integers(wanted, type_).holds(number)


def test_a_start_of_the_text_is_exact_at_any_length() -> None:
    held = integers(patterns.like_sets(b"12%", "\\")[0], LONG)
    starts = [12 * 10**size for size in range(18)]
    assert list(itertools.chain.from_iterable((s, s + 10**size) for size, s in enumerate(starts))) == [
        place for place, _ in held.points
    ]


def test_a_set_of_too_many_intervals_is_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = patterns.like_sets(b"%23", "\\")[0]
    exact = integers(wanted, INTEGER)
    assert exact.holds(9_923)
    integer_texts._integers_in_language.cache_clear()
    monkeypatch.setattr(integer_texts, "INTERVALS_MAX", 100)
    wider = integers(wanted, INTEGER)
    integer_texts._integers_in_language.cache_clear()
    assert cuts.union(exact, wider) == wider
    assert len(wider.points) < len(exact.points)
    assert not wider.holds(7)
