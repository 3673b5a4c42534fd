"""DataFusion, delta-rs and PyIceberg give the same answers over both forms of a table."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracles.files.counterfactual_files import write_grafted
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Worker
from strategies.engines.questions import Aggregate, Call, Column, Join, Key, Literal, Question, Relation, Term

PACKAGES = {"datafusion": "datafusion", "deltalake": "deltalake", "iceberg": "pyiceberg"}
A, N, S, D, T, RID = (
    Column("a", "float64"),
    Column("n", "float64"),
    Column("s", "string"),
    Column("d", "decimal(9,2)"),
    Column("t", "timestamp(us)"),
    Column("rid", "int64"),
)
U_RID = Column("u_rid", "int64")
# NaN is only carried: no engine here compares it alike with statistics and without.
BLOCKS = [
    [[1.5, "NaN", "a_b", "1.50", -1, 0], [3.0, None, "a%c", None, None, 1]],
    [[None, None, None, "-2.25", 10**15, 2], [7.0, "Infinity", "o'k\\", "0.00", 0, 3]],
]
ARROW = {
    "float64": pa.float64(),
    "string": pa.string(),
    "decimal(9,2)": pa.decimal128(9, 2),
    "timestamp(us)": pa.timestamp("us"),
    "int64": pa.int64(),
}


def columns(*of: Column) -> list[dict[str, str]]:
    """The columns of a table in JSON."""
    return [{"name": column.name, "type": column.type} for column in of]


TABLE = {"columns": columns(A, N, S, D, T, RID), "blocks": BLOCKS}
OTHER = {"columns": columns(Column("u_s", "string"), U_RID), "blocks": [[["a_b", 0], [None, 1]], [["zz", 2]]]}


def where(term: Term | None, select: Sequence[str] = ("rid",), **more: Any) -> Question:
    """A question that filters."""
    return Question(area="filter", source=Relation(table="t", where=term), select=tuple(select), **more)


def call(function: str, column: Column, *values: Any) -> Call:
    """A function of a column and of literals of its type."""
    return Call(function, (column, *(Literal(value, column.type) for value in values)))


def join_question(kind: str, **more: Any) -> Question:
    """Return a question with a join of both tables by their texts."""
    select = ("rid",) if kind in ("semi", "anti", "not in") else ("rid", "u_rid")
    join = Join(kind=kind, right=Relation(table="u"), left_key="s", right_key="u_s", **more)
    return Question(area="join", source=Relation(table="t"), select=select, join=join)


# What PyIceberg can be asked too.
SIMPLE = {
    "all": (where(None), [[0], [1], [2], [3]]),
    "less": (where(call("<", A, 2.0)), [[0]]),
    "not less": (where(Call("not", (call("<", A, 2.0),))), [[1], [3]]),
    "NULL": (where(call("is null", S)), [[2]]),
    "not NULL": (where(call("is not null", S)), [[0], [1], [3]]),
    "decimal": (where(call("=", D, "1.50")), [[0]]),
    "timestamp": (where(call("<=", T, -1)), [[0]]),
    "in": (where(call("in", S, "o'k\\", "a_b")), [[0], [3]]),
    "between": (where(call("between", D, "-3.00", "0.00")), [[2], [3]]),
    "starts with": (where(call("starts with", S, "a%")), [[1]]),
    "or": (where(Call("or", (call("=", RID, 3), call("=", A, 1.5)))), [[0], [3]]),
    "values": (
        where(call("<", RID, 2), ["d", "n", "t", "s"]),
        [["1.50", "NaN", -1, "a_b"], [None, None, None, "a%c"]],
    ),
}
AGGREGATES = (("count",), ("count", "s"), ("min", "d"), ("max", "t"))
ANY = {
    "like": (where(call("like", S, "a\\_%")), [[0]]),
    "not distinct": (where(call("is not distinct from", A, None)), [[2]]),
    "arithmetic": (where(Call("=", (call("%", RID, 2), Literal(1, "int64")))), [[1], [3]]),
    "cast": (where(Call("is null", (Call("try cast", (S,), "int32"),))), [[0], [1], [2], [3]]),
    "limit": (where(None, order=(Key(RID, True),), limit=2, offset=1), [[2], [1]]),
    "offset": (where(None, order=(Key(RID),), offset=3), [[3]]),
    "topk": (where(None, order=(Key(A, True, True), Key(RID)), limit=2), [[2], [3]]),
    "inner": (join_question("inner"), [[0, 0]]),
    "left": (join_question("left"), [[0, 0], [1, None], [2, None], [3, None]]),
    "null safe": (join_question("inner", null_safe=True), [[0, 0], [2, 1]]),
    "semi": (join_question("semi"), [[0]]),
    "anti": (join_question("anti"), [[1], [2], [3]]),
    "aggregate": (
        Question(
            area="aggregate",
            source=Relation(table="t", where=call("is not null", T)),
            aggregates=(
                Aggregate("count"),
                Aggregate("count", S),
                Aggregate("min", D),
                Aggregate("max", T),
            ),
        ),
        [[3, 2, "-2.25", 10**15]],
    ),
}


@pytest.fixture(scope="module", params=PACKAGES)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """Each engine's worker."""
    pytest.importorskip(PACKAGES[request.param], reason=f"{PACKAGES[request.param]} is not installed")
    with Worker(engines.find_engine(request.param).command, seconds_max=120) as worker:
        yield worker


