"""Fields of structs and elements of arrays: which leaves are columns, under what name, and what is known."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewriting import BINARY, CHUNKS, LIST, META, ROW_GROUPS, rewrite

from oracles.answers.frames import settings as spark_settings
from pruning.expressions import types
from pruning.expressions.trees import Coalesce, Column, Compare, Comparison, IsNull, Literal
from pruning.metadata.footers.nested import DEPTH_MAX, leaves
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.schema import column_types, flat_columns
from pruning.metadata.views.lanes import Blocks
from pruning.rules.program.operations import Aspect, Input, Program
from pruning.rules.sets.truths import Match
from pruning.spark.drive.range_filters import range_filters
from pruning.verdicts.classification import classify_blocks

INT32, REQUIRED, OPTIONAL, REPEATED, LIST_TYPE, MAP_TYPE = 1, 0, 1, 2, 3, 1


def _facts(path: Path) -> dict[str, dict[str, Any]]:
    return collect(path, cache=False).to_pylist()[0]["columns"]


def _write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def _node(name: str, repetition: int, *children: Any, annotation: int | None = None) -> list[Any]:
    """A schema element and those below it, parents first; one without children is an int."""
    element = SimpleNamespace(
        name=name.encode(),
        type=None if children else INT32,
        repetition_type=repetition,
        num_children=len(children) or None,
        converted_type=annotation,
        logicalType=None,
    )
    return [element, *(below for child in children for below in child)]


def _names(*columns: list[Any]) -> list[str]:
    root = SimpleNamespace(num_children=len(columns))
    return [leaf.name for leaf in leaves([root, *(node for column in columns for node in column)], [])[1]]


ITEM = _node("item", OPTIONAL)
PAIR = (_node("k", REQUIRED), _node("v", OPTIONAL))


MAP_LEAVES = ["`m`{key}", "`m`{value}"]


def _map(*repeated: Any, annotation: int = MAP_TYPE) -> list[Any]:
    return _node("m", OPTIONAL, *repeated, annotation=annotation)


def _list(*repeated: Any, name: str = "xs") -> list[Any]:
    return _node(name, OPTIONAL, *repeated, annotation=LIST_TYPE)


# The forms of lists that Parquet's specification knows, and what is around them.
SCHEMAS = [
    ("a flat column", [_node("x", OPTIONAL)], ["x"]),
    ("a struct", [_node("s", OPTIONAL, _node("x", OPTIONAL), _node("y", REQUIRED))], ["`s`.`x`", "`s`.`y`"]),
    (
        "a struct in a struct",
        [_node("s", OPTIONAL, _node("t", OPTIONAL, *PAIR))],
        ["`s`.`t`.`k`", "`s`.`t`.`v`"],
    ),
    ("a standard list", [_list(_node("list", REPEATED, ITEM))], ["`xs`[]"]),
    ("a list around a bag", [_list(_node("bag", REPEATED, _node("array_element", OPTIONAL)))], ["`xs`[]"]),
    (
        "a list of structs",
        [_list(_node("list", REPEATED, _node("e", OPTIONAL, *PAIR)))],
        ["`xs`[].`k`", "`xs`[].`v`"],
    ),
    ("a repeated primitive in a list", [_list(_node("element", REPEATED))], ["`xs`[]"]),
    ("a repeated pair in a list", [_list(_node("element", REPEATED, *PAIR))], ["`xs`[].`k`", "`xs`[].`v`"]),
    ("a repeated group named array", [_list(_node("array", REPEATED, ITEM))], ["`xs`[].`item`"]),
    ("a repeated group named after the list", [_list(_node("xs_tuple", REPEATED, ITEM))], ["`xs`[].`item`"]),
    ("a repeated group named after another", [_list(_node("ys_tuple", REPEATED, ITEM))], ["`xs`[]"]),
    ("a list in a struct", [_node("s", OPTIONAL, _list(_node("list", REPEATED, ITEM)))], ["`s`.`xs`[]"]),
    ("a list in a list", [_list(_node("list", REPEATED, _list(_node("list", REPEATED, ITEM))))], []),
    (
        "an old list in a list",
        [_list(_node("array", REPEATED, _node("array", REPEATED), annotation=LIST_TYPE))],
        [],
    ),
    ("a repeated field in a repeated group", [_list(_node("list", REPEATED, _node("e", REPEATED)))], []),
    ("a list in a struct in a list", [_list(_node("list", REPEATED, _node("e", OPTIONAL, _list(ITEM))))], []),
    ("a list without repetition", [_list(_node("list", OPTIONAL, ITEM))], []),
    ("a list of two columns", [_list(_node("a", REPEATED), _node("b", REPEATED))], []),
    ("a map", [_map(_node("key_value", REPEATED, *PAIR))], MAP_LEAVES),
    ("a map of the older annotation", [_map(_node("map", REPEATED, *PAIR), annotation=2)], MAP_LEAVES),
    ("a map of annotated entries", [_map(_node("map", REPEATED, *PAIR, annotation=2))], MAP_LEAVES),
    ("a map of entries that are lists", [_map(_node("map", REPEATED, *PAIR, annotation=LIST_TYPE))], []),
    ("a map with names the other way round", [_map(_node("e", REPEATED, *PAIR[::-1]))], MAP_LEAVES),
    (
        "a map of structs",
        [_map(_node("e", REPEATED, PAIR[0], _node("v", OPTIONAL, *PAIR)))],
        ["`m`{key}", "`m`{value}.`k`", "`m`{value}.`v`"],
    ),
    (
        "a map in a struct",
        [_node("s", OPTIONAL, _map(_node("e", REPEATED, *PAIR)))],
        ["`s`.`m`{key}", "`s`.`m`{value}"],
    ),
    (
        "a map of lists",
        [_map(_node("e", REPEATED, PAIR[0], _list(_node("l", REPEATED, ITEM))))],
        ["`m`{key}"],
    ),
    ("a map of maps", [_map(_node("e", REPEATED, PAIR[0], _map(_node("e", REPEATED, *PAIR))))], ["`m`{key}"]),
    ("a list of maps", [_list(_node("list", REPEATED, _map(_node("e", REPEATED, *PAIR))))], []),
    ("a map of one column", [_map(_node("e", REPEATED, PAIR[0]))], []),
    ("a map of three columns", [_map(_node("e", REPEATED, *PAIR, ITEM))], []),
    ("a map without repetition", [_map(_node("e", OPTIONAL, *PAIR))], []),
    ("a map of two groups", [_map(*(_node(name, REPEATED, *PAIR) for name in "de"))], []),
    ("a map of repeated values", [_map(_node("e", REPEATED, PAIR[0], _node("v", REPEATED)))], ["`m`{key}"]),
    ("a map whose keys are named like its values", [_map(_node("e", REPEATED, PAIR[0], PAIR[0]))], []),
    ("a group of pairs that is no map", [_node("m", OPTIONAL, _node("key_value", REPEATED, *PAIR))], []),
    ("a repeated column", [_node("x", REPEATED)], []),
    ("a repeated group", [_node("s", REPEATED, *PAIR)], []),
    (
        "a repeated column in a struct",
        [_node("s", OPTIONAL, _node("x", REPEATED), _node("y", OPTIONAL))],
        ["`s`.`y`"],
    ),
    ("names that need quotes", [_node("a.b", OPTIONAL, _node("c`d", OPTIONAL))], ["`a.b`.`c``d`"]),
    ("a top-level name like a path", [_node("`s`.`x`", OPTIONAL), _node("y", OPTIONAL)], ["y"]),
    ("a struct named like a path", [_node("`s", OPTIONAL, _node("x", OPTIONAL))], []),
    (
        "a field twice",
        [_node("s", OPTIONAL, _node("x", OPTIONAL), _node("x", OPTIONAL), _node("y", OPTIONAL))],
        ["`s`.`y`"],
    ),
    (
        "a struct twice",
        [_node("s", OPTIONAL, _node("x", OPTIONAL)), _node("s", OPTIONAL, _node("y", OPTIONAL))],
        [],
    ),
    (
        "a struct and a column of one name",
        [_node("s", OPTIONAL, _node("x", OPTIONAL)), _node("s", OPTIONAL)],
        [],
    ),
    (
        "a map and a column of one name",
        [_node("s", OPTIONAL, *PAIR, annotation=MAP_TYPE), _node("s", OPTIONAL)],
        [],
    ),
]


@pytest.mark.parametrize(("form", "schema", "names"), SCHEMAS, ids=[case[0] for case in SCHEMAS])
def test_a_leaf_is_a_column_where_its_meaning_is_certain(
    form: str, schema: list[list[Any]], names: list[str]
) -> None:
    """By Parquet's rules for lists, as Spark applies them; every other leaf is left out."""
    assert _names(*schema) == names, form


