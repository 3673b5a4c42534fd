"""FLATTEN gives a row for each element of a list and each member of an object, and no others."""

from collections.abc import Mapping

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from maintaining import TABLES, evaluated, maintained, query, whole

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.sql.definitions import BoundTable, SqlDefinition, bind_definition
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.types import OBJECT, Field
from pruning.errors import InputError

TEXT = "SELECT f.key, f.index, f.value FROM e, LATERAL FLATTEN(input => payload) f"
QUERY = query(TEXT)
NAMES = st.sampled_from(("", "a", "b", "a:b", "s1:a", "0")) | st.text(max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from((-0.0, 1.5)) | NAMES


def variants(leaves: st.SearchStrategy[Cell]) -> st.SearchStrategy[Cell]:
    """Lists and objects of what leaves are; shrinks to short ones."""
    return st.lists(leaves, max_size=3).map(tuple) | st.dictionaries(NAMES, leaves, max_size=3)


def rebuilt(rows: list[Row]) -> Cell:
    """The list or object that was flattened; None if there are no rows."""
    if rows and rows[0][0] is None:
        assert [index for _, index, _ in rows] == list(range(len(rows)))
        return tuple(value for _, _, value in rows)
    assert all(index is None for _, index, _ in rows)
    return {key: value for key, _, value in rows} or None


@examples(2)
@given(variants(SCALARS | variants(SCALARS)) | SCALARS)
def test_a_value_is_rebuilt_from_its_rows(value: Cell) -> None:
    """A list by its ordinals, an object by its names; what has no elements has no rows."""
    found = BagBackend().full(QUERY, whole({"e": {"1": (1, None, value)}}))
    rows = sorted(found.values(), key=lambda row: (row[1] or 0, repr(row)))
    event(type(value).__name__)
    assert exact_key(rebuilt(rows)) == exact_key(
        value if isinstance(value, (tuple, Mapping)) and value else None
    )


@examples(1)
@given(st.lists(st.lists(variants(SCALARS) | SCALARS, max_size=3), min_size=2, max_size=3))
def test_flattened_values_are_maintained(steps: list[list[Cell]]) -> None:
    """Names tell the rows of one object apart, under changes too."""
    versions = [{"e": {str(row): (1, None, cell) for row, cell in enumerate(cells)}} for cells in steps]
    maintained(TEXT, *versions)
    maintained(TEXT.replace("payload)", "payload, outer => true)"), *versions)


def test_the_members_of_an_object_are_rows() -> None:
    """They were none at all, without a word."""
    payload = {"a": 1, "b": (2, 3)}
    assert evaluated(TEXT, {"e": {"1": (1, None, payload)}}) == [("a", None, 1), ("b", None, (2, 3))]


def test_an_object_without_members_stays_in_an_outer_flatten() -> None:
    text = "SELECT k, f.key FROM e, LATERAL FLATTEN(input => payload, outer => true) f"
    assert evaluated(text, {"e": {"1": (1, None, {}), "2": (2, None, {"a": 0})}}) == [(1, None), (2, "a")]


def test_a_column_of_objects_is_flattened() -> None:
    table = BoundTable("O", (Field("o", OBJECT),))
    found = bind_definition(SqlDefinition("SELECT * FROM o, TABLE(FLATTEN(o)) f"), {"o": table}.get)
    assert [field.name for field in found.fields] == ["o", "key", "index", "value"]


@pytest.mark.parametrize(("column", "kind"), [("k", "INTEGER"), ("x", "TEXT")])
def test_a_column_without_lists_or_objects_is_refused(column: str, kind: str) -> None:
    """It gave no rows, whatever it had."""
    assert {column} <= {field.name for field in TABLES["l"].fields}
    with pytest.raises(InputError, match=f"FLATTEN takes an ARRAY, an OBJECT or a VARIANT, not {kind}"):
        query(f"SELECT f.value FROM l, LATERAL FLATTEN(input => {column}) f")
