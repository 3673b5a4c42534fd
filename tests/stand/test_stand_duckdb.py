"""The adapters of DuckDB, whose releases differ in conversions to Python, in files and in their tables."""

import subprocess
import sys
from typing import Any

import pytest

from mutants.stand.row_runs import splits_any_text
from skipproof.stand.adapters import serving
from skipproof.stand.adapters.serving import Adapter, Unsupported, to_json
from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Worker
from strategies.engines.engine_values import TYPES, values
from strategies.engines.questions import Aggregate, Call, Column, Join, Key, Literal, Question, Relation

on_duckdb = pytest.importorskip("skipproof.stand.adapters.on_duckdb", reason="duckdb is not installed")
on_duckdb_tables = pytest.importorskip("skipproof.stand.adapters.on_duckdb_tables")

Z, RID = Column("z", "timestamp(us,UTC)"), Column("rid", "int64")
FAR = 253_402_300_799_999_999
TABLES = {
    prefix or "t": {
        "columns": [{"name": prefix + column.name, "type": column.type} for column in (Z, RID)],
        "blocks": [[[-1, 0], [None, 1]], [[0, 2], [FAR, 3]]],
    }
    for prefix in ("", "u")
}
LEFT = Relation(table="t")
ASKED = {
    "cells": (Question(area="filter", source=LEFT, select=("z",)), [[-1], [None], [0], [FAR]]),
    "filter": (
        Question(
            area="filter",
            source=Relation(table="t", where=Call(">=", (Z, Literal(0, Z.type)))),
            select=("z", "rid"),
        ),
        [[0, 2], [FAR, 3]],
    ),
    "top": (
        Question(
            area="topk", source=LEFT, select=("z", "rid"), order=(Key(Z, True, True), Key(RID)), limit=2
        ),
        [[None, 1], [FAR, 3]],
    ),
    "aggregate": (
        Question(
            area="aggregate",
            source=LEFT,
            aggregates=(Aggregate("min", Z), Aggregate("max", Z), Aggregate("count", Z)),
        ),
        [[-1, FAR, 3]],
    ),
    "groups": (
        Question(
            area="aggregate", source=LEFT, aggregates=(Aggregate("count"), Aggregate("min", Z)), group=Z
        ),
        [[-1, 1, -1], [0, 1, 0], [FAR, 1, FAR], [None, 1, None]],
    ),
    "join": (
        Question(
            area="join",
            source=LEFT,
            join=Join(kind="inner", right=Relation(table="u"), left_key="z", right_key="uz"),
            select=("z", "uz", "urid"),
        ),
        [[-1, -1, 0], [0, 0, 2], [FAR, FAR, 3]],
    ),
}


def answers(adapter: Adapter, questions: list[Question]) -> list[Any]:
    """Run an adapter's texts and return their answers."""
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    text, names = adapter.setup(TABLES, {})
    names = {**base, **names}
    exec(text, names)
    found = []
    for question in questions:
        exec(adapter.ask(question.json()), names)
        found.append([[to_json(cell) for cell in row] for row in names["answer"]])
    return found


@pytest.mark.parametrize("gives_moments", [True, False])
@pytest.mark.parametrize("adapter", [on_duckdb.OnDuckDB, on_duckdb_tables.OnDuckDBTables])
def test_moments_are_answered_with_and_without_what_python_needs_for_them(
    adapter, gives_moments, monkeypatch
):
    if gives_moments:
        pytest.importorskip("pytz", reason="early releases need it")
    monkeypatch.setattr(on_duckdb, "_gives_moments", lambda: gives_moments)
    asked = [question for question, _ in ASKED.values()]
    found = dict(zip(ASKED, answers(adapter(), asked), strict=True))
    for name, (question, rows) in ASKED.items():
        left = found[name] if question.order or name == "cells" else sorted(found[name], key=repr)
        assert left == (rows if question.order or name == "cells" else sorted(rows, key=repr)), name


def test_a_change_of_moments_shows_them(monkeypatch):
    monkeypatch.setattr(on_duckdb, "_gives_moments", lambda: False)
    change = Question(
        area="dml",
        source=Relation(table="t", where=Call("is null", (Z,))),
        select=("z", "rid"),
        change="z",
        to=Literal(7, Z.type),
    )
    (found,) = answers(on_duckdb_tables.OnDuckDBTables(), [change])
    assert sorted(found) == [[-1, 0], [0, 2], [7, 1], [FAR, 3]]


COUNTED = Question(area="aggregate", source=LEFT, aggregates=(Aggregate("count"),))


@pytest.mark.parametrize("adapter", [on_duckdb.OnDuckDB, on_duckdb_tables.OnDuckDBTables])
def test_a_connection_that_answers_nothing_more_is_opened_anew(adapter, monkeypatch):
    class Broken(adapter):
        def ask(self, question):
            return "con.close()\n" * (question["area"] == "limit") + super().ask(question)

    ending = Question(area="limit", source=LEFT, select=("rid",), limit=1)
    asked = Broken()
    base: dict[str, Any] = {}
    exec(asked.start(), base)
    request = {"tables": TABLES, "questions": [one.json() for one in (COUNTED, ending, COUNTED)]}
    for _ in range(2):
        first, failed, last = serving._answer_request(asked, request, base)["answers"]
        assert first == last == {"rows": [[4]]}
        assert failed["kind"] == "failed"