def test_names_of_different_leaves_are_never_the_same() -> None:
    """All forms beside each other, the columns that hold them renamed apart."""
    columns = []
    for number, (_, schema, _) in enumerate(SCHEMAS):
        for top in schema:
            top[0].name = b"%d" % number + top[0].name
            columns.append(top)
    names = _names(*columns)
    assert len(names) == len(set(names)) > len(SCHEMAS) / 2


def test_a_deep_schema_is_read_without_recursion() -> None:
    """A damaged footer may claim any depth."""
    for depth, count in ((DEPTH_MAX - 1, 2), (DEPTH_MAX, 1), (50_000, 1)):
        above = [_node("s", OPTIONAL, [])[0] for _ in range(depth)]
        assert len(_names([*above, *_node("x", OPTIONAL)], _node("y", OPTIONAL))) == count


def test_elements_of_an_array_have_bounds_and_no_counts(tmp_path: Path) -> None:
    """Bounds hold over all elements; NULL, empty and missing elements are counted by nobody's rule."""
    lists = pa.array([[3, None], [], None, [5, 9]], pa.list_(pa.int32()))
    prices = pa.array([[{"price": 1.5}], [{"price": None}, {"price": 7.0}], None, []])
    facts = _facts(_write(tmp_path / "x.parquet", xs=lists, items=prices))
    assert list(facts) == ["`xs`[]", "`items`[].`price`"]
    for name, bounds in (("`xs`[]", (3, 9)), ("`items`[].`price`", (1.5, 7.0))):
        assert (facts[name]["min"], facts[name]["max"]) == bounds
        assert facts[name]["null_count"] is facts[name]["nan_count"] is None