# Engines with a table format of their own, and those that speak SQL.
OWN = pytest.mark.parametrize("worker", ["deltalake", "iceberg"], indirect=True)
SQL = pytest.mark.parametrize("worker", ["datafusion", "deltalake"], indirect=True)


@pytest.fixture(scope="module")
def datafusion() -> Iterator[Worker]:
    """DataFusion's worker."""
    pytest.importorskip("datafusion", reason="datafusion is not installed")
    with Worker(engines.find_engine("datafusion").command, seconds_max=120) as worker:
        yield worker


def write_files(table: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Write a table as Parquet files, one for each block."""
    directory.mkdir()
    files = []
    for number, block in enumerate(table["blocks"]):
        data = {
            column["name"]: pa.array(
                [arrow_value(row[at], column["type"]) for row in block], ARROW[column["type"]]
            )
            for at, column in enumerate(table["columns"])
        }
        files.append(str(directory / f"part-{number}.parquet"))
        pq.write_table(pa.table(data), files[-1], row_group_size=1)
    return {"columns": table["columns"], "files": files}


def arrow_value(cell: Any, type_: str) -> Any:
    """Return a cell as the Python value that pyarrow needs."""
    if cell is None or type_ not in ("float64", "decimal(9,2)"):
        return cell
    return float(cell) if type_ == "float64" else Decimal(cell)


def forms(worker: Worker, directory: Path) -> list[dict[str, Any]]:
    """Both tables in each form that the engine is given."""
    of_rows = {"t": TABLE, "u": OTHER}
    if worker.hello.tables == "own":
        return [of_rows, {name: table | {"statistics": False} for name, table in of_rows.items()}]
    return [of_rows, {name: write_files(table, directory / name) for name, table in of_rows.items()}]


def answers(worker: Worker, tables: dict[str, Any], questions: Sequence[Question], **more: Any) -> list[Any]:
    """The answers of one request, none of which is an error."""
    reply = worker.ask(tables=tables, questions=[question.json() for question in questions], **more)
    assert "answers" in reply, reply
    for question, answer in zip(questions, reply["answers"], strict=True):
        assert "rows" in answer, (question, answer)
    return list(reply["answers"])


def in_order(rows: list[Any]) -> list[Any]:
    """Rows in one order, whatever the engine's."""
    return sorted(rows, key=json.dumps)


def test_both_forms_give_the_rows_that_a_filter_means(worker: Worker, tmp_path: Path) -> None:
    for tables in forms(worker, tmp_path):
        found = answers(worker, tables, [question for question, _ in SIMPLE.values()])
        rows = {name: in_order(answer["rows"]) for name, answer in zip(SIMPLE, found, strict=True)}
        assert rows == {name: in_order(expected) for name, (_, expected) in SIMPLE.items()}


@SQL
def test_both_forms_give_the_rows_that_sql_means(worker: Worker, tmp_path: Path) -> None:
    for tables in forms(worker, tmp_path):
        found = answers(worker, tables, [question for question, _ in ANY.values()])
        ordered = ("limit", "offset", "topk")
        rows = {
            name: answer["rows"] if name in ordered else in_order(answer["rows"])
            for name, answer in zip(ANY, found, strict=True)
        }
        assert rows == {name: expected for name, (_, expected) in ANY.items()}


def test_every_setting_is_accepted_and_changes_no_row(worker: Worker, tmp_path: Path) -> None:
    question, expected = SIMPLE["not less"]
    for tables in forms(worker, tmp_path):
        for name, values in worker.hello.settings.items():
            for value in values:
                answer = answers(worker, tables, [question], settings={name: value})[0]
                assert in_order(answer["rows"]) == expected, (name, value)


def test_an_empty_table_has_no_rows(worker: Worker) -> None:
    empty = {"columns": TABLE["columns"], "blocks": []}
    for more in ({}, {"statistics": False}):
        assert answers(worker, {"t": empty | more}, [SIMPLE["less"][0]])[0]["rows"] == []


def test_a_finding_replays_alone(worker: Worker) -> None:
    question, expected = SIMPLE["values"]
    answer = answers(worker, {"t": TABLE}, [question], sources=True)[0]
    program = answer["source"] + "\nprint(*(row[3] for row in answer))"
    replayed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True, timeout=120
    )
    assert in_order(answer["rows"]) == in_order(expected)
    assert replayed.stdout.split() == [str(row[3]) for row in answer["rows"]]