@pytest.mark.parametrize("adapter", [on_duckdb.OnDuckDB, on_duckdb_tables.OnDuckDBTables])
def test_tables_with_long_runs_have_all_rows_in_their_order(adapter, monkeypatch):
    values = [["x", -0.0], [None, 0.0], ["y", None]]
    counts = (on_duckdb._RUN_MIN - 1, on_duckdb._RUN_MIN, 2_048)
    rows = [row for row, count in zip(values, counts, strict=True) for _ in range(count)]
    numbered = [[*row, number] for number, row in enumerate(rows)]
    columns = [{"name": name, "type": type_} for name, type_ in (("a", "string"), ("b", "float64"))]
    table = {
        "columns": [*columns, {"name": "rid", "type": "int64"}],
        "blocks": [numbered[:-9], numbered[-9:]],
    }
    monkeypatch.setitem(TABLES, "t", table)
    question = Question(area="filter", source=LEFT, select=("a", "b", "rid"))
    assert repr(answers(adapter(), [question])) == repr([numbered])


def stored_texts(type_: str, cells: tuple[Any, ...]) -> list[Any]:
    """The values of a column that the adapter made, as texts; of floats with their signs."""
    rows = [[cell, number] for number, cell in enumerate(cells)]
    table = {"columns": [{"name": "a", "type": type_}, {"name": "rid", "type": "int64"}], "blocks": [rows]}
    con = on_duckdb.duckdb.connect()
    con.execute("SET timezone = 'UTC'")
    for statement in on_duckdb.OnDuckDB().table_statements("t", table):
        con.execute(statement)
    sign = "signbit(a)" if type_.startswith("float") else "false"
    return con.execute(f"SELECT CAST(a AS VARCHAR), {sign}, rid FROM t ORDER BY rid").fetchall()


@pytest.mark.parametrize("type_", TYPES)
def test_many_rows_are_stored_like_few(type_, monkeypatch):
    """Many are split from one text for each column."""
    special = {"float32": ("-NaN",), "float64": ("-NaN",), "string": ("it's", "")}.get(type_, ())
    cells = (*values(type_), None, *special) * on_duckdb._SPLIT_MIN
    assert not any(on_duckdb._has_separator([cell]) for cell in cells)
    stored = stored_texts(type_, cells)
    monkeypatch.setattr(on_duckdb, "_SPLIT_MIN", len(cells) + 1)
    assert stored == stored_texts(type_, cells)


@pytest.mark.parametrize("text", ["a\uf101b", "\uf102"])
def test_a_text_with_a_separator_is_not_split(text, monkeypatch):
    """It would be two rows, or NULL."""
    cells = ("a", text) * on_duckdb._SPLIT_MIN
    stored = stored_texts("string", cells)
    assert [kept for kept, *_ in stored] == list(cells)
    monkeypatch.setattr(on_duckdb, "_has_separator", splits_any_text)
    assert stored_texts("string", cells) != stored


def test_row_groups_are_filled_where_their_size_cannot_be_told(monkeypatch):
    monkeypatch.setattr(on_duckdb_tables, "rows_per_group", lambda: 122_880)
    adapter = on_duckdb_tables.OnDuckDBTables()
    assert "ROW_GROUP_SIZE" not in adapter.start()
    assert answers(adapter, [COUNTED]) == [[[4]]]


def test_files_in_a_directory_named_null_are_refused_where_that_is_a_text(monkeypatch):
    table = {
        "columns": [{"name": "a", "type": "int32"}],
        "files": ["/x/a=__HIVE_DEFAULT_PARTITION__/1.parquet"],
    }
    table["partitions"] = [{"a": None}]
    monkeypatch.setattr(on_duckdb, "_reads_null_of_directories", lambda: False)
    with pytest.raises(Unsupported, match="NULL as the name"):
        on_duckdb.OnDuckDB().setup({"t": table}, {})
    monkeypatch.setattr(on_duckdb, "_reads_null_of_directories", lambda: True)
    assert "CREATE VIEW" in on_duckdb.OnDuckDB().setup({"t": table}, {})[0]


@pytest.mark.parametrize(("read", "missing"), [("TIMESTAMP", ["timestamp(ns)"]), ("TIMESTAMP_NS", [])])
def test_nanoseconds_are_not_asked_for_where_files_give_microseconds(read, missing, monkeypatch):
    monkeypatch.setattr(on_duckdb, "_first_value", lambda *_: read)
    assert on_duckdb.OnDuckDB().hello()["without"]["types"] == missing
    assert on_duckdb_tables.OnDuckDBTables().hello()["without"]["types"] == []


def test_this_release_reads_files_as_they_were_written():
    assert on_duckdb._first_value("SELECT 7 AS b", "a=x/t.parquet", "a || b") == "x7"


