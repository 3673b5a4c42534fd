"""chDB is asked by ClickHouse's SQL; the statements are tested without it, and the answers where it is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from needs import needs_package

from skipproof.stand.adapters.clickhouse_sql import ClickHouse
from skipproof.stand.adapters.on_chdb import FILTER_WORD, OnChDB
from skipproof.stand.adapters.on_chdb_tables import SCHEMA_OPTIONS, OnChDBTables
from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.hunt.examining import plain_form, pruned_form
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import Worker
from strategies.engines.engine_tables import ORC, StoredLayout, StoredTable
from strategies.engines.engine_values import TYPES, values
from strategies.engines.files import write_stored
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Key,
    Literal,
    Question,
    Relation,
    SetOperation,
    Subquery,
    Term,
)

A, B, RID = Column("a", "int32"), Column("b", "string"), Column("rid", "int64")
IS_ONE = Call("=", (A, Literal(1, "int32")))
IN_U = Subquery(kind="in", relation=Relation(table="u"), column=Column("u_a", "int32"), operand=A)
TABLE: dict[str, Any] = {
    "columns": [
        {"name": "a", "type": "int32"},
        {"name": "b", "type": "string"},
        {"name": "rid", "type": "int64"},
    ],
    "blocks": [[[1, "x", 0], [None, "y", 1]], [], [[2, "x", 2]]],
}


def setup_text(adapter: OnChDB, table: dict[str, Any], **settings: str) -> str:
    """The text that makes a table."""
    return adapter.setup({"t": table}, settings)[0]


def where(condition: Term | None, select: tuple[str, ...] = ("rid",)) -> Question:
    """A question for the rows that satisfy a condition."""
    return Question(area="filter", source=Relation(table="t", where=condition), select=select)


@pytest.mark.parametrize(
    ("value", "type_", "literal", "cell"),
    [
        ("a\\'b", "string", r"'a\\\'b'", r"'a\\\'b'"),
        ("0aff", "binary", "unhex('0aff')", r"'\x0a\xff'"),
        (-(2**63), "int64", "-9223372036854775808", "-9223372036854775808"),
        ("-NaN", "float64", "nan", "-nan"),
        ("-Infinity", "float32", "-inf", "-inf"),
        (0.1, "float64", "0.1", "0.1"),
        (-1, "date", "CAST('1969-12-31' AS Date32)", "'1969-12-31'"),
        ("1.50", "decimal(9,2)", "CAST('1.50' AS DECIMAL(9, 2))", "'1.50'"),
        (None, "int8", "CAST(NULL AS Nullable(Int8))", "NULL"),
        (
            -1,
            "timestamp(us,UTC)",
            "CAST('1969-12-31 23:59:59.999999' AS DateTime64(6, 'UTC'))",
            "'1969-12-31 23:59:59.999999'",
        ),
    ],
)
def test_a_value_is_a_literal_and_a_cell_of_values(value: Any, type_: str, literal: str, cell: str) -> None:
    """Cells have the sign of NaN; a literal has none, as in the other dialects."""
    assert ClickHouse().literal(value, type_) == literal
    assert ClickHouse().cell(value, type_) == cell


def test_constants_of_choices_have_their_type() -> None:
    """A constant alone has the least type that holds it."""
    term = Call("if", (IS_ONE, A, Literal(7, "int32")), "int32")
    assert ClickHouse().term(term.json()) == 'if(("a" = 1), "a", CAST(7 AS Int32))'


def test_a_length_is_signed_so_that_choices_have_a_type() -> None:
    """An UInt64 and an Int32 would be a Variant."""
    length = Call("length", (B,), "int32")
    assert ClickHouse().term(length.json()) == 'CAST(lengthUTF8("b") AS Nullable(Int64))'


def test_an_integer_is_cast_to_the_nearest_float() -> None:
    """An accurate cast would be NULL of an integer that is no float."""
    to_float, to_byte = (Call("try cast", (A,), type_).json() for type_ in ("float64", "int8"))
    assert ClickHouse().term(to_float) == 'CAST("a" AS Nullable(Float64))'
    assert ClickHouse().term(to_byte) == "accurateCastOrNull(\"a\", 'Int8')"


def test_the_start_of_a_day_may_be_before_1970() -> None:
    assert "SET enable_extended_results_for_datetime_functions = 1" in OnChDB().start()
    assert "SET enable_extended_results_for_datetime_functions = 1" in OnChDBTables().start()


def test_an_order_is_of_a_whole_set_operation() -> None:
    question = Question(
        area="set",
        source=Relation(table="t"),
        select=("a",),
        set=SetOperation(kind="union", all=False, right=Relation(table="u"), columns=("u_a",)),
        order=(Key(A),),
    )
    assert ClickHouse().select(question.json()) == (
        'SELECT * FROM (SELECT "a" FROM "t" UNION DISTINCT SELECT "u_a" FROM "u") AS "t" '
        'ORDER BY "a" ASC NULLS LAST'
    )


def test_an_aggregate_of_no_rows_is_null() -> None:
    """A plain column is Nullable, unless a table says otherwise; an expression may not be."""
    sql = ClickHouse()
    of_column = Aggregate("min", A).json()
    of_term = Aggregate("min", Call("coalesce", (A, A), "int32")).json()
    assert sql.aggregate(of_column) == 'min("a")'
    assert sql.aggregate(of_term) == 'minOrNull(coalesce("a", "a"))'
    assert sql.aggregate(Aggregate("count", A).json()) == 'count("a")'
    sql.null_for_empty = True
    assert sql.aggregate(of_column) == 'minOrNull("a")'


def test_bytes_are_answered_as_digits() -> None:
    """Texts and bytes are one type, and only choices return bytes."""
    sql = ClickHouse()
    sql.binary_columns = frozenset({"b"})
    either = Call("coalesce", (Column("b", "binary"), Literal("00", "binary")), "binary")
    question = Question(
        area="aggregate",
        source=Relation(table="t"),
        group=either,
        aggregates=(Aggregate("max", Column("b", "binary")), Aggregate("count", Column("b", "binary"))),
    )
    text = sql.select(question.json())
    assert text.startswith("SELECT lower(hex(coalesce(")
    assert 'lower(hex(max("b"))), count("b") FROM' in text
    assert sql.answer_column("a") == '"a"'


def test_a_condition_with_a_subquery_never_follows_prewhere() -> None:
    adapter = OnChDBTables()
    adapter.setup({"t": TABLE, "u": TABLE | {"statistics": False}}, {FILTER_WORD: "PREWHERE"})
    assert 'FROM "t" PREWHERE ("a" = 1)' in adapter.ask(where(IS_ONE).json())
    assert 'FROM "t" WHERE ("a" IN' in adapter.ask(where(IN_U).json())
    assert adapter.sql.filter_words == {"t": "PREWHERE"}


def test_a_table_has_a_part_for_each_block_with_rows() -> None:
    text = setup_text(OnChDBTables(), TABLE)
    assert text.count("INSERT INTO") == 2
    assert "ENGINE = MergeTree ORDER BY (a)" in text
    plain = setup_text(OnChDBTables(), TABLE | {"statistics": False})
    assert (plain.count("INSERT INTO"), plain.count("ENGINE = Memory")) == (1, 1)


def test_options_of_a_table_become_its_key_its_indexes_and_its_parts() -> None:
    layout = {"order_by": "tuple()", "partition_by": "a", "minmax": "b", "merged": True, "wide": True}
    text = setup_text(OnChDBTables(), TABLE | {"layout": layout})
    assert "INDEX index_0 b TYPE minmax GRANULARITY 1)" in text
    assert "PARTITION BY a ORDER BY tuple() SETTINGS" in text
    assert "min_bytes_for_wide_part = 0" in text
    assert 'OPTIMIZE TABLE "t" FINAL' in text


@pytest.mark.parametrize(
    ("kind", "column", "is_made"),
    [
        ("tokenbf_v1(64, 2, 0)", "b", True),
        ("tokenbf_v1(64, 2, 0)", "a", False),
        ("bloom_filter", "a", True),
        ("bloom_filter", "d", False),
        ("minmax", "d", True),
    ],
)
def test_an_index_is_made_of_columns_that_may_have_it(kind: str, column: str, is_made: bool) -> None:
    """Filters of tokens need texts that are never NULL; bloom filters have no dates and decimals."""
    columns = [*TABLE["columns"][:2], {"name": "d", "type": "date"}, TABLE["columns"][2]]
    blocks = [[[1, "x", 0, 0], [None, "y", 0, 1]]]
    table = {"columns": columns, "blocks": blocks, "layout": {kind: column}}
    assert ("INDEX index_0" in setup_text(OnChDBTables(), table)) is is_made


def test_a_column_has_one_text_index_at_most() -> None:
    """ClickHouse refuses two, though the plain form has none."""
    kinds = ("text(tokenizer = splitByNonAlpha)", "text(tokenizer = ngrams(2))", "minmax")
    text = setup_text(OnChDBTables(), TABLE | {"layout": dict.fromkeys(kinds, "b")})
    assert [kind in text for kind in kinds] == [True, False, True]


def test_columns_without_null_are_required_only_if_it_is_asked_for() -> None:
    adapter = OnChDBTables()
    assert '"b" Nullable(String)' in setup_text(adapter, TABLE)
    assert adapter.sql.null_for_empty is False
    text = setup_text(adapter, TABLE | {"layout": {"required": True}})
    assert '"a" Nullable(Int32), "b" String, "rid" Int64' in text
    assert adapter.sql.null_for_empty is True


def test_a_table_in_memory_has_the_types_of_the_table_of_parts() -> None:
    """Else the two would differ by NaN, which IS NOT DISTINCT FROM finds only where a column may be NULL."""
    table = StoredTable(
        columns=(Column("a", "float32"), RID),
        blocks=((("NaN", 0), (1.0, 1)),),
        layout=StoredLayout(format_options={"required": True, "wide": True}),
    )
    engine = SmallEngine()
    engine.hello = replace(engine.hello, tables="own", schema_options=frozenset(SCHEMA_OPTIONS))
    plain = plain_form(engine, table)
    assert plain["layout"] == {"required": True}
    assert '("a" Float32, "rid" Int64) ENGINE = Memory' in setup_text(OnChDBTables(), plain)
    engine.hello = replace(engine.hello, schema_options=frozenset())
    assert "Nullable(Float32)" in setup_text(OnChDBTables(), plain_form(engine, table))


def test_a_change_is_undone_by_making_the_table_again() -> None:
    adapter = OnChDBTables()
    setup_text(adapter, TABLE)
    change = Question(area="dml", source=Relation(table="t", where=IS_ONE), select=("a",), change="delete")
    text = adapter.ask(change.json())
    assert 'DELETE FROM "t" WHERE ("a" = 1)' in text
    assert text.index("finally:") < text.index('DROP TABLE "t"') < text.index("CREATE TABLE")
    setup_text(adapter, TABLE | {"statistics": False})
    assert 'ALTER TABLE "t" DELETE WHERE' in adapter.ask(change.json())


@pytest.mark.parametrize(("column", "is_key"), [("a", True), ("b", False)])
def test_a_key_is_never_updated(column: str, is_key: bool) -> None:
    adapter = OnChDBTables()
    setup_text(adapter, TABLE)
    to = Literal(5, "int32") if column == "a" else Literal("z", "string")
    change = Question(area="dml", source=Relation(table="t"), select=("a",), change=column, to=to)
    if is_key:
        with pytest.raises(Unsupported, match="keys"):
            adapter.ask(change.json())
    else:
        assert 'ALTER TABLE "t" UPDATE "b" = \\\'z\\\' WHERE true' in adapter.ask(change.json())


def test_files_are_a_table_of_their_format() -> None:
    table = {"columns": TABLE["columns"], "files": ["/d/0.orc", "/d/1.orc"], "format": "orc"}
    text = setup_text(OnChDB(), table)
    assert "AS file(\\'/d/{0.orc,1.orc}\\', ORC, " in text
    with pytest.raises(Unsupported, match="directories"):
        setup_text(OnChDB(), table | {"partitions": [{"a": "1"}, {"a": "2"}]})


def test_settings_of_the_last_request_are_reset() -> None:
    adapter = OnChDB()
    assert "SET max_threads = 4" in setup_text(adapter, TABLE, max_threads="4")
    assert "SET max_threads = DEFAULT" in setup_text(adapter, TABLE)
    assert "max_threads" not in setup_text(adapter, TABLE)


def test_constants_of_prepared_questions_are_typed_parameters() -> None:
    """Texts of parameters have escapes; NULL and bytes are no parameters."""
    condition = Call(
        "or",
        (
            Call("in", (B, Literal("a\\b\t\n", "string"), Literal(None, "string"))),
            Call("=", (A, Literal(1, "int32"))),
            Call("=", (Column("c", "float64"), Literal("-NaN", "float64"))),
            Call("=", (Column("d", "boolean"), Literal(True, "boolean"))),
            Call("=", (Column("e", "binary"), Literal("00", "binary"))),
            Call("=", (Column("f", "date"), Literal(-1, "date"))),
        ),
    )
    text = OnChDB().ask(replace(where(condition), prepared=True).json())
    assert "IN ({p1:String}, CAST(NULL AS Nullable(String)))" in text
    assert "= {p3:Int32}" in text
    assert "= unhex(" in text
    values = {"p1": "a\\\\b\\t\\n", "p3": "1", "p4": "nan", "p5": "true", "p7": "1969-12-31"}
    assert text.endswith(f", params={values!r})\n")


@pytest.mark.parametrize(
    ("engine", "writer"), [("chdb", "pyarrow"), ("chdb", ORC), ("chdb-tables", "pyarrow")]
)
@pytest.mark.parametrize("type_", TYPES)
def test_every_value_comes_back(
    engine_worker: Callable[[str], Worker], tmp_path: Path, engine: str, writer: str, type_: str
) -> None:
    """From files of either format, from a table of parts and from memory alike."""
    needs_package("chdb")
    worker = engine_worker(engine)
    cells = [*values(type_), None]
    table = StoredTable(
        columns=(Column("a", type_), RID),
        blocks=(tuple((cell, row) for row, cell in enumerate(cells)),),
        layout=StoredLayout(writer=writer),
    )
    forms = [pruned_form(worker, table, tmp_path / "t", write_stored), plain_form(worker, table)]
    expected = [_as_answered(cell, type_) for cell in cells]
    for form in forms:
        reply = worker.ask(tables={"t": form}, settings={}, questions=[where(None, ("a", "rid")).json()])
        rows = sorted(reply["answers"][0]["rows"], key=lambda row: row[1])
        assert [row[0] for row in rows] == expected


def _as_answered(cell: Any, type_: str) -> Any:
    """A value as an answer has it: microseconds, rounded down, and NaN without a sign."""
    if cell is None or cell == "-NaN":
        return "NaN" if cell else None
    times = {"timestamp(ms)": 1_000, "timestamp(ns)": 1}.get(type_)
    if type_ == "timestamp(ns)":
        return cell // 1_000
    return cell * times if times else cell
