"""Spark and the project's pruning on the stand: rows in files and rows in memory give one answer."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from skipproof.stand.adapters.on_spark import OnSpark
from skipproof.stand.adapters.serving import to_python
from skipproof.stand.workers.workers import Died, Worker
from strategies.engines.questions import Aggregate, Call, Column, Join, Key, Literal, Question, Relation

pytestmark = pytest.mark.spark
TYPES = {
    "rid": ("int64", pa.int64()),
    "i": ("int32", pa.int32()),
    "f": ("float64", pa.float64()),
    "d": ("decimal(9,2)", pa.decimal128(9, 2)),
    "s": ("string", pa.string()),
    "t": ("timestamp(us)", pa.timestamp("us")),
    "m": ("timestamp(ms)", pa.timestamp("ms")),
    "u": ("timestamp(us,UTC)", pa.timestamp("us", "UTC")),
    "b": ("binary", pa.binary()),
    "day": ("date", pa.date32()),
    "many": ("list(decimal(9,2))", pa.list_(pa.decimal128(9, 2))),
    "pair": ("struct(x int64, y list(string))", pa.struct({"x": pa.int64(), "y": pa.list_(pa.string())})),
}
# No NaN and no -0.0 here: in files of this writer Spark's own pushdown loses both.
BLOCKS: list[list[list[Any]]] = [
    [
        [0, -5, 1.5, "-1.50", "it's", -1, -1, -1, "", -1, ["1.00", None], {"x": 1, "y": ["p", None]}],
        [1, None, None, None, None, None, None, None, None, None, None, None],
        [2, 7, "-Infinity", "0.25", "50%_\\b", 0, 0, 0, "00ff", 0, [], {"x": None, "y": None}],
        [3, 7, 2.5, "99.99", "\\", 1_000_003, 1_000, 10**15, "27", 20_000, None, {"x": 2, "y": []}],
    ],
    [
        [4, 40, "Infinity", "100.00", "${spark.app.name}", 10**15, 10**12, 10**15, "28", 20_001, [], None],
        [5, 41, 3.5, "100.01", "a\nb", 10**15 + 1, 10**12 + 1, None, "ff", 30_000, ["2.50"], None],
        [6, 42, None, None, "é", None, None, None, None, None, None, None],
    ],
]
RIGHT: list[list[list[Any]]] = [[[100, 7], [101, None]], [[102, 99]]]
FLOATS: list[list[list[Any]]] = [
    [[0, "NaN"], [1, 1.0]],
    [[2, "-NaN"], [3, 5.0]],
    [[4, -0.0], [5, None]],
    [[6, 0.0], [7, 9.0]],
]


def call(function: str, *of: Any, type: str = "boolean") -> Call:
    """A call, with texts for columns of the table."""
    return Call(function, tuple(Column(o, TYPES[o][0]) if isinstance(o, str) else o for o in of), type)


def rows_where(where: Call | None, **rest: Any) -> Question:
    """The numbers of the rows that satisfy a condition."""
    told = {"area": "filter", "source": Relation(table="t", where=where), "select": ("rid",), **rest}
    return Question(**told)


def key(name: str, **rest: bool) -> Key:
    """A column to order by."""
    return Key(Column(name, TYPES[name][0]), **rest)


def join_question(kind: str, *, null_safe: bool = False, select: tuple[str, ...] = ("rid",)) -> Question:
    """Return a question with a join of the table with the small one."""
    join = Join(kind=kind, right=Relation(table="u"), left_key="i", right_key="u_i", null_safe=null_safe)
    return rows_where(None, area="join", join=join, select=select)


def text(value: str | None) -> Literal:
    """A text."""
    return Literal(value, "string")


BY_I = (key("i", descending=True), key("rid"))
SEVEN = Literal(7, "int32")
BY_NUMBER = Column("i", TYPES["i"][0])
AGGREGATES = (
    Aggregate("count"),
    Aggregate("count", Column("i", TYPES["i"][0])),
    Aggregate("sum", Column("d", TYPES["d"][0])),
    Aggregate("min", Column("s", TYPES["s"][0])),
    Aggregate("max", Column("m", TYPES["m"][0])),
)
# A question, and its rows in any order.
CASES: list[tuple[Question, list[list[Any]]]] = [
    (rows_where(call("=", "s", text("it's"))), [[0]]),
    (rows_where(call("in", "s", text("\\"), text("a\nb"), text(None))), [[3], [5]]),
    (rows_where(call("=", "s", text("${spark.app.name}"))), [[4]]),
    (rows_where(call("like", "s", text("50\\%\\_\\\\_"))), [[2]]),
    (rows_where(call("starts with", "s", text("50%_\\"))), [[2]]),
    (rows_where(call("=", "d", Literal("99.99", "decimal(9,2)"))), [[3]]),
    (rows_where(call(">=", "f", Literal("Infinity", "float64"))), [[4]]),
    (rows_where(call("<", "f", Literal(2.0, "float64"))), [[0], [2]]),
    (rows_where(call("=", "t", Literal(10**15 + 1, "timestamp(us)"))), [[5]]),
    (rows_where(call("<", "m", Literal(0, "timestamp(ms)"))), [[0]]),
    (rows_where(call("<", "u", Literal(0, "timestamp(us,UTC)"))), [[0]]),
    (rows_where(call("=", "b", Literal("27", "binary"))), [[3]]),
    (rows_where(call("between", "day", Literal(0, "date"), Literal(20_000, "date"))), [[2], [3]]),
    (rows_where(call("is not distinct from", "i", Literal(None, "int32"))), [[1]]),
    (rows_where(call("not", call("is true", call("!=", "i", SEVEN)))), [[1], [2], [3]]),
    (rows_where(call("=", call("cast", "i", type="int64"), Literal(40, "int64"))), [[4]]),
    (rows_where(call("=", call("%", call("abs", "i"), SEVEN), Literal(5, "int32"))), [[0], [4]]),
    (
        rows_where(call(">", "i", SEVEN), select=("rid", "t", "m", "u")),
        [
            [4, 10**15, 10**15, 10**15],
            [5, 10**15 + 1, 10**15 + 1_000, None],
            [6, None, None, None],
        ],
    ),
    (rows_where(call("=", "s", text("it's")), select=("many", "pair")), [BLOCKS[0][0][-2:]]),
    (rows_where(None, area="limit", offset=5, select=("i",)), [[41], [42]]),
    (rows_where(call("=", "i", SEVEN), area="limit", limit=2), [[2], [3]]),
    (rows_where(None, area="topk", order=BY_I, limit=2), [[6], [5]]),
    (rows_where(None, area="topk", order=(key("i", nulls_first=True), key("rid")), limit=1), [[1]]),
    (rows_where(None, area="topk", order=(key("f"), key("rid")), limit=2, offset=1), [[0], [3]]),
    (join_question("inner", select=("rid", "u_k")), [[2, 100], [3, 100]]),
    (join_question("inner", null_safe=True, select=("rid", "u_k")), [[1, 101], [2, 100], [3, 100]]),
    (join_question("right", select=("rid", "u_k")), [[2, 100], [3, 100], [None, 101], [None, 102]]),
    (join_question("semi"), [[2], [3]]),
    (join_question("anti"), [[0], [1], [4], [5], [6]]),
    (join_question("not in"), []),
    (
        rows_where(None, area="aggregate", select=(), aggregates=AGGREGATES),
        [[7, 6, "298.75", "${spark.app.name}", (10**12 + 1) * 1_000]],
    ),
    (
        rows_where(
            call("<=", "i", SEVEN), area="aggregate", select=(), group=BY_NUMBER, aggregates=AGGREGATES[:1]
        ),
        [[-5, 1], [7, 2]],
    ),
]  # fmt: skip
FORMS = ("files", "blocks")


def columns(*names: str) -> list[dict[str, str]]:
    """Columns of the table, as the stand describes them."""
    return [{"name": name, "type": TYPES[name][0]} for name in names]


def write_parquet(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], **types: pa.DataType
) -> str:
    """Write a Parquet file with a row group for every two rows; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = [
        pa.array([_value(row[at], TYPES[name][0]) for row in rows], types.get(name, TYPES[name][1]))
        for at, name in enumerate(names)
    ]
    pq.write_table(pa.table(arrays, names=list(names)), path, row_group_size=2)
    return str(path)