def test_a_script_over_duckdb_s_own_tables_runs_alone(tmp_path):
    """It makes the tables, in row groups, and asks them; the worker's directory is gone by then."""
    columns = [{"name": "a", "type": "string"}, {"name": "rid", "type": "int64"}]
    table = {"columns": columns, "blocks": [[["it's", 0]], [[None, 1], ["b", 2]]]}
    layouts = (
        {},
        {"checkpoint": "before deleting"},
        {"checkpoint": "after deleting"},
        {"reattached": "after deleting"},
    )
    for layout in layouts:
        whole = Question(area="filter", source=Relation(table="t"), select=("a", "rid"))
        nulls = Call("is null", (Column("a", "string"),))
        gone = Question(
            area="dml", source=Relation(table="t", where=nulls), select=("a", "rid"), change="delete"
        )
        with Worker(find_engine("duckdb-tables").command) as worker:
            reply = worker.ask(
                tables={"t": table | {"layout": layout}},
                settings={},
                questions=[whole.json(), gone.json()],
                sources=True,
            )
        for answer, count in zip(reply["answers"], (3, 2), strict=True):
            assert len(answer["rows"]) == count
            script = answer["source"] + "print(len(answer))\n"
            ran = subprocess.run(
                [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert ran.stdout == f"{count}\n"


def test_a_database_that_is_attached_again_has_the_statistics_of_its_file():
    """Of a table in memory nothing is attached again; the answers are the same."""
    adapter = on_duckdb_tables.OnDuckDBTables()
    moments = [{"reattached": moment} for moment in adapter.hello()["layouts"]["reattached"]]
    for layout, times in (({}, 0), *((moment, 1) for moment in moments)):
        tables = {name: table | {"layout": layout} for name, table in TABLES.items()}
        text, _ = adapter.setup(tables, {})
        assert text.count("DETACH disk") == text.count("ATTACH '") == times
        base: dict[str, Any] = {}
        exec(adapter.start(), base)
        request = {"tables": tables, "questions": [COUNTED.json()]}
        assert serving._answer_request(adapter, request, base) == {"answers": [{"rows": [[4]]}]}


def test_rows_of_a_large_row_group_lie_in_several_vectors_of_it():
    """Each block is a row group of the default size, whose other rows are dead; the answers are the same."""
    adapter = on_duckdb_tables.OnDuckDBTables()
    rows = [[None, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]]
    table = {
        "columns": [{"name": "a", "type": "int32"}, {"name": "rid", "type": "int64"}],
        "blocks": [rows, [], [[7, 7]]],
    }
    size = adapter.hello()["layouts"]["row_group_size"][-1]
    tables = {"t": table | {"layout": {"row_group_size": size}}, "u": TABLES["u"]}
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    greater = Question(
        area="filter",
        source=Relation(table="t", where=Call(">", (Column("a", "int32"), Literal(4, "int32")))),
        select=("rid",),
    )
    other = Question(area="aggregate", source=Relation(table="u"), aggregates=(Aggregate("count"),))
    request = {"tables": tables, "questions": [question.json() for question in (greater, other)]}
    for _ in range(2):
        answers_of_both = serving._answer_request(adapter, request, base)["answers"]
        assert [sorted(answer["rows"]) for answer in answers_of_both] == [[[5], [6], [7]], [[4]]]
    place = adapter.places["t"]
    groups = base["con"].execute(
        f"SELECT row_group_id, sum(count) FROM pragma_storage_info('{place}') "
        "WHERE column_name = 'rid' AND segment_type != 'VALIDITY' GROUP BY ALL ORDER BY ALL"
    )
    assert groups.fetchall() == [(0, size), (1, size)]
    vectors = base["con"].execute(f"SELECT DISTINCT rowid // 2048 FROM {place} WHERE rowid < {size}")
    assert len(vectors.fetchall()) == 6


@pytest.mark.parametrize(("moment", "sizes"), [("before deleting", [2_048] * 3), ("after deleting", [3])])
def test_row_groups_are_in_the_file_with_the_rows_that_fill_them_or_merged_without(moment, sizes):
    adapter = on_duckdb_tables.OnDuckDBTables()
    table = {"columns": [{"name": "rid", "type": "int64"}], "blocks": [[[0]], [[1]], [[2]]]}
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    request = {"tables": {"t": table | {"layout": {"reattached": moment}}}, "questions": [COUNTED.json()]}
    assert serving._answer_request(adapter, request, base) == {"answers": [{"rows": [[3]]}]}
    groups = base["con"].execute(
        f"SELECT sum(count) FROM pragma_storage_info('{adapter.places['t']}') "
        "WHERE column_name = 'rid' AND segment_type != 'VALIDITY' GROUP BY row_group_id"
    )
    assert [size for (size,) in groups.fetchall()] == sizes


def test_a_release_without_a_choice_of_sizes_has_no_such_option(monkeypatch):
    monkeypatch.setattr(on_duckdb_tables, "rows_per_group", lambda: 122_880)
    assert "row_group_size" not in on_duckdb_tables.OnDuckDBTables().hello()["layouts"]