def test_programs_learn_of_elements_that_anything_may_be(tmp_path: Path) -> None:
    """NULL, NaN or a value: no count of elements excludes it, even where the schema excludes NULL."""
    element = pa.field("element", pa.float64(), nullable=False)
    path = _write(tmp_path / "x.parquet", xs=pa.array([[1.0], []], pa.list_(element)))
    lanes = Blocks.of(collect(path, cache=False)).inputs(Program((), ()), 0, 1)
    assert all(
        lanes[Input(aspect, "`xs`[]", types.DOUBLE)].to_pylist() == [True]
        for aspect in (Aspect.MAY_NULL, Aspect.MAY_NAN, Aspect.MAY_VALUE)
    )


def test_a_field_is_null_where_its_struct_is(tmp_path: Path) -> None:
    """A required field of an optional struct is NULL in the rows without the struct."""
    field = pa.field("x", pa.int32(), nullable=False)
    rows = pa.array([{"x": 1}, None, {"x": 3}], pa.struct([field]))
    path = _write(tmp_path / "x.parquet", s=rows)
    facts = _facts(path)["`s`.`x`"]
    assert (facts["null_count"], facts["min"], facts["max"]) == (1, 1, 3)
    is_null = IsNull(Column("`s`.`x`", types.INTEGER))
    assert classify_blocks(is_null, collect(path, cache=False)).to_pylist() == [Match.SOME]