@OWN
def test_a_change_is_of_a_copy(worker: Worker) -> None:
    delete = Question(
        area="dml", source=Relation(table="t", where=call("=", RID, 2)), select=("rid",), change="delete"
    )
    for more in ({}, {"statistics": False}):
        changed, untouched = answers(worker, {"t": TABLE | more}, [delete, where(None)])
        assert in_order(changed["rows"]) == [[0], [1], [3]]
        assert in_order(untouched["rows"]) == [[0], [1], [2], [3]]


@OWN
def test_an_update_leaves_the_other_rows(worker: Worker) -> None:
    update = Question(
        area="dml",
        source=Relation(table="t", where=call("is null", S)),
        select=("rid", "s"),
        change="s",
        to=Literal("it's", "string"),
    )
    if worker.hello.engine == "iceberg":
        answer = worker.ask(tables={"t": TABLE}, questions=[update.json()])["answers"][0]
        assert answer["kind"] == "unsupported"
        return
    rows = answers(worker, {"t": TABLE}, [update])[0]["rows"]
    assert in_order(rows) == [[0, "a_b"], [1, "a%c"], [2, "it's"], [3, "o'k\\"]]


@OWN
def test_only_a_table_with_statistics_skips_files(worker: Worker) -> None:
    """Without this, both forms could be alike because nothing is ever skipped."""
    settings = {"reader": "pyarrow"} if "reader" in worker.hello.settings else {}
    question = where(call(">=", RID, 2))
    for more, files in (({}, 1), ({"statistics": False}, 2)):
        answer = answers(worker, {"t": TABLE | more}, [question], settings=settings)[0]
        assert (answer["read"], in_order(answer["rows"])) == ({"files": files, "of": 2}, [[2], [3]])


LAYOUTS = {
    "deltalake": [
        {"checkpoint_after": 1},
        {"checkpoint_after": 2, "stats_columns": "rid"},
        {"checkpoint_after": 2, "indexed_columns": 2},
        {"partition_by": "s"},
        {"blocks_per_append": 2, "bytes_per_file": 1, "rows_per_group": 1},
        {"rows_per_page": 1, "bloom_filters": "s"},
    ],
    "iceberg": [
        {"metrics": "none"},
        {"blocks_per_append": 2, "bytes_per_file": 1, "rows_per_group": 1},
        {"metrics": "counts"},
        {"metrics": "truncate(2)"},
        {"partition": {"column": "s", "transform": "truncate(1)"}},
        {"partition": {"column": "d", "transform": "bucket(4)"}},
        {"partition": {"column": "t", "transform": "month"}},
        {"partition": {"column": "rid", "transform": "identity"}},
    ],
}


@OWN
def test_every_layout_gives_the_same_rows(worker: Worker) -> None:
    questions = [question for question, _ in SIMPLE.values()]
    for layout in LAYOUTS[worker.hello.engine]:
        found = answers(worker, {"t": TABLE | {"layout": layout}}, questions)
        rows = {name: in_order(answer["rows"]) for name, answer in zip(SIMPLE, found, strict=True)}
        assert rows == {name: in_order(expected) for name, (_, expected) in SIMPLE.items()}, layout


def test_what_an_engine_lacks_is_said_to_be_unsupported(worker: Worker) -> None:
    delete = Question(area="dml", source=Relation(table="t"), select=("rid",), change="delete")
    least = Question(area="aggregate", source=Relation(table="t"), aggregates=(Aggregate("min", RID),))
    asked = {"datafusion": delete, "iceberg": ANY["like"][0], "deltalake": least}[worker.hello.engine]
    settings = {"reader": "pyarrow"} if worker.hello.engine == "deltalake" else {}
    reply = worker.ask(tables={"t": TABLE, "u": OTHER}, settings=settings, questions=[asked.json()])
    assert reply["answers"][0]["kind"] == "unsupported"


