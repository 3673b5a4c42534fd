"""DML-6: no argument of a wrong type is planned with; it is refused."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from pruning.dml import Fate, MergeClause, Then, When, plan_delete, plan_merge, plan_update, plans
from pruning.errors import InputError
from pruning.expressions import types
from pruning.metadata.table.schema import block_schema
from pruning.techniques.dml import rewriting
from pruning.techniques.dml.rewriting import Clause

BOUNDS = {"null_count": 0, "min": 1, "max": 9, "min_exact": True, "max_exact": True}
METADATA = pa.Table.from_pylist(
    [
        {"file": "f", "row_group": place, "row_offset": 9 * place, "row_count": 9, "columns": {"a": BOUNDS}}
        for place in range(3)
    ],
    schema=block_schema({"a": types.LONG}),
)
PAIRS = (
    (When.MATCHED, Then.UPDATE),
    (When.MATCHED, Then.DELETE),
    (When.NOT_MATCHED, Then.INSERT),
    (When.NOT_MATCHED_BY_SOURCE, Then.UPDATE),
    (When.NOT_MATCHED_BY_SOURCE, Then.DELETE),
)
SPELLINGS = [
    spelling
    for member in (*When, *Then, *Fate)
    for spelling in (member.name, member.name.lower(), str(member.value))
]
# What callers hand over: the words, numbers and containers that look like what is meant, and anything.
LOOSE = (
    st.sampled_from(
        [*SPELLINGS, *When, *Then, *Fate, "yes", "no", "true", "", "a", b"a", object(), When, Then]
    )
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.lists(st.integers(0, 9) | st.text(max_size=2), max_size=2)
    | st.dictionaries(st.sampled_from(["a", "b", 5]), st.lists(st.integers(0, 9), max_size=2), max_size=1)
)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_missing(value: Any) -> bool:
    """Text is left to the tests that have Spark."""
    return value is None


def is_keys(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and set(value) <= {"a"})


def is_values(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, int) for one in value)


# What of a MERGE is replaced, and whether a value may stand there.
SPOTS: dict[str, Callable[[Any], bool]] = {
    "when": lambda value: isinstance(value, When),
    "then": lambda value: isinstance(value, Then),
    "condition": is_missing,
    "more": is_flag,
    "clause": lambda value: False,
    "clauses": lambda value: False,
    "keys": is_keys,
    "values": is_values,
    "null_safe": is_flag,
    "on": is_missing,
    "on_more": is_flag,
    "where": lambda value: False,
}


@st.composite
def merges(draw: st.DrawFn) -> tuple[str, Any, Callable[[], Any]]:
    """A MERGE with any value in the place of one argument: the argument, the value, and the planning."""
    spot = draw(st.sampled_from(sorted(SPOTS)))
    wrong = draw(LOOSE.filter(lambda value: spot not in ("condition", "on") or not isinstance(value, str)))
    pairs = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=3))
    at = draw(st.integers(0, len(pairs) - 1))
    flags = {name: draw(st.booleans()) for name in ("more", "null_safe", "on_more")}

    def clause(place: int) -> Any:
        fields = {"when": pairs[place][0], "then": pairs[place][1], "condition": None, "more": flags["more"]}
        if place == at and spot in fields:
            fields[spot] = wrong
        return wrong if place == at and spot == "clause" else MergeClause(**fields)

    def plan() -> Any:
        arguments = {
            "where": METADATA,
            "clauses": [clause(place) for place in range(len(pairs))],
            "keys": {"a": wrong if spot == "values" else [3]},
            "null_safe": flags["null_safe"],
            "on": None,
            "on_more": flags["on_more"],
        }
        return plan_merge(**arguments | ({spot: wrong} if spot in arguments else {}))

    return spot, wrong, plan


def is_right(drawn: tuple[str, Any, Callable[[], Any]]) -> bool:
    """Return whether a wrong value is refused, and anything else gives a plan or one sentence."""
    spot, value, plan = drawn
    try:
        plan()
    except InputError as refusal:
        event(f"{spot} refused")
        return "\n" not in str(refusal)
    # Whatever else a wrong argument raises is no answer to the user.
    except Exception:
        return False
    event(f"{spot} planned")
    return SPOTS[spot](value)


@examples(6)
@given(merges())
def test_a_merge_is_never_planned_with_a_wrong_argument(drawn: tuple[str, Any, Callable[[], Any]]) -> None:
    assert is_right(drawn)


def test_an_enumeration_is_no_array_of_keys() -> None:
    clause = MergeClause(when=When.MATCHED, then=Then.UPDATE)
    with pytest.raises(InputError, match=r"The values of the key `a` are no bigint"):
        plan_merge(METADATA, [clause], keys={"a": When})


@pytest.mark.parametrize("spot", SPOTS)
def test_wrong_values_reach_each_argument(spot: str) -> None:
    find(merges(), lambda drawn: drawn[0] == spot and not SPOTS[spot](drawn[1]), settings=unshrunk(2_000))


@pytest.mark.parametrize("name", ["check_choice", "check_flag"])
def test_the_property_kills_a_planner_that_checks_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (plans, rewriting):
        monkeypatch.setattr(module, name, lambda *arguments: None, raising=False)
    find(merges(), lambda drawn: not is_right(drawn), settings=unshrunk(2_000))


def test_words_are_no_clause() -> None:
    """They were taken for a clause about no row: the plan was "untouched"."""
    with pytest.raises(InputError, match=r"^when is 'matched'; give one of When\.MATCHED, "):
        MergeClause(when="matched", then="update")
    with pytest.raises(InputError, match=r"^then is 'UPDATE'; give one of Then\.UPDATE, "):
        Clause(when=When.MATCHED, then="UPDATE")


@pytest.mark.parametrize("value", ["deleted", 7, None, When.MATCHED])
def test_a_fate_is_no_word(value: Any) -> None:
    clauses = [MergeClause(when=When.MATCHED, then=Then.DELETE)]
    with pytest.raises(InputError, match=r"^fate is "):
        plan_merge(METADATA, clauses).files_of(value)


@pytest.mark.parametrize("plan", [plan_delete, plan_update])
@pytest.mark.parametrize("predicate", [None, 5, b"a = 1", ["a = 1"]])
def test_a_predicate_is_text(plan: Callable[..., Any], predicate: Any) -> None:
    with pytest.raises(InputError, match="give text"):
        plan(predicate, METADATA)