def test_a_required_field_of_required_structs_is_never_null(tmp_path: Path) -> None:
    """Whatever the writer counts."""
    inner = pa.field("t", pa.struct([pa.field("x", pa.int32(), nullable=False)]), nullable=False)
    schema = pa.schema([pa.field("s", pa.struct([inner]), nullable=False)])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"s": [{"t": {"x": 1}}]}, schema=schema), path)
    rewrite(path, lambda footer: footer.update({6: (BINARY, b"another writer")}))
    assert _facts(path)["`s`.`t`.`x`"]["null_count"] == 0


def test_a_field_with_the_name_of_a_column_is_another_column(tmp_path: Path) -> None:
    """`x`, `s.x`, and a column whose own name has a point in it."""
    path = _write(tmp_path / "x.parquet", **{"x": [1], "s": [{"x": 2}], "s.x": [3]})
    table = collect(path, cache=False)
    assert {name: facts["min"] for name, facts in _facts(path).items()} == {"x": 1, "`s`.`x`": 2, "s.x": 3}
    assert list(flat_columns(column_types(table))) == ["x", "s.x"]


def test_a_field_is_no_column_to_filter_a_scan_by(tmp_path: Path) -> None:
    """Its name is not one that a filter may spell, though its ranges would skip."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [1, 2], "s": [{"x": 1}, {"x": 2}]}), path, row_group_size=1)
    for name, filters in (("x", 1), ("`s`.`x`", 0)):
        # Spark does not push this itself.
        value = Coalesce((Column(name, types.LONG), Literal(5, types.LONG)))
        is_one = Compare(Comparison.EQUAL, value, Literal(1, types.LONG))
        blocks, keep = collect(path, cache=False), pa.array([True, False])
        assert len(range_filters(is_one, blocks, keep, {name: types.LONG})) == filters


def test_a_nested_column_that_row_groups_contradict_is_left_out(tmp_path: Path) -> None:
    """The rest of the file stays known."""
    path = _write(tmp_path / "x.parquet", a=[1], s=[{"x": 2, "y": 3}])

    def rename(footer: dict[int, Any]) -> None:
        chunk = footer[ROW_GROUPS][1][1][0][CHUNKS][1][1][1]
        chunk[META][1][3] = (LIST, (BINARY, [b"s", b"z"]))

    assert list(_facts(rewrite(path, rename))) == ["a", "`s`.`y`"]


INNER = st.fixed_dictionaries({"i": st.none() | st.integers(-9, 9), "f": st.none() | st.floats(width=32)})
OUTER = st.fixed_dictionaries({"x": st.none() | st.text(max_size=2), "t": st.none() | INNER})
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "s": st.none() | OUTER,
            "xs": st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
            "ps": st.none() | st.lists(st.none() | INNER, max_size=3),
        }
    ),
    min_size=1,
    max_size=8,
)
PAIR_TYPE = pa.struct([("i", pa.int32()), ("f", pa.float32())])
TYPE = pa.schema(
    [
        ("s", pa.struct([("x", pa.string()), ("t", PAIR_TYPE)])),
        ("xs", pa.list_(pa.int32())),
        ("ps", pa.list_(PAIR_TYPE)),
    ]
)


def _get(value: Any, *names: str) -> Any:
    for name in names:
        value = None if value is None else value[name]
    return value


def _values(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What each leaf holds, by its name: a value a row, or the elements of all rows."""
    return {
        "`s`.`x`": [_get(row, "s", "x") for row in rows],
        "`s`.`t`.`i`": [_get(row, "s", "t", "i") for row in rows],
        "`s`.`t`.`f`": [_get(row, "s", "t", "f") for row in rows],
        "`xs`[]": [one for row in rows for one in row["xs"] or ()],
        "`ps`[].`i`": [_get(one, "i") for row in rows for one in row["ps"] or ()],
        "`ps`[].`f`": [_get(one, "f") for row in rows for one in row["ps"] or ()],
    }