def test_datafusion_reads_columns_that_directories_name(datafusion: Worker, tmp_path: Path) -> None:
    files = []
    for number, text in enumerate(("x y", "z")):
        directory = tmp_path / f"p={text}" / f"k={number}"
        directory.mkdir(parents=True)
        files.append(str(directory / "part.parquet"))
        pq.write_table(pa.table({"rid": [number]}), files[-1])
    p, k = Column("p", "string"), Column("k", "int32")
    table = {
        "columns": columns(RID, p, k),
        "files": files,
        "partitions": [{"k": "0", "p": "x y"}, {"k": "1", "p": "z"}],
    }
    question = where(call("!=", p, "z"), ["rid", "k", "p"])
    assert answers(datafusion, {"t": table}, [question])[0]["rows"] == [[0, 0, "x y"]]
    table["partitions"] = [{"k": "0", "p": "x y"}, {"k": "1", "p": None}]
    assert datafusion.ask(tables={"t": table}, questions=[question.json()])["kind"] == "unsupported"


def test_datafusion_reads_files_whose_schemas_differ(datafusion: Worker, tmp_path: Path) -> None:
    files = [str(tmp_path / f"part-{number}.parquet") for number in range(2)]
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "rid": [0, 1]}), files[0])
    pq.write_table(pa.table({"b": ["x", None], "rid": [2, 3], "a": pa.array([3, None])}), files[1])
    a, b = Column("a", "int64"), Column("b", "string")
    table = {"columns": columns(a, RID, b), "files": files, "schemas_differ": True}
    found = answers(datafusion, {"t": table}, [where(call("is null", b)), where(call(">", a, 1), ["a", "b"])])
    assert [in_order(answer["rows"]) for answer in found] == [[[0], [1], [3]], [[2, None], [3, "x"]]]


def test_datafusion_prunes_by_no_footer_where_it_is_told_so(datafusion: Worker, tmp_path: Path) -> None:
    """Footers that lie lose rows; so it is of differing schemas, whose table SQL does not make."""
    files = [str(tmp_path / "t" / f"part-{number}.parquet") for number in range(2)]
    (tmp_path / "t").mkdir()
    for number, file in enumerate(files):
        for name, value in (("rows", number), ("lie", 100)):
            names = ["n", "rid"] if number else ["rid", "n"]
            cells = {"n": pa.array([float(value)]), "rid": [number]}
            pq.write_table(pa.table(cells).select(names), tmp_path / name)
        write_grafted(tmp_path / "rows", tmp_path / "lie", Path(file))
    table = {"t": {"columns": columns(RID, N), "files": files, "schemas_differ": True}}
    question = where(call("<", N, 5.0))
    told = {"datafusion.execution.collect_statistics": "false"}
    assert answers(datafusion, table, [question], settings=told)[0]["rows"] == []
    told["datafusion.execution.parquet.pruning"] = "false"
    assert in_order(answers(datafusion, table, [question], settings=told)[0]["rows"]) == [[0], [1]]


@pytest.mark.parametrize(("blocks", "batches"), [(BLOCKS, 2), ([*BLOCKS, []], 3), ([], 1)])
def test_datafusion_holds_a_batch_for_each_block(blocks: list[Any], batches: int) -> None:
    pytest.importorskip("datafusion")
    from skipproof.stand.adapters.on_datafusion import OnDataFusion

    text, names = OnDataFusion().setup({"t": {"columns": TABLE["columns"], "blocks": blocks}}, {})
    exec(text, names)
    assert f"partition_sizes=[{batches}]" in str(names["ctx"].table("t").execution_plan())


def test_datafusion_refuses_a_directory_that_holds_other_files(datafusion: Worker, tmp_path: Path) -> None:
    table = write_files(TABLE, tmp_path / "t")
    pq.write_table(pa.table({"rid": [9]}), tmp_path / "t" / "other.parquet")
    assert datafusion.ask(tables={"t": table}, questions=[where(None).json()])["kind"] == "unsupported"


def test_datafusion_writes_rows_in_their_order(datafusion: Worker, tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    options = {"max_row_group_size": 3, "statistics_enabled": "none", "dictionary_enabled": False}
    assert datafusion.ask(write={"table": TABLE, "path": str(path), "options": options})["written"]
    assert pq.read_table(path).column("rid").to_pylist() == [0, 1, 2, 3]
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == 2
    assert metadata.row_group(0).column(0).statistics is None