def _value(value: Any, type_: str) -> Any:
    if type_.startswith("list") and value is not None:
        return [None if part is None else Decimal(part) for part in value]
    return value if type_.startswith("struct") else to_python(value, type_)


@pytest.fixture(scope="module", params=["spark", "skipproof"])
def worker(request: pytest.FixtureRequest, engine_worker: Callable[[str], Worker]) -> Worker:
    return engine_worker(request.param)


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The two tables in each form."""
    directory = tmp_path_factory.mktemp("tables")
    files = [
        write_parquet(directory / f"t/{at}.parquet", list(TYPES), block) for at, block in enumerate(BLOCKS)
    ]
    right = [{"name": "u_k", "type": "int64"}, {"name": "u_i", "type": "int32"}]
    (directory / "u").mkdir()
    ids = pa.schema({"u_k": pa.int64(), "u_i": pa.int32()})
    for at, block in enumerate(RIGHT):
        table = pa.Table.from_pylist([dict(zip(ids.names, row, strict=True)) for row in block], ids)
        pq.write_table(table, directory / f"u/{at}.parquet")
    of_right = [str(directory / f"u/{at}.parquet") for at in range(len(RIGHT))]
    left = columns(*TYPES)
    return {
        "files": {"t": {"columns": left, "files": files}, "u": {"columns": right, "files": of_right}},
        "blocks": {"t": {"columns": left, "blocks": BLOCKS}, "u": {"columns": right, "blocks": RIGHT}},
    }


def answers(worker: Worker, tables: Any, *asked: Question, **settings: str) -> list[Any]:
    """The sorted rows of each answer, or what went wrong."""
    questions = [question.json() for question in asked]
    reply = worker.ask(tables=tables, settings=settings, questions=questions)
    assert "answers" in reply, reply
    return [sorted(one["rows"], key=json.dumps) if "rows" in one else one for one in reply["answers"]]


@pytest.mark.parametrize("form", [FORMS[0], pytest.param(FORMS[1], marks=pytest.mark.deep)])
def test_every_area_is_answered_in_each_form(worker: Worker, forms: dict[str, Any], form: str) -> None:
    given = answers(worker, forms[form], *(question for question, _ in CASES))
    assert given == [sorted(rows, key=json.dumps) for _, rows in CASES]


def test_a_switch_is_set_for_one_request(worker: Worker, tmp_path: Path) -> None:
    """Spark's pushdown loses NaN and -0.0 by the bounds of this writer; with the pushdown off it has them."""
    files = [
        write_parquet(tmp_path / f"{at}.parquet", ["rid", "f"], block) for at, block in enumerate(FLOATS)
    ]
    table = {"t": {"columns": columns("rid", "f"), "files": files}}
    asked = [
        rows_where(call(">", "f", Literal(6.0, "float64"))),
        rows_where(call("=", "f", Literal(0.0, "float64"))),
    ]
    right = [[[0], [2], [7]], [[4], [6]]]
    name = "spark.sql.parquet.filterPushdown"
    assert answers(worker, table, *asked, **{name: "false"}) == right
    again = answers(worker, table, *asked)
    assert (again == right) == (worker.hello.engine == "skipproof")
    held = {"t": {"columns": columns("rid", "f"), "blocks": FLOATS}}
    assert answers(worker, held, *asked) == right


