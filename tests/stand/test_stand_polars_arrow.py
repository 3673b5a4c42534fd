"""Polars and pyarrow.dataset on the stand: each form of a table gives the rows that it should."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from needs import needs_package

from skipproof.stand.workers.engines import UnknownEngine, find_engine
from skipproof.stand.workers.workers import Worker
from strategies.engines.files import arrow_table
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
    Term,
)

RID = Column("rid", "int64")
A, F, S = Column("a", "int32"), Column("f", "float64"), Column("s", "string")
D, U = Column("d", "decimal(9,2)"), Column("u", "uint64")
DAY, M, Z = Column("day", "date"), Column("m", "timestamp(us)"), Column("z", "timestamp(us,UTC)")
N, B = Column("n", "timestamp(ns)"), Column("b", "boolean")
COLUMNS = (RID, A, F, S, D, U, DAY, M, Z, N, B)
ROWS = [
    [0, 1, 0.5, "ab", "-1.50", 0, -1, -1, -1, -1, True],
    [1, None, None, "a%", "2.00", 2**63, 0, 0, 0, 0, False],
    [2, 3, "NaN", None, None, 2**64 - 1, 1, 10**6, 10**6, 1500, None],
    [3, 4, "-NaN", "b\n", "0.25", None, None, None, None, None, True],
    [4, 5, "-Infinity", "", "9.99", 7, 40, 7 * 10**9, 7 * 10**9, 10**12 + 1, False],
    [5, 6, -0.0, "abc", "-0.01", 8, 41, 8 * 10**9, 8 * 10**9, 10**12 + 2, True],
]
KEYS = (Column("u_id", "int64"), Column("u_a", "int32"))
KEY_ROWS = [[0, 3], [1, None], [2, 6], [3, 6], [4, 9]]


def table(columns: tuple[Column, ...], rows: list[Json]) -> dict[str, Any]:
    """A table that is given as blocks of two rows."""
    blocks = [rows[at : at + 2] for at in range(0, len(rows), 2)]
    return {"columns": [{"name": c.name, "type": c.type} for c in columns], "blocks": blocks}


def in_files(columns: tuple[Column, ...], rows: list[Json], directory: Path, name: str) -> dict[str, Any]:
    """The same rows in files of two row groups of two rows."""
    paths = []
    for at in range(0, len(rows), 4):
        path = directory / f"{name}-{at}.parquet"
        pq.write_table(arrow_table(columns, rows[at : at + 4]), path, row_group_size=2)
        paths.append(str(path))
    return {"columns": table(columns, [])["columns"], "files": paths}


def literal(value: Json, of: Column) -> Literal:
    """A constant of a column's type."""
    return Literal(value, of.type)


def call(function: str, *of: Term, type: str = "boolean") -> Call:
    """An expression."""
    return Call(function, of, type)


