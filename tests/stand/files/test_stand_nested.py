"""Columns that files hold in a struct or lists are asked; a field is pruned by its own leaf's statistics."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from mutants.small_engine.catalogue import MUTANTS
from skipproof.stand.adapters.clickhouse_sql import ClickHouse
from skipproof.stand.adapters.serving import columns_of_files, with_paths
from skipproof.stand.adapters.sql_text import Dialect
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.cures import find_signature
from skipproof.stand.hunt.examining import QuestionResult, examine, plain_form, pruned_form
from skipproof.stand.hunt.rounds import ROUND
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.hunt.state import Finding
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    SetOperation,
    Subquery,
    Term,
    Window,
)
from strategies.engines.worlds import World, worlds

A, B, RID = Column("a", "int32"), Column("b", "string"), Column("rid", "int64")
U_A = Column("u_a", "int32")
# The struct is NULL in all rows of the second block, and a field alone in others.
BLOCKS = (
    ((1, "x", 0), (None, "y", 1), (2, None, 2)),
    ((None, None, 6), (None, None, 7), (None, None, 8)),
    ((None, None, 9), (7, "z", 10), (9, None, 11)),
)
TABLE = StoredTable(
    columns=(A, B, RID), blocks=BLOCKS, layout=StoredLayout(nested=("a", "b"), decoys="before")
)
IN_LISTS = replace(TABLE, layout=StoredLayout(in_lists=("a", "b")))
OTHER = StoredTable(
    columns=(U_A, Column("u_rid", "int64")),
    blocks=(((7, 0), (None, 1)), ((1, 2),)),
    layout=StoredLayout(nested=("u_a",)),
)


def number(value: Json) -> Literal:
    return Literal(value, "int32")


def question_of(where: Term | None = None, **parts: Any) -> Question:
    source = Relation(table="t", where=where)
    return Question(**{"area": "filter", "source": source, "select": ("a", "b", "rid"), **parts})


def rows_with(question: Question, table: StoredTable = TABLE, **others: StoredTable) -> World:
    return World(tables={"t": table, **others}, settings={}, questions=(question,))


ABOVE = Call(">", (A, number(5)))
IS_NULL = Call("is null", (A,))
RIGHT = Relation(table="u", where=Call("is not null", (U_A,)))
# Every part of a question that can name a column.
QUESTIONS = (
    question_of(ABOVE),
    question_of(IS_NULL, select=("rid",)),
    question_of(Call("=", (B, Literal("x", "string"))), select=("a", "rid")),
    question_of(Call("and", (ABOVE, Call("is null", (B,)))), area="limit", limit=1, select=("b", "rid")),
    question_of(ABOVE, area="topk", order=(Key(A, descending=True), Key(RID)), limit=2),
    question_of(
        area="join",
        join=Join(kind="inner", right=RIGHT, left_key="a", right_key="u_a"),
        select=("a", "rid", "u_a", "u_rid"),
        where=Call("is not null", (A,)),
    ),
    question_of(
        area="join",
        source=Relation(table="t", where=ABOVE, distinct="a"),
        join=Join(kind="semi", right=Relation(table="u"), left_key="a", right_key="u_a"),
        select=("a",),
    ),
    question_of(
        area="join",
        source=Relation(table="t", order=(Key(A), Key(RID)), limit=2),
        join=Join(kind="left", right=RIGHT, left_key="a", right_key="u_a"),
        select=("a", "u_rid"),
    ),
    question_of(
        area="aggregate", select=(), aggregates=(Aggregate("min", A), Aggregate("count", A)), group=B
    ),
    question_of(IS_NULL, area="aggregate", select=(), aggregates=(Aggregate("count"),)),
    question_of(
        ABOVE, area="window", window=Window(function="row_number", order=(Key(A), Key(RID)), at_most=1)
    ),
    question_of(
        area="set",
        select=("a",),
        set=SetOperation(kind="union", right=RIGHT, columns=("u_a",)),
        order=(Key(A),),
    ),
    question_of(Subquery(kind="in", relation=RIGHT, column=U_A, operand=A), area="subquery"),
    question_of(Subquery(kind="exists", relation=RIGHT, column=U_A, operand=A), area="subquery"),
)
WORLD = World(tables={"t": TABLE, "u": OTHER}, settings={}, questions=QUESTIONS)
WORLD_OF_LISTS = replace(WORLD, tables={"t": IN_LISTS, "u": OTHER})


def mutant(name: str) -> SmallEngine:
    (chosen,) = (part for part in MUTANTS if part.name == name)
    return chosen.engine()


def paths(file: Path) -> list[str]:
    group = pq.ParquetFile(file).metadata.row_group(0)
    return [group.column(at).path_in_schema for at in range(group.num_columns)]


@pytest.mark.parametrize(
    ("nested", "decoys", "leaves"),
    [
        (("a", "b"), "", ["s.a", "s.b", "rid"]),
        (("b",), "", ["s.b", "a", "rid"]),
        (("a",), "before", ["a", "s.a", "b", "rid"]),
        (("a", "b"), "after", ["s.a", "s.b", "rid", "a", "b"]),
        (("a",), "dotted", ["s.a", "b", "rid", "s.a"]),
    ],
)
def test_files_hold_the_struct_and_its_decoys(
    tmp_path: Path, nested: tuple[str, ...], decoys: str, leaves: list[str]
) -> None:
    (file,) = write_stored(replace(TABLE, layout=StoredLayout(nested=nested, decoys=decoys)), tmp_path)
    assert paths(file) == leaves


def test_lists_begin_with_the_values_of_columns_and_have_others(tmp_path: Path) -> None:
    (file,) = write_stored(replace(IN_LISTS, layout=StoredLayout(in_lists=("a",))), tmp_path)
    assert paths(file) == ["a_values.list.element", "b", "rid"]
    lists = pq.read_table(file)["a_values"].to_pylist()
    assert lists == [[1], [], [2], None, [], [None, None], None, [7], [9, 1]]
    firsts = [values[0] if values else None for values in lists]
    assert firsts == IN_LISTS.cells("a")


def test_a_struct_without_values_is_null_in_runs_of_rows(tmp_path: Path) -> None:
    (file,) = write_stored(TABLE, tmp_path)
    structs = pq.read_table(file)["s"]
    assert structs.is_null().to_pylist() == [False, False, False, True, True, True, False, False, False]
    assert structs.to_pylist()[6] == {"a": None, "b": None}
    assert pq.read_table(file)["a"].to_pylist() == TABLE.cells("a")[::-1]


def test_statistics_and_filters_are_those_of_leaves(tmp_path: Path) -> None:
    layout = replace(TABLE.layout, statistics=("a",), filters=("b",))
    (file,) = write_stored(replace(TABLE, layout=layout), tmp_path)
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert [path for path, column in columns.items() if column.is_stats_set] == ["s.a"]


def test_a_form_of_files_has_paths_and_the_plain_form_has_none(tmp_path: Path) -> None:
    form = pruned_form(SmallEngine(), TABLE, tmp_path / "t", write_stored)
    assert [column.get("path") for column in form["columns"]] == [["s", "a"], ["s", "b"], None]
    assert plain_form(SmallEngine(), OTHER)["columns"][0] == {"name": "u_a", "type": "int32"}


def test_the_small_engine_is_right_and_prunes_by_fields() -> None:
    """The first two row groups have no value above 5; the decoys of the last one have none."""
    engine = SmallEngine()
    assert [outcome.contradiction for outcome in examine(engine, WORLD)] == [None] * len(QUESTIONS)
    engine = SmallEngine()
    examine(engine, rows_with(question_of(ABOVE)))
    assert engine.rules.saved["row groups"] == 2


@pytest.mark.parametrize(
    ("name", "where", "decoys"),
    [
        ("statistics of the same name", ABOVE, "before"),
        ("statistics of the dotted name", ABOVE, "dotted"),
        ("nulls of structs are left out", IS_NULL, "before"),
    ],
)
def test_mutants_of_nested_statistics_are_killed_until_stored_flat(
    name: str, where: Term, decoys: str
) -> None:
    table = replace(TABLE, layout=replace(TABLE.layout, decoys=decoys))
    engine, world = mutant(name), rows_with(question_of(where), table)
    assert [outcome.contradiction for outcome in examine(SmallEngine(), world)] == [None]
    (outcome,) = examine(engine, world)
    assert outcome.contradiction is not None
    failure = traits(world, world.questions[0], outcome.contradiction)
    assert {"fields of a struct", "columns named like fields"} <= failure
    finding = Finding(world=world, outcome=outcome, traits=failure, seed=0, examples=1, seconds=0.0)
    cures = {cure.name for cure in find_signature(engine, finding, write=write_stored).cures}
    assert "stored flat" in cures
    assert ("no columns named like fields" in cures) == (where is ABOVE)


@pytest.mark.parametrize("needed", [(), ("a",)])
def test_fields_that_a_failure_does_not_need_are_stored_flat(needed: tuple[str, ...]) -> None:
    def fails(candidate: World) -> QuestionResult | None:
        is_wrong = set(needed) <= set(candidate.tables["t"].layout.nested)
        return QuestionResult(question=candidate.questions[0]) if is_wrong else None

    *_, (least, _) = smaller_worlds(rows_with(question_of(ABOVE)), fails, tries_max=1_000)
    assert least.tables["t"].layout == StoredLayout(nested=needed)


def test_only_the_relation_of_a_table_has_paths() -> None:
    """Outside of it, its columns have their names."""
    tables = {
        "t": {"columns": [{"name": "a", "type": "int32", "path": ["s", "a"]}, RID.json() | {"name": "rid"}]}
    }
    question = question_of(ABOVE, area="topk", order=(Key(A),), select=("a", "rid")).json()
    assert with_paths(question, {"t": {"columns": [{"name": "a", "type": "int32"}]}}) is question
    changed = with_paths(question, tables)
    assert changed["order"] == question["order"]
    assert changed["source"]["where"]["of"][0] == {"column": "a", "path": ["s", "a"]}
    assert Dialect().select(changed) == (
        'SELECT "a", "rid" FROM (SELECT "s"."a" AS "a", "rid" FROM "t" WHERE ("s"."a" > 5)) AS "t" '
        'ORDER BY "a" ASC NULLS LAST'
    )


def test_clickhouse_reads_structs_and_lists_of_what_may_be_null() -> None:
    columns = [
        {"name": "a", "type": "int32", "path": ["s", "a"]},
        {"name": "rid", "type": "int64"},
        {"name": "b", "type": "string", "path": ["s", "b"]},
    ]
    assert ClickHouse().structure(columns_of_files(columns)) == (
        '"s" Tuple("a" Nullable(Int32), "b" Nullable(String)), "rid" Nullable(Int64)'
    )
    element = {"name": "a", "type": "int32", "path": ["a_values", 0]}
    assert ClickHouse().structure(columns_of_files([element])) == '"a_values" Array(Nullable(Int32))'


def test_the_small_engine_knows_nothing_of_elements_and_is_right() -> None:
    engine = SmallEngine()
    assert [outcome.contradiction for outcome in examine(engine, WORLD_OF_LISTS)] == [None] * len(QUESTIONS)
    engine = SmallEngine()
    examine(engine, rows_with(question_of(ABOVE), IN_LISTS))
    assert engine.rules.saved["row groups"] == 0


def _check(worker: EngineClient, world: World = WORLD) -> None:
    """Assert that an engine answers all questions of its areas rightly, and names fields or elements."""
    questions = tuple(
        question
        for question in QUESTIONS
        if question.area in worker.hello.areas and _is_possible(worker, question)
    )
    outcomes = examine(worker, replace(world, questions=questions))
    assert [outcome.contradiction for outcome in outcomes] == [None] * len(outcomes)
    assert [outcome.refused for outcome in outcomes if outcome.refused] == []


def _is_possible(worker: EngineClient, question: Question) -> bool:
    lacking = worker.hello.functions_missing
    shapes = {
        "distinct relation": question.source.distinct is not None,
        "limited relation": question.source.limit is not None,
        "group by": question.group is not None,
    }
    return not any(is_asked and shape in lacking for shape, is_asked in shapes.items())


ENGINES = [("duckdb", "duckdb"), ("datafusion", "datafusion"), ("polars", "polars"), ("arrow", "pyarrow")]


@pytest.mark.parametrize(("name", "package"), ENGINES)
def test_engines_answer_questions_about_fields(
    engine_worker: Callable[[str], Worker], name: str, package: str
) -> None:
    pytest.importorskip(package)
    worker = engine_worker(name)
    assert "struct field" not in worker.hello.functions_missing
    _check(worker)


@pytest.mark.parametrize(("name", "package"), ENGINES[:3])
def test_engines_answer_questions_about_first_elements(
    engine_worker: Callable[[str], Worker], name: str, package: str
) -> None:
    pytest.importorskip(package)
    worker = engine_worker(name)
    assert "list element" not in worker.hello.functions_missing
    _check(worker, WORLD_OF_LISTS)


def test_dotted_names_are_no_paths(engine_worker: Callable[[str], Worker]) -> None:
    table = replace(TABLE, layout=replace(TABLE.layout, decoys="dotted"))
    for name, package in ENGINES:
        pytest.importorskip(package)
        (outcome,) = examine(engine_worker(name), rows_with(question_of(ABOVE), table))
        assert (outcome.contradiction, outcome.refused) == (None, "")


@pytest.mark.spark
@pytest.mark.deep
def test_spark_answers_questions_about_fields_and_elements(engine_worker: Callable[[str], Worker]) -> None:
    pytest.importorskip("pyspark")
    for name in ("spark", "skipproof"):
        _check(engine_worker(name))
        _check(engine_worker(name), WORLD_OF_LISTS)


def drawn_tables(*lacking: str, examples: int = 100) -> list[StoredTable]:
    """Return the tables that are drawn for an engine, in rounds as short as a hunt's."""
    tables: list[StoredTable] = []

    def collect(world: World) -> None:
        tables.extend(world.tables.values())

    for number in range(examples // ROUND):
        draw_round = settings(
            max_examples=ROUND,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            # A table with row groups of thousands of rows is large and slow to draw, and is meant to be.
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
            ],
        )(given(worlds(Capabilities(functions_missing=frozenset(lacking)), questions_max=1))(collect))
        seed(number)(draw_round)()
    return tables


def test_about_one_table_in_eight_has_fields_if_the_engine_reads_them() -> None:
    tables = drawn_tables(examples=250)
    nested = [table.layout for table in tables if table.layout.nested]
    in_lists = [table.layout for table in tables if table.layout.in_lists]
    assert 0.06 < len(nested) / len(tables) < 0.25
    assert 0.01 < len(in_lists) / len(tables) < len(nested) / len(tables)
    assert not any(layout.in_lists for layout in nested)
    assert {layout.decoys for layout in nested} == {"", "before", "after", "dotted"}


def test_nothing_is_drawn_that_the_engine_lacks() -> None:
    assert not any(table.layout.decoys == "dotted" for table in drawn_tables("dotted name"))
    assert not any(table.layout.nested for table in drawn_tables("struct field"))
    assert not any(table.layout.in_lists for table in drawn_tables("list element"))
