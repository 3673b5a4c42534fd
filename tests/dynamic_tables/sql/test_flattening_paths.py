"""FLATTEN with PATH, RECURSIVE and their columns: its rows are those of DuckDB's trees of JSON."""

import json
from collections.abc import Mapping
from typing import Any

import duckdb
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from maintaining import TABLES, deltas, evaluated, maintained, query

from dynamic_tables.bags import operators
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.paths import extended_path, path_steps
from mutants.sql.flattening import MUTANTS
from pruning.errors import InputError

COLUMNS = "f.key, f.path, f.index, f.value, f.this"
RECURSIVE = f"SELECT {COLUMNS} FROM e, LATERAL FLATTEN(input => payload, recursive => true) f"
PLAIN = f"SELECT {COLUMNS} FROM e, LATERAL FLATTEN(input => payload) f"
NAMES = st.sampled_from(("a", "b", "c_1"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(("", "x")),
    lambda parts: st.lists(parts, max_size=3).map(tuple) | st.dictionaries(NAMES, parts, max_size=3),
    max_leaves=8,
)


def as_json(cell: Cell) -> str:
    """A cell as JSON."""
    return json.dumps(cell, sort_keys=True)


def rows_of(text: str, payload: Cell) -> list[tuple[Any, ...]]:
    """The rows of a query over one value, with values as JSON."""
    rows = evaluated(text, {"e": {"1": (1, None, payload)}})
    return sorted([(*row[:3], *map(as_json, row[3:])) for row in rows], key=repr)


def rows_in_duckdb(function: str, payload: Cell) -> list[tuple[Any, ...]]:
    """The rows of a tree in DuckDB, without its root, in the columns of FLATTEN."""
    connection = duckdb.connect()
    text = f"SELECT key, fullkey, path, id, parent, value FROM {function}(?)"
    nodes = connection.execute(text, [as_json(payload)]).fetchall()
    values = {fullkey: as_json(json.loads(value)) for _, fullkey, _, _, _, value in nodes}
    values["$"] = as_json(payload)
    rows = []
    for key, fullkey, path, *_ in nodes:
        if fullkey != "$":
            is_element = fullkey.endswith("]")
            name, index = (None, int(key)) if is_element else (key, None)
            rows.append((name, fullkey[1:].removeprefix("."), index, values[fullkey], values[path]))
    return sorted(rows, key=repr)


@examples(2)
@given(VALUES)
def test_the_rows_of_a_tree_are_those_of_duckdb(payload: Cell) -> None:
    """Each list and object inside, at any depth, gives its elements and members."""
    event(type(payload).__name__)
    for text, function in ((RECURSIVE, "json_tree"), (PLAIN, "json_each")):
        theirs = rows_in_duckdb(function, payload) if isinstance(payload, (tuple, Mapping)) else []
        assert rows_of(text, payload) == theirs


@examples(1)
@given(st.lists(st.lists(VALUES, max_size=3), min_size=2, max_size=3))
def test_trees_are_maintained(steps: list[list[Cell]]) -> None:
    """Ids tell all elements of a row apart."""
    versions = [{"e": {str(row): (1, None, cell) for row, cell in enumerate(cells)}} for cells in steps]
    for text in (RECURSIVE, PLAIN, RECURSIVE.replace("true)", "true, outer => true, path => 'a')")):
        deltas(text, *versions)


TREE = {"a": 1, "b": (77, 88), "c": {"d": "X"}}
# The examples of Snowflake's documentation of FLATTEN.
DOCUMENTED = {
    "input => payload, path => 'b'": [
        (None, "b[0]", 0, "77", "[77, 88]"),
        (None, "b[1]", 1, "88", "[77, 88]"),
    ],
    "input => payload": [
        ("a", "a", None, "1", as_json(TREE)),
        ("b", "b", None, "[77, 88]", as_json(TREE)),
        ("c", "c", None, '{"d": "X"}', as_json(TREE)),
    ],
    "input => payload, recursive => true, mode => 'both'": [
        ("a", "a", None, "1", as_json(TREE)),
        ("b", "b", None, "[77, 88]", as_json(TREE)),
        (None, "b[0]", 0, "77", "[77, 88]"),
        (None, "b[1]", 1, "88", "[77, 88]"),
        ("c", "c", None, '{"d": "X"}', as_json(TREE)),
        ("d", "c.d", None, '"X"', '{"d": "X"}'),
    ],
    "payload:c": [("d", "d", None, '"X"', '{"d": "X"}')],
    "input => payload, path => 'e', outer => true": [(None, "e", None, "null", "null")],
    "input => array_construct(), outer => true": [(None, "", None, "null", "[]")],
}


def assert_documented(arguments: str) -> None:
    """FLATTEN with these arguments gives the documented rows, however it is written."""
    for written in (f"LATERAL FLATTEN({arguments})", f"TABLE(FLATTEN({arguments}))"):
        rows = rows_of(f"SELECT {COLUMNS} FROM e, {written} f", TREE)
        assert rows == sorted(DOCUMENTED[arguments], key=repr)


@pytest.mark.parametrize("arguments", DOCUMENTED)
def test_documented_examples_give_the_rows_that_they_say(arguments: str) -> None:
    assert_documented(arguments)


def assert_all() -> None:
    """The documented rows are given, and trees are maintained."""
    for arguments in DOCUMENTED:
        assert_documented(arguments)
    cells: list[Cell] = [{"a": ((1,), (1,))}, {"a": ((1,),)}, {"a": (2, (1,))}]
    deltas(RECURSIVE, *[{"e": {"1": (1, None, cell)}} for cell in cells])


@pytest.mark.parametrize("mistake", MUTANTS)
def test_documented_examples_and_changes_kill_each_mutant(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_all()
    monkeypatch.setattr(operators, "element_finder", MUTANTS[mistake])
    with pytest.raises(AssertionError):
        assert_all()


def test_elements_of_several_depths_have_ids_of_their_own() -> None:
    """A member whose name looks like a path is not the member that the path leads to."""
    payload = {"a": {"b": 1}, "a.b": 2, "a/s1:b": 3, "0": (4,), "": {"": 5}}
    rows = maintained(RECURSIVE, {}, {"e": {"1": (1, None, payload)}})
    assert len(rows) == 8
    assert ("a.b", "['a.b']") in {row[:2] for row in rows}


def test_columns_of_the_path_are_computed_only_if_they_are_read() -> None:
    """They change no fingerprint of queries that do not read them."""
    relation = query("SELECT f.value FROM e, LATERAL FLATTEN(input => payload, path => 'a') f").relation
    assert "detailed=False" in repr(relation)
    assert "detailed=True" in repr(query(PLAIN).relation)
    assert [field.name for field in query("SELECT * FROM e, LATERAL FLATTEN(items) f").fields][3:] == [
        "key",
        "index",
        "value",
    ]


@pytest.mark.parametrize("path", ["a", "a.b[0]['c d'].e", "[0][1]", "['x y']"])
def test_a_path_is_rebuilt_from_its_steps(path: str) -> None:
    text = ""
    for step in path_steps(path):
        text = extended_path(text, step)
    assert text == path


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("input => payload, path => 'a..b'", "'a..b' is no path: write one like a.b"),
        ("input => payload, path => '.a'", "'.a' is no path"),
        ("input => payload, path => 'a b'", "'a b' is no path"),
        ("input => payload, path => k", "PATH of FLATTEN is a text in quotes, not k"),
        ("input => payload, recursive => 1", "RECURSIVE of FLATTEN is TRUE or FALSE, not 1"),
        ("input => payload, outer => 'yes'", "OUTER of FLATTEN is TRUE or FALSE, not 'yes'"),
    ],
)
def test_arguments_without_such_a_value_are_refused(arguments: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT f.value FROM e, LATERAL FLATTEN({arguments}) f")


@pytest.mark.parametrize(
    ("item", "construct"),
    [
        ("LATERAL FLATTEN(input => payload, mode => 'OBJECT') f", r"FLATTEN\(MODE\)"),
        ("LATERAL FLATTEN(input => payload) f (a, b, c, d, e, f)", "a list of the columns of FLATTEN"),
        ("LATERAL FLATTEN(outer => true) f", r"FLATTEN\(without INPUT\)"),
        ("LATERAL FLATTEN(payload, true) f", "TRUE in FLATTEN"),
    ],
)
def test_other_arguments_are_refused_by_name(item: str, construct: str) -> None:
    assert "payload" in {field.name for field in TABLES["e"].fields}
    with pytest.raises(Refused, match=f"^{construct}"):
        query(f"SELECT f.value FROM e, {item}")