def test_no_switch_changes_an_answer(worker: Worker, forms: dict[str, Any]) -> None:
    rows = [sorted(expected, key=json.dumps) for _, expected in CASES[:2]]
    asked = [question for question, _ in CASES[:2]]
    for name, (_, other) in worker.hello.settings.items():
        assert answers(worker, forms["files"], *asked, **{name: other}) == rows, name


def test_a_decimal_has_the_scale_of_its_type(worker: Worker) -> None:
    """Java writes 2E-10 as 200E-12; alone, in a list, in a struct, and of an aggregate."""
    small, zero, long = "0.0000000002", "0.0000000000", "-9999999999999999999999999999.9999999999"
    kind = "decimal(38,10)"
    types = {"rid": "int64", "d": kind, "many": f"list({kind})", "pair": f"struct(x {kind}, y list({kind}))"}
    rows = [
        [0, small, [small, None], {"x": small, "y": [zero]}],
        [1, zero, [], None],
        [2, long, [long], {"x": None, "y": None}],
        [3, None, None, {"x": long, "y": []}],
    ]
    named = [{"name": name, "type": type_} for name, type_ in types.items()]
    table = {"t": {"columns": named, "blocks": [rows]}}
    extremes = (Aggregate("min", Column("d", kind)), Aggregate("max", Column("d", kind)))
    asked = [
        rows_where(None, select=tuple(types)),
        rows_where(None, area="aggregate", select=(), aggregates=extremes),
    ]
    assert answers(worker, table, *asked) == [rows, [[long, small]]]


