"""Fields of structs, elements of arrays, values of maps: their trees and names, and what stays unknown."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from converting import converted
from pyspark.sql.types import StructType

import pruning
from pruning.expressions import types
from pruning.expressions.function_groups import ARRAY_FUNCTIONS
from pruning.expressions.names import Inside, field_name, leaf_name
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Call, Column, Element, Opaque, Quantified
from pruning.metadata.table.schema import column_types
from pruning.spark.drive import filter_technique
from pruning.spark.drive.predicates import parse
from pruning.spark.lake.nested import leaf_types, row_type

TABLE = """
    i int, s string, `odd ``name` struct<`f ``g`: int>, `r.a` int,
    r struct<a: int, B: struct<x: string, y: double>, ys: array<int>, ps: array<struct<p: int>>>,
    xs array<int>, ss array<string>, ds array<double>, xx array<array<int>>, m map<string, int>,
    mi map<int, struct<p: int, q: struct<n: string>>>, mx map<string, array<int>>,
    mm map<string, map<string, int>>, rm struct<m: map<bigint, double>>,
    ps array<struct<price: double, q: struct<n: int>, tags: array<string>>>
"""

CONSTRUCTS = {
    "r.a > 3": "(`r`.`a` > 3)",
    "`r.a` > 3": "(`r.a` > 3)",
    "R.b.X LIKE 'a%'": "startswith(`r`.`B`.`x`, 'a')",
    "r.B.y IS NULL": "(`r`.`B`.`y` IS NULL)",
    "r.B IS NULL": "(`r`.`B` IS NULL)",
    "`odd ``name`.`F ``G` = 1": "(`odd ``name`.`f ``g` = 1)",
    "exists(xs, x -> x > 3)": "exists(`xs`, x -> (x > 3))",
    "forall(xs, x -> x > i)": "forall(`xs`, x -> (x > `i`))",
    "exists(xs, x -> x IS NULL)": "exists(`xs`, x -> (x IS NULL))",
    "exists(ss, i -> upper(i) LIKE 'A%')": "exists(`ss`, x -> startswith(upper(x), 'A'))",
    "exists(ps, x -> x.PRICE > 3 AND x.q.n < 1)":
        "exists(`ps`, x -> ((x.`price` > CAST('3.0' AS double)) AND (x.`q`.`n` < 1)))",
    "exists(ps.price, x -> x > 3)": "exists(`ps`, x -> (x.`price` > CAST('3.0' AS double)))",
    "exists(ps.q.n, x -> x > 3)": "exists(`ps`, x -> (x.`q`.`n` > 3))",
    "exists(ps.q, x -> x.n > 3)": "exists(`ps`, x -> (x.`q`.`n` > 3))",
    "exists(r.ys, x -> x > 3)": "exists(`r`.`ys`, x -> (x > 3))",
    "exists(r.ps, x -> x.p > r.a)": "exists(`r`.`ps`, x -> (x.`p` > `r`.`a`))",
    "array_contains(xs, 3)": "exists(`xs`, x -> (x = 3))",
    "array_contains(ss, s)":
        "(CASE WHEN (`s` IS NULL) THEN CAST(NULL AS boolean) ELSE exists(`ss`, x -> (x = `s`)) END)",
    "array_contains(ps.price, 3.0D)": "exists(`ps`, x -> (x.`price` = CAST('3.0' AS double)))",
    "exists(xs, x -> true)": "exists(`xs`, x -> true)",
    "xs[0] = 3": "(try_element_at(`xs`, 1) = 3)",
    "get(xs, 2) = 3": "(try_element_at(`xs`, 3) = 3)",
    "element_at(ss, -1) LIKE 'a%'": "startswith(try_element_at(`ss`, (-1)), 'a')",
    "try_element_at(r.ys, i) > 3": "(try_element_at(`r`.`ys`, `i`) > 3)",
    "ps[0].price > 3": "(try_element_at(`ps`, 1).`price` > CAST('3.0' AS double))",
    "element_at(ps, 1).q.n > 3": "(try_element_at(`ps`, 1).`q`.`n` > 3)",
    "array_max(xs) > 3": "(array_max(`xs`) > 3)",
    "array_min(ps.price) > 3": "(array_min(`ps`.`price`) > CAST('3.0' AS double))",
    "arrays_overlap(xs, array(1, 2))": "exists(`xs`, x -> (x IN (1, 2)))",
    "arrays_overlap(array('a', NULL, 'b'), ss)": "exists(`ss`, x -> (x IN ('a', 'b', CAST(NULL AS string))))",
    "split(s, '-')[0] = 'abc'": "(substring_index(`s`, '-', 1) = 'abc')",
    "split(s, '\\\\.', 3)[0] = 'abc'": "(substring_index(`s`, '.', 1) = 'abc')",
    "split_part(s, '|', 1) = 'abc'": "(substring_index(`s`, '|', 1) = 'abc')",
    "m['a'] = 3": "(try_element_at(`m`, 'a') = 3)",
    "element_at(m, 'a') = 3": "(try_element_at(`m`, 'a') = 3)",
    "try_element_at(m, s) IS NULL": "(try_element_at(`m`, `s`) IS NULL)",
    "mi[1].p > 3": "(try_element_at(`mi`, 1).`p` > 3)",
    "element_at(mi, i).q.n LIKE 'a%'": "startswith(try_element_at(`mi`, `i`).`q`.`n`, 'a')",
    "rm.m[3L] < 2.0D": "(try_element_at(`rm`.`m`, 3L) < CAST('2.0' AS double))",
    "m['a'] > m['b']": "(try_element_at(`m`, 'a') > try_element_at(`m`, 'b'))",
    "NOT exists(xs, x -> x > 3)": "(NOT exists(`xs`, x -> (x > 3)))",
}  # fmt: skip

# What stays unknown, with the columns that alone decide it.
UNKNOWN: dict[str, set[str]] = {
    "exists(xx, x -> exists(x, y -> y > 3))": set(),
    "exists(xx, x -> x[0] > 3)": set(),
    "exists(xs, x -> exists(ss, y -> x > length(y)))": set(),
    "exists(xs, x -> pmod(x, 3) = 1)": set(),
    "exists(xs, x -> pmod(x + i, 3) = 1)": set(),
    "exists(ps, x -> exists(x.tags, y -> y = 'a'))": set(),
    "exists(ps, x -> array_contains(x.tags, 'a'))": set(),
    "exists(ps, x -> x.tags[0] = 'a')": set(),
    "exists(filter(xs, x -> x > 2), x -> x > 3)": {"xs"},
    "exists(transform(xs, (x, k) -> x + k), x -> x > 3)": {"xs"},
    "exists(array(i, 3), x -> x > 3)": {"i"},
    "exists(map_keys(m), x -> x = 'a')": {"m"},
    "exists(xs, x -> m['a'] > x)": {"m"},
    "mx['a'][0] = 3": {"mx"},
    "mm['a']['b'] = 3": {"mm"},
    "map_filter(m, (k, v) -> v > 3)['a'] = 4": {"m"},
    "xs[i] = 3": {"xs", "i"},
    "xx[0][0] = 3": {"xx"},
    "exists(ps, x -> x.price > ps[0].price)": {"ps"},
    "split(s, '[.]')[0] = 'abc'": {"s"},
    "split(s, '-', 1)[0] = 'abc'": {"s"},
    "split(s, '-')[1] = 'abc'": {"s"},
    "split_part(s, '-', 2) = 'abc'": {"s"},
    "size(xs) = 3": {"xs"},
    "arrays_overlap(xs, array(i, 2))": {"xs", "i"},
    "array_contains(xx, xs)": {"xx", "xs"},
}


@pytest.fixture(scope="module")
def empty(spark):
    return spark.createDataFrame(spark.sparkContext.emptyRDD(), TABLE)


@pytest.fixture(scope="module")
def trees(spark, empty):
    return converted(spark, empty, [*CONSTRUCTS, *UNKNOWN])


@pytest.mark.parametrize("sql", CONSTRUCTS)
def test_a_construct_is_the_tree_that_means_it(trees, sql):
    assert to_sql(trees[sql]) == CONSTRUCTS[sql]
    assert not any(isinstance(node, Opaque) for node in walk(trees[sql]))


@pytest.mark.parametrize("sql", UNKNOWN)
def test_other_variants_are_opaque_and_depend_on_no_variable(trees, sql):
    (found,) = (node for node in walk(trees[sql]) if isinstance(node, Opaque))
    assert {column.name for column in found.columns} == UNKNOWN[sql]


def test_elements_stand_below_their_quantifier_or_a_function_of_arrays_only(trees):
    for tree in trees.values():
        inside = {id(part) for node in walk(tree) if isinstance(node, Quantified) for part in walk(node.body)}
        inside |= {
            id(part)
            for node in walk(tree)
            if isinstance(node, Call) and node.function in ARRAY_FUNCTIONS
            for part in node.operands[:2]
        }
        assert all(id(node) in inside for node in walk(tree) if isinstance(node, Element))


def test_without_three_valued_logic_a_quantifier_is_opaque(spark, empty):
    key = "spark.sql.legacy.followThreeValuedLogicInArrayExists"
    spark.conf.set(key, "false")
    try:
        trees = converted(spark, empty, ["exists(xs, x -> x > 3)", "forall(xs, x -> x > 3)"])
    finally:
        spark.conf.unset(key)
    assert [isinstance(tree, Opaque) for tree in trees.values()] == [True, False]


def test_a_collated_field_is_of_unknown_type(spark):
    """Spark writes its type as a string, and the collation beside it."""
    if spark.version < "4":
        pytest.skip("Spark 3.5 has no collations")
    schema = "r struct<s: string collate UTF8_LCASE>, ss array<string collate UTF8_LCASE>"
    schema += ", ps array<struct<s: string collate UTF8_LCASE>>, rs struct<ss: array<string collate UNICODE>>"
    schema += ", m map<string collate UTF8_LCASE, int>, v map<int, string collate UTF8_LCASE>"
    frame = spark.createDataFrame(spark.sparkContext.emptyRDD(), schema)
    asked = [
        "r.s = 'a'",
        "exists(ss, x -> x = 'a')",
        "exists(ps, x -> x.s = 'a')",
        "exists(rs.ss, x -> x = 'a')",
        "m['a'] = 3",
        "v[1] = 'a'",
    ]
    for tree in converted(spark, frame, [*asked, "array_contains(ss, 'a')"]).values():
        assert any(isinstance(node, Opaque) for node in walk(tree))
        assert all(not node.type.has_bounds for node in walk(tree) if isinstance(node, Column | Element))


def test_a_column_that_is_called_like_a_field_is_not_taken_for_it(spark):
    frame = spark.createDataFrame(spark.sparkContext.emptyRDD(), "```r``.``a``` int, r struct<a: int>")
    trees = converted(spark, frame, ["```r``.``a``` = 3", "r.a = 3"])
    odd, field = trees.values()
    assert isinstance(next(iter(walk(odd))), Opaque) or any(isinstance(node, Opaque) for node in walk(odd))
    assert not any(isinstance(node, Column) for node in walk(odd))
    assert Column("`r`.`a`", types.INTEGER) in walk(field)


NAMES = {
    "a": types.INTEGER,
    "odd `name`.x": types.decimal(5, 2),
    field_name(("r", "a")): types.LONG,
    field_name(("r", "b", "odd `f`.g")): types.STRING,
    leaf_name("xs", ()): types.DATE,
    leaf_name("ps", ("price",)): types.DOUBLE,
    leaf_name("ps", ("q", "n")): types.INTEGER,
    leaf_name(field_name(("r", "ys")), ()): types.TIMESTAMP_NTZ,
    leaf_name(field_name(("r", "zs")), ("z",)): types.BINARY,
    leaf_name("m", (), Inside.KEYS): types.STRING,
    leaf_name("m", (), Inside.VALUES): types.DATE,
    leaf_name(field_name(("r", "m")), (), Inside.KEYS): types.LONG,
    leaf_name(field_name(("r", "m")), ("v", "w"), Inside.VALUES): types.FLOAT,
}


def test_names_of_leaves_become_a_declaration_of_their_columns(spark):
    """And what Spark makes of it has those leaves again, and no others."""
    schema = StructType.fromJson(row_type(NAMES))
    columns = {
        field["name"]: types.unknown(json.dumps(field["type"]))
        for field in json.loads(schema.json())["fields"]
        if isinstance(field["type"], dict)
    }
    flat = {name: type_ for name, type_ in NAMES.items() if not name.startswith("`")}
    assert leaf_types(flat | columns) == NAMES
    assert schema.fieldNames() == ["a", "odd `name`.x", "r", "xs", "ps", "m"]


@pytest.mark.parametrize(
    "name",
    [
        "`",
        "``",
        "`a",
        "`a`.",
        "`a`.b",
        "`a`b",
        "`a`[]b",
        "`a`.`b`[]x",
        "`a`[][]",
        "`a`[].`b`[]",
        "`a`{value}.`b`[]",
        "`a`{key}{value}",
        "`a`{other}",
        "`a`",
        "`a``",
    ],
)
def test_a_name_that_cannot_be_read_is_left_out(name):
    assert in_sql({name: types.INTEGER, "c": types.INTEGER}) == "c int"


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["a", "`a`.`b`"], "a int"),
        (["`a`.`b`", "`a`[]"], "a struct<b:int>"),
        (["`a`[]", "`a`[].`b`"], "a array<int>"),
        (["`a`[].`b`", "`a`[]", "`a`"], "a array<struct<b:int>>"),
        (["`a`.`b`.`c`", "`a`.`b`", "`a`.`d`"], "a struct<b:struct<c:int>,d:int>"),
        (["`a`.`b`", "`a`.`b`"], "a struct<b:int>"),
        (["`a`{key}", "`a`[]", "`a`{value}", "`a`.`b`"], "a map<int,int>"),
        (["`a`[]", "`a`{key}", "`a`{value}"], "a array<int>"),
        (["`a`.`b`", "`a`{key}", "`a`{value}"], "a struct<b:int>"),
        (["`a`{key}", "`a`{value}.`b`", "`a`{value}"], "a map<int,struct<b:int>>"),
        (["`a`{key}"], "a map<int,void>"),
    ],
)
def test_of_names_that_contradict_each_other_the_first_counts(names, left):
    assert in_sql({name: types.INTEGER if i < 9 else types.LONG for i, name in enumerate(names)}) == left


def in_sql(columns):
    """The declared type as Spark shows it."""
    return ", ".join(
        f"{one.name} {one.dataType.simpleString()}" for one in StructType.fromJson(row_type(columns))
    )


def test_predicates_over_declared_leaves_are_read(spark):
    found = parse("r.b.`odd ``f``.g` = 'a' AND exists(ps, x -> x.q.n > 3) AND a = 1", NAMES)
    assert {node.name for node in walk(found) if isinstance(node, Column | Element)} >= {
        field_name(("r", "b", "odd `f`.g")), leaf_name("ps", ("q", "n")), "a",
    }  # fmt: skip


@pytest.fixture(scope="module")
def nested_file(tmp_path_factory):
    """Blocks of one row each, whose arrays are NULL, empty, or hold NULL."""
    table = pa.table(
        {
            "i": pa.array(range(6), pa.int32()),
            "r": pa.array(
                [
                    {"a": 1, "s": "x"},
                    {"a": 5, "s": None},
                    None,
                    {"a": None, "s": "y"},
                    {"a": 9, "s": "z"},
                    None,
                ],
                pa.struct([("a", pa.int32()), ("s", pa.string())]),
            ),
            "xs": pa.array([[1, 2], [], None, [None], [7, None], [3]], pa.list_(pa.int32())),
            "ps": pa.array(
                [[{"p": 1.5}], [], None, [None], [{"p": None}, {"p": 8.0}], [{"p": float("nan")}]],
                pa.list_(pa.struct([("p", pa.float64())])),
            ),
            "m": pa.array(
                [[("a", 1)], [], None, [("b", None), ("c", 5)], [("a", 7), ("a", 9)], [("d", 3), ("a", 3)]],
                pa.map_(pa.string(), pa.int32()),
            ),
        }
    )
    path = tmp_path_factory.mktemp("nested") / "nested.parquet"
    # With a dictionary, and an empty one, Spark fails to read an element that is NULL.
    pq.write_table(table, path, row_group_size=1, use_dictionary=False)
    return str(path)


PREDICATES = [
    "r.a > 4", "r.a IS NULL", "r.s LIKE 'x%'", "r.a = 5 AND r.s IS NULL", "r IS NULL", "r.a <=> NULL",
    "exists(xs, x -> x > 2)", "forall(xs, x -> x > 2)", "exists(xs, x -> x IS NULL)",
    "forall(xs, x -> x IS NULL)", "array_contains(xs, 7)", "array_contains(xs, i)", "exists(xs, x -> x = i)",
    "exists(xs, x -> x > 100)", "exists(xs, x -> x > r.a)", "NOT exists(xs, x -> x < 0)",
    "exists(ps, x -> x.p > 8)", "exists(ps.p, x -> x = 1.5D)", "array_contains(ps.p, DOUBLE('NaN'))",
    "forall(ps, x -> x.p < 3)", "exists(ps, x -> x IS NULL)", "exists(xs, x -> pmod(x, 2) = 1)",
    "exists(xs, x -> true)", "forall(xs, x -> false)", "hex(r.a) = '5'",
    "try_cast(r.s AS INT) IS NULL AND hex(i) = '1'", "m['a'] = 3", "element_at(m, 'a') > 5", "m['z'] IS NULL",
    "m['a'] IS NULL", "m['a'] <=> NULL", "m['c'] <=> 5", "m['z'] <=> NULL", "m[r.s] > 1", "NOT (m['b'] < 3)",
    "m['a'] = 9", "m['a'] = 7", "element_at(m, 'd') IN (1, 3) AND m['a'] = 3", "m['b'] = 5", "m['a'] = i + 3",
]  # fmt: skip


def test_verdicts_and_rows_of_nested_columns_agree(spark, nested_file):
    """A row group that holds a match is never NONE, one that holds a row without is never ALL."""
    metadata = pruning.collect(nested_file)
    assert {"`r`.`a`", "`xs`[]", "`ps`[].`p`", "`m`{key}", "`m`{value}"} <= set(column_types(metadata))
    flags = [f"({predicate}) AS `{number}`" for number, predicate in enumerate(PREDICATES)]
    rows = spark.read.parquet(nested_file).orderBy("i").selectExpr(*flags).collect()
    wrong, decided = [], set()
    for number, predicate in enumerate(PREDICATES):
        verdicts = pruning.classify(predicate, metadata).to_pylist()
        decided |= set(verdicts)
        for row, verdict in zip(rows, verdicts, strict=True):
            if verdict == (0 if row[number] else 2):
                wrong.append((predicate, row[number], verdict))
    assert wrong == []
    # Without this, nothing could be concluded of any of them.
    assert decided == {0, 1, 2}


@pytest.mark.parametrize(
    "predicate", ["r.a > 4", "exists(xs, x -> x > 2)", "exists(ps, x -> x.p < 1)", "m['a'] > 2"]
)
def test_a_pruned_query_over_nested_columns_has_the_same_rows(spark, nested_file, predicate):
    frame = spark.read.parquet(nested_file).filter(predicate).select("i")
    assert pruning.prune(frame).collect() == frame.collect()
    (scan,) = pruning.explain(frame).scans
    assert scan.blocks_kept < scan.blocks_total


def test_nothing_inside_a_quantifier_is_evaluated_by_itself(spark, nested_file, monkeypatch):
    """The columns of its body have one value in a block, its elements have not."""
    asked = []
    evaluate = filter_technique.evaluate

    def remember(session, rows, expressions, names):
        asked.extend(expression.sql() for expression in expressions)
        return evaluate(session, rows, expressions, names)

    monkeypatch.setattr(filter_technique, "evaluate", remember)
    verdicts = pruning.classify("exists(xs, x -> hex(i) = '4' AND hex(x) = '7') OR hex(i) = '1'", nested_file)
    assert asked == ["hex(CAST(i AS BIGINT))"]
    assert verdicts.to_pylist()[1] == 2


def test_a_field_is_not_evaluated_as_a_column(spark, nested_file):
    """No row of values can be made for it; what stands beside it is still evaluated."""
    verdicts = pruning.classify("r.s RLIKE '(?=.)x' AND hex(i) = '3'", nested_file).to_pylist()
    assert [verdict == 0 for verdict in verdicts] == [True, True, True, verdicts[3] == 0, True, True]