FILTERS = {
    "above an integer": (call(">", A, literal(3, A)), [3, 4, 5]),
    "an integer above it": (call("<", literal(3, A), A), [3, 4, 5]),
    "below a float": (call("<", F, literal(0.25, F)), [4, 5]),
    "equal to minus infinity": (call("=", F, literal("-Infinity", F)), [4]),
    "not a number": (call("is nan", F), [2, 3]),
    "not below": (call("not", call("<", A, literal(5, A))), [4, 5]),
    "between": (call("between", A, literal(3, A), literal(5, A)), [2, 3, 4]),
    "NULL": (call("is null", A), [1]),
    "not NULL": (call("and", call("is not null", S), call("is not null", D)), [0, 1, 3, 4, 5]),
    "one of": (call("in", A, literal(1, A), literal(6, A)), [0, 5]),
    "one of floats": (call("in", F, literal(0.5, F), literal("-Infinity", F)), [0, 4]),
    "a decimal": (call(">=", D, literal("0.25", D)), [1, 3, 4]),
    "beyond signed integers": (call(">=", U, literal(2**63, U)), [1, 2]),
    "one beyond signed integers": (call("in", U, literal(2**63, U)), [1]),
    "one of unsigned integers": (call("in", U, literal(7, U), literal(2**64 - 1, U)), [2, 4]),
    "at most an unsigned integer": (call("<=", U, literal(8, U)), [0, 4, 5]),
    "between unsigned integers": (call("between", U, literal(7, U), literal(2**63, U)), [1, 4, 5]),
    "between days": (call("between", DAY, literal(0, DAY), literal(40, DAY)), [1, 2, 4]),
    "between texts": (call("between", S, literal("a", S), literal("ab", S)), [0, 1]),
    "between nanoseconds": (call("between", N, literal(10**12 + 1, N), literal(10**12 + 1, N)), [4]),
    "a day": (call("<=", DAY, literal(0, DAY)), [0, 1]),
    "a local time": (call("<", M, literal(0, M)), [0]),
    "a moment": (call(">=", Z, literal(10**6, Z)), [2, 4, 5]),
    "nanoseconds": (call("=", N, literal(10**12 + 1, N)), [4]),
    "a truth": (call("or", B, call("=", A, literal(3, A))), [0, 2, 3, 5]),
    "is true": (call("not", call("is true", B)), [1, 2, 4]),
    "a pattern": (call("like", S, literal("a_", S)), [0, 1]),
    "a pattern that escapes": (call("like", S, literal("a\\%", S)), [1]),
    "a pattern over lines": (call("like", S, literal("b%", S)), [3]),
    "a start": (call("starts with", S, literal("ab", S)), [0, 5]),
    "a sum": (call("=", call("+", A, literal(1, A)), literal(6, A)), [4]),
    "a size": (call("=", call("abs", call("-", A, literal(5, A))), literal(1, A)), [3, 5]),
    "a cast": (call(">", call("cast", A, type="float64"), literal(4.5, F)), [4, 5]),
    "the first": (call("=", call("coalesce", A, literal(7, A)), literal(7, A)), [1]),
    "a choice": (
        call("=", call("if", call(">", A, literal(4, A)), literal(1, A), literal(0, A)), literal(0, A)),
        [0, 1, 2, 3],
    ),
    "no number": (call("is not distinct from", A, literal(None, A)), [1]),
    "other than a number": (call("is distinct from", A, literal(3, A)), [0, 1, 3, 4, 5]),
}
POLARS_FILTERS = {
    "a remainder": (call("=", call("%", A, literal(2, A)), literal(0, A)), [3, 5]),
    "a cast that may fail": (call("is null", call("try cast", S, type="int64")), [0, 1, 2, 3, 4, 5]),
}


def of_t(where: Term | None = None, **others: Any) -> Relation:
    """A subquery over the first table."""
    return Relation(table="t", where=where, **others)


def join_question(kind: str, *select: str, right: Relation | None = None, **others: Any) -> Question:
    """Return a question with a join of the two tables."""
    join = Join(kind=kind, right=right or Relation(table="u"), left_key="a", right_key="u_a", **others)
    return Question(area="join", source=of_t(), join=join, select=select)


COUNT = Aggregate("count")
BOTH = {
    "limit": (Question(area="limit", source=of_t(call("is nan", F)), select=("rid",), limit=5), [[2], [3]]),
    "offset": (
        Question(area="limit", source=of_t(call("is nan", F)), select=("rid",), limit=1, offset=1),
        [[3]],
    ),
    "count": (
        Question(area="aggregate", source=of_t(call(">", A, literal(3, A))), aggregates=(COUNT,)),
        [[3]],
    ),
    "inner": (join_question("inner", "rid", "u_id"), [[2, 0], [5, 2], [5, 3]]),
    "left": (
        join_question("left", "rid", "u_id"),
        [[0, None], [1, None], [2, 0], [3, None], [4, None], [5, 2], [5, 3]],
    ),
    "right": (
        join_question("right", "a", "u_id", "u_a"),
        [[3, 0, 3], [6, 2, 6], [6, 3, 6], [None, 1, None], [None, 4, 9]],
    ),
    "full": (
        join_question("full", "a", "u_a"),
        [[1, None], [3, 3], [4, None], [5, None], [6, 6], [6, 6], [None, 9], [None, None], [None, None]],
    ),
    "semi": (join_question("semi", "rid"), [[2], [5]]),
    "anti": (join_question("anti", "rid"), [[0], [1], [3], [4]]),
    "inner with both keys": (join_question("inner", "a", "u_a"), [[3, 3], [6, 6], [6, 6]]),
    "join of a filtered side": (
        join_question(
            "inner", "rid", "u_id", right=Relation(table="u", where=call(">", KEYS[0], Literal(2, "int64")))
        ),
        [[5, 3]],
    ),
}
ONLY_POLARS = {
    "top": (
        Question(area="topk", source=of_t(), select=("rid",), order=(Key(A, descending=True),), limit=2),
        [[5], [4]],
    ),
    "top with NULL first": (
        Question(area="topk", source=of_t(), select=("rid",), order=(Key(A, nulls_first=True),), limit=2),
        [[1], [0]],
    ),
    "top of two keys": (
        Question(
            area="topk",
            source=of_t(),
            select=("rid",),
            order=(Key(B, nulls_first=True), Key(A, descending=True)),
            limit=3,
            offset=1,
        ),
        [[4], [1], [5]],
    ),
    "groups": (
        Question(
            area="aggregate",
            source=of_t(),
            group=B,
            aggregates=(COUNT, Aggregate("count", A), Aggregate("min", A), Aggregate("max", D)),
        ),
        [[False, 2, 1, 5, "9.99"], [None, 1, 1, 3, None], [True, 3, 3, 1, "0.25"]],
    ),
    "sums": (Question(area="aggregate", source=of_t(), aggregates=(Aggregate("sum", A),)), [[19]]),
    "join of a limited side": (
        join_question(
            "inner",
            "rid",
            "u_id",
            right=Relation(table="u", order=(Key(KEYS[0], descending=True),), limit=2),
        ),
        [[5, 3]],
    ),
    "join with distinct keys": (
        join_question("inner", "rid", right=Relation(table="u", distinct="u_a")),
        [[2], [5]],
    ),
    "join of NULL": (
        join_question("inner", "rid", "u_id", null_safe=True),
        [[1, 1], [2, 0], [5, 2], [5, 3]],
    ),
}
CASES = {
    "arrow": {
        **{
            name: (Question(area="filter", source=of_t(where), select=("rid",)), [[rid] for rid in rids])
            for name, (where, rids) in FILTERS.items()
        },
        **BOTH,
    },
}
CASES["polars"] = {
    **CASES["arrow"],
    **{
        name: (Question(area="filter", source=of_t(where), select=("rid",)), [[rid] for rid in rids])
        for name, (where, rids) in POLARS_FILTERS.items()
    },
    **ONLY_POLARS,
}