@pytest.mark.parametrize(("type_", "least"), [("int8", -(2**7)), ("int16", -(2**15))])
def test_a_small_integer_is_a_literal_of_its_type(worker: Worker, type_: str, least: int) -> None:
    """So that what is beyond the type is an error, as it is of two columns; of an INT nothing is."""
    table = {"t": {"columns": [{"name": "rid", "type": type_}], "blocks": [[[least], [2], [-least - 1]]]}}
    number = Column("rid", type_)

    def beside(value: int, function: str = "=") -> Call:
        return Call(function, (number, Literal(value, type_)), type_ if function == "-" else "boolean")

    near = [rows_where(beside(value)) for value in (least, 2, -least - 1)]
    beyond = rows_where(Call("<", (beside(2, "-"), Literal(0, type_))))
    *found, error = answers(worker, table, *near, beyond)
    assert found == [[[least]], [[2]], [[-least - 1]]]
    assert "OVERFLOW" in error["error"] if pyspark.__version__ >= "4" else error == []


def test_directories_and_differing_schemas_are_read(worker: Worker, tmp_path: Path) -> None:
    """A column in directories keeps its type; a glob's characters in a name mean themselves."""
    names = [("s=01", {"s": "01"}), ("s=a[b]", {"s": "a[b]"}), ("s=__HIVE_DEFAULT_PARTITION__", {"s": None})]
    files = [
        write_parquet(tmp_path / names[0][0] / "0.parquet", ["rid", "i"], [[0, 1]]),
        write_parquet(tmp_path / names[1][0] / "0.parquet", ["i", "rid"], [[2, 1]]),
        write_parquet(tmp_path / names[2][0] / "0.parquet", ["rid"], [[2]]),
    ]
    partitions = [texts for _, texts in names]
    tables = {
        "t": {
            "columns": columns("rid", "i", "s"),
            "files": files,
            "partitions": partitions,
            "schemas_differ": True,
        }
    }
    everything = rows_where(None, select=("rid", "i", "s"))
    asked = [everything, rows_where(call("=", "s", text("a[b]"))), rows_where(call("is null", "i"))]
    expected = [[[0, 1, "01"], [1, 2, "a[b]"], [2, None, None]], [[1]], [[2]]]
    assert answers(worker, tables, *asked) == expected


def test_a_narrower_type_is_widened_or_refused(worker: Worker, tmp_path: Path) -> None:
    files = [
        write_parquet(tmp_path / "0.parquet", ["rid", "i"], [[0, 1]], rid=pa.int32(), i=pa.int16()),
        write_parquet(tmp_path / "1.parquet", ["rid", "i"], [[1, 2]]),
    ]
    tables = {"t": {"columns": columns("rid", "i"), "files": files, "schemas_differ": True}}
    asked = rows_where(call("<", "rid", Literal(1, "int64")), select=("rid", "i"))
    reply = worker.ask(tables=tables, settings={}, questions=[asked.json()])
    if pyspark.__version__ < "4":
        assert reply["kind"] == "unsupported"
    else:
        assert [one["rows"] for one in reply["answers"]] == [[[0, 1]]]