@pytest.mark.parametrize("dictionary", [True, False])
@given(rows=ROWS)
def test_what_is_known_of_nested_leaves_encloses_their_values(
    tmp_path_factory: pytest.TempPathFactory, dictionary: bool, rows: list[dict[str, Any]]
) -> None:
    """Bounds enclose each value but NULL and NaN, and NULLs of fields are those of all their parents."""
    path = tmp_path_factory.getbasetemp() / "nested.parquet"
    pq.write_table(pa.Table.from_pylist(rows, TYPE), path, use_dictionary=dictionary)
    facts, values = _facts(path), _values(rows)
    assert facts.keys() == values.keys()
    for name, held in values.items():
        present = [one for one in held if one is not None and one == one]
        lower, upper = facts[name]["min"], facts[name]["max"]
        assert all((lower is None or lower <= one) and (upper is None or one <= upper) for one in present)
        assert facts[name]["null_count"] == (None if "[]" in name else held.count(None))


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_names_bounds_and_counts_of_files_that_spark_wrote(spark: Any, tmp_path: Path, legacy: str) -> None:
    """In the forms of lists of today and of old, arrays with and without NULL among them."""
    path = str(tmp_path / "spark")
    with spark_settings(spark, {"spark.sql.parquet.writeLegacyFormat": legacy}):
        spark.sql(
            "SELECT named_struct('x', id, 'y', named_struct('z', 'v')) s, array(id, id + 5) xs, "
            "array(id, CAST(NULL AS bigint)) ns, array(named_struct('p', id)) one, "
            "array(named_struct('p', id, 'q', -id)) two, IF(id = 1, named_struct('w', id), NULL) o "
            "FROM range(3)"
        ).coalesce(1).write.parquet(path)
    facts = {name: (one["min"], one["max"], one["null_count"]) for name, one in _facts(Path(path)).items()}
    assert facts == {
        "`s`.`x`": (0, 2, 0),
        "`s`.`y`.`z`": ("v", "v", 0),
        "`xs`[]": (0, 7, None),
        "`ns`[]": (0, 2, None),
        "`one`[].`p`": (0, 2, None),
        "`two`[].`p`": (0, 2, None),
        "`two`[].`q`": (-2, 0, None),
        "`o`.`w`": (1, 1, 2),
    }
    read = spark.read.parquet(path)
    for name, sql in (("`o`.`w`", "o.w"), ("`s`.`x`", "s.x")):
        for value in range(-1, 4):
            equal = Compare(Comparison.EQUAL, Column(name, types.LONG), Literal(value, types.LONG))
            (verdict,) = classify_blocks(equal, collect(path, cache=False)).to_pylist()
            matching = read.where(f"{sql} = {value}").count()
            assert verdict != Match.NONE or matching == 0
            assert (verdict == Match.NONE) is not (facts[name][0] <= value <= facts[name][1])


def test_names_that_differ_in_case_alone_are_refused_by_spark(spark: Any, tmp_path: Path) -> None:
    """So that exact names are enough: where Spark could mistake one field for another, it reads neither."""
    path = str(_write(tmp_path / "x.parquet", s=[{"x": 1, "X": 2}]))
    with pytest.raises(Exception, match=r"(?i)ambiguous|duplicate|already exists"):
        spark.read.parquet(path).where("s.x = 1").count()
    with pytest.raises(Exception, match=r"(?i)duplicate"):
        spark.read.schema("s struct<x: bigint>").parquet(path).where("s.x = 1").count()