@pytest.fixture(scope="module", params=["arrow", "polars"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """An engine, where its package is installed."""
    try:
        chosen = find_engine(request.param)
    except UnknownEngine as error:
        pytest.skip(str(error))
    with Worker(chosen.command, seconds_max=60) as started:
        yield started


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The tables in both forms."""
    directory = tmp_path_factory.mktemp("tables")
    given = {"t": (COLUMNS, ROWS), "u": (KEYS, KEY_ROWS)}
    return {
        "blocks": {name: table(columns, rows) for name, (columns, rows) in given.items()},
        "files": {name: in_files(columns, rows, directory, name) for name, (columns, rows) in given.items()},
    }


def ordered(rows: list[Json], question: Question) -> list[Json]:
    """Rows in their order where the question has one, else in any one order."""
    return rows if question.order else sorted(rows, key=repr)


@pytest.mark.parametrize("form", ["files", "blocks"])
def test_each_form_of_a_table_gives_the_rows_that_it_should(
    worker: Worker, forms: dict[str, Any], form: str
) -> None:
    """For each question of each area, with NULL, NaN, decimals and moments among the cells."""
    cases = CASES[worker.hello.engine]
    reply = worker.ask(
        tables=forms[form], settings={}, questions=[question.json() for question, _ in cases.values()]
    )
    answers = dict(zip(cases, reply["answers"], strict=True))
    assert {
        name: ordered(answers[name]["rows"], question) if "rows" in answers[name] else answers[name]
        for name, (question, _) in cases.items()
    } == {name: ordered(rows, question) for name, (question, rows) in cases.items()}


@pytest.mark.parametrize("form", ["files", "blocks"])
def test_each_type_comes_back_as_it_was_put_in(worker: Worker, forms: dict[str, Any], form: str) -> None:
    """NaN without its sign, and nanoseconds as microseconds, rounded down."""
    names = tuple(column.name for column in COLUMNS)
    question = Question(area="filter", source=of_t(), select=names)
    reply = worker.ask(tables=forms[form], settings={}, questions=[question.json()])
    cells = [dict(zip(names, row, strict=True)) for row in ROWS]
    for row in cells:
        row["f"] = "NaN" if row["f"] == "-NaN" else row["f"]
        row["n"] = None if row["n"] is None else row["n"] // 1000
    assert reply["answers"][0]["rows"] == [list(row.values()) for row in cells]


def test_lists_and_structs_are_carried(worker: Worker) -> None:
    """In memory, where they are made of plain values, one in another."""
    types = ("list(struct(x decimal(9,2), y list(date)))", "struct(x int64, y string)")
    columns = (RID, *(Column(name, type_) for name, type_ in zip("pq", types, strict=True)))
    rows = [
        [0, [{"x": "1.50", "y": [1, None]}, None], {"x": 1, "y": "a"}],
        [1, [], {"x": None, "y": None}],
        [2, None, None],
    ]
    question = Question(area="filter", source=of_t(), select=("rid", "p", "q"))
    reply = worker.ask(tables={"t": table(columns, rows)}, settings={}, questions=[question.json()])
    assert reply["answers"][0]["rows"] == rows


def test_every_setting_leaves_the_answers_as_they_are(worker: Worker, forms: dict[str, Any]) -> None:
    """Each value of each switch that the engine names is one that it takes."""
    question = Question(area="filter", source=of_t(call(">", A, literal(3, A))), select=("rid",))
    for name, values in worker.hello.settings.items():
        for value in values:
            reply = worker.ask(tables=forms["files"], settings={name: value}, questions=[question.json()])
            assert sorted(reply["answers"][0]["rows"]) == [[3], [4], [5]], (name, value)


def test_a_question_that_the_engine_lacks_is_said_to_be_unsupported(
    worker: Worker, forms: dict[str, Any]
) -> None:
    """It is told apart from a question that failed."""
    change = Question(area="dml", source=of_t(), change="delete")
    failing = Question(
        area="filter", source=of_t(call("is null", Column("absent", "int64"))), select=("rid",)
    )
    asked = [change.json(), join_question("not in", "rid").json(), failing.json()]
    reply = worker.ask(tables=forms["files"], settings={}, questions=asked)
    assert [answer["kind"] for answer in reply["answers"]] == ["unsupported", "unsupported", "failed"]


@pytest.fixture
def evolved_table(tmp_path: Path) -> dict[str, Any]:
    """Two files in directories: the first lacks a column, has a narrower type and another order."""
    columns = (RID, A, Column("k", "int64"))
    first = arrow_table((Column("rid", "int32"),), [(0,), (1,)])
    second = arrow_table((A, RID), [(5, 2), (6, 3)])
    paths = []
    for directory, part in (("k=7", first), ("k=__HIVE_DEFAULT_PARTITION__", second)):
        path = tmp_path / directory / "part.parquet"
        path.parent.mkdir()
        pq.write_table(part, path)
        paths.append(str(path))
    return {
        "columns": [{"name": column.name, "type": column.type} for column in columns],
        "files": paths,
        "partitions": [{"k": "7"}, {"k": None}],
        "schemas_differ": True,
    }


def test_files_that_lack_columns_are_filled_with_null(worker: Worker, evolved_table: dict[str, Any]) -> None:
    """And the columns of directories' names are columns like others."""
    k = Column("k", "int64")
    wheres = [
        None,
        call("is null", A),
        call("=", k, literal(7, k)),
        call("is null", k),
        call(">", RID, literal(1, RID)),
    ]
    asked = [Question(area="filter", source=of_t(where), select=("rid", "a", "k")).json() for where in wheres]
    reply = worker.ask(tables={"t": evolved_table}, settings={}, questions=asked)
    first, second = [[0, None, 7], [1, None, 7]], [[2, 5, None], [3, 6, None]]
    assert [answer.get("rows", answer) for answer in reply["answers"]] == [
        first + second,
        first,
        first,
        second,
        second,
    ]


@pytest.mark.parametrize("worker", ["arrow"], indirect=True)
def test_arrow_tells_how_many_row_groups_its_condition_leaves(worker: Worker, forms: dict[str, Any]) -> None:
    """Row groups that hold no such row are not among those that are read."""
    question = Question(area="filter", source=of_t(call(">", A, literal(4, A))), select=("rid",))
    reply = worker.ask(tables=forms["files"], settings={}, questions=[question.json()])
    assert reply["answers"] == [{"rows": [[4], [5]], "read": {"row_groups": 1, "of": 3}}]


@pytest.mark.parametrize("worker", ["polars"], indirect=True)
def test_a_file_that_polars_wrote_holds_the_rows_in_order(
    worker: Worker, forms: dict[str, Any], tmp_path: Path
) -> None:
    """Row groups have the size that was asked for."""
    path = tmp_path / "written.parquet"
    options = {"row_group_size": 4, "compression": None}
    reply = worker.ask(write={"table": forms["blocks"]["t"], "path": str(path), "options": options})
    assert reply.get("written"), reply
    written = pq.ParquetFile(path)
    assert written.read().column("rid").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert written.num_row_groups == 2


def test_polars_multiplies_by_the_rounded_reciprocal_of_a_number() -> None:
    """If a release divides, it can be asked for any quotient again."""
    needs_package("polars")
    from skipproof.stand.adapters.polars_terms import functions_missing

    assert "rounded quotient" in functions_missing()