def test_an_empty_table_has_no_rows(worker: Worker) -> None:
    table = {"t": {"columns": columns("rid", "s"), "blocks": []}}
    assert answers(worker, table, rows_where(None)) == [[]]


def test_what_spark_lacks_is_said_to_be_unsupported(worker: Worker, forms: dict[str, Any]) -> None:
    unsigned = {"t": {"columns": [{"name": "rid", "type": "uint64"}], "blocks": [[[1]]]}}
    reply = worker.ask(tables=unsigned, settings={}, questions=[rows_where(None).json()])
    assert (reply["kind"], "uint64" in reply["error"]) == ("unsupported", True)
    change = rows_where(None, area="dml", change="delete")
    (answer,) = worker.ask(tables=forms["files"], settings={}, questions=[change.json()])["answers"]
    assert answer["kind"] == "unsupported"


def test_a_table_in_memory_is_grouped_without_a_shuffle(spark: SparkSession) -> None:
    """A shuffle would add a stage to each group, window and join."""
    text, _ = OnSpark().setup({"t": {"columns": columns("i"), "blocks": [[[1]], [[2]]]}}, {})

    def shuffles(text: str) -> bool:
        exec(text, {"spark": spark})
        plan = spark.table("t").groupBy("i").count()._jdf.queryExecution().executedPlan().toString()
        return "Exchange" in str(plan)

    assert not shuffles(text)
    assert shuffles(text.replace(".coalesce(1)", ""))
    spark.catalog.dropTempView("t")


def test_a_written_file_has_the_rows_in_order(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "written.parquet"
    table = {"columns": columns(*TYPES), "blocks": BLOCKS}
    reply = worker.ask(write={"table": table, "path": str(path), "options": {"compression": "gzip"}})
    assert reply.get("written"), reply
    chunk = pq.read_metadata(path).row_group(0).column(0)
    assert (chunk.compression, pq.read_table(path)["rid"].to_pylist()) == ("GZIP", list(range(7)))
    assert pq.read_schema(path).field("u").type == pa.timestamp("us", "UTC")
    everything = rows_where(None, select=tuple(TYPES))
    written = {"t": {"columns": columns(*TYPES), "files": [str(path)]}}
    assert answers(worker, written, everything) == answers(worker, {"t": table}, everything)


def test_pruning_tells_what_was_read(worker: Worker, forms: dict[str, Any]) -> None:
    question = rows_where(call("=", "i", Literal(40, "int32")))
    reply = worker.ask(tables=forms["files"], settings={}, questions=[question.json()], sources=True)
    (answer,) = reply["answers"]
    pruned = worker.hello.engine == "skipproof"
    assert answer.get("read") == ({"row_groups": 1, "of": 4} if pruned else None)
    assert ("pruning.prune" in answer["source"], "spark = builder" in answer["source"]) == (pruned, True)


KILLED = """
from skipproof.stand.adapters.on_spark import OnSpark
from skipproof.stand.adapters.serving import main

class Killed(OnSpark):
    def ask(self, question):
        if question["limit"] is None:
            return super().ask(question)
        return "java = spark.sparkContext._gateway.proc\\njava.kill()\\njava.wait()\\nanswer = []"

main(Killed())
"""


@pytest.mark.deep
def test_a_java_process_that_ended_is_noticed() -> None:
    """PySpark goes on without it; each later question would be refused."""
    alive = Question(area="filter", source=Relation(table="t"), select=("rid",))
    table = {"columns": [{"name": "rid", "type": "int64"}], "blocks": [[[7]]]}
    tables = {"t": table}
    with Worker([sys.executable, "-c", KILLED], seconds_max=60.0) as worker:

        def ask(question: Question) -> Any:
            return worker.ask(tables=tables, settings={}, questions=[question.json()])["answers"][0]["rows"]

        assert ask(alive) == [[7]]
        with pytest.raises(Died, match="Spark's Java process ended with status -9"):
            ask(replace(alive, limit=1))
        assert ask(alive) == [[7]]
