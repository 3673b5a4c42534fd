"""Adapters ask a release what it has; here releases are put together that this environment does not hold."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipproof.stand.adapters import arrow_text
from skipproof.stand.adapters.serving import Adapter, Unsupported, to_json
from strategies.engines.questions import Call, Column, Key, Literal, Question, Relation

A, RID = Column("a", "int32"), Column("rid", "int64")
COLUMNS = [{"name": column.name, "type": column.type} for column in (A, RID)]
IN_ORDER = Question(area="topk", source=Relation(table="t"), select=("a", "rid"), order=(Key(RID),))


def answer(adapter: Adapter, table: dict[str, Any], question: Question = IN_ORDER) -> Any:
    """The rows that an adapter's texts leave."""
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    text, names = adapter.setup({"t": table}, {})
    names.update(base)
    exec(text, names)
    exec(adapter.ask(question.json()), names)
    return [[to_json(cell) for cell in row] for row in names["answer"]]


@pytest.fixture
def polars() -> Any:
    pytest.importorskip("polars")
    from skipproof.stand.adapters import on_polars

    return on_polars


def test_polars_makes_files_alike_one_by_one_where_it_has_no_option_for_it(polars, monkeypatch, tmp_path):
    files = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    pq.write_table(pa.table({"a": pa.array([1], pa.int16()), "rid": pa.array([0], pa.int32())}), files[0])
    pq.write_table(pa.table({"rid": pa.array([1])}), files[1])
    pq.write_table(pa.table({"rid": pa.array([2]), "a": pa.array([3], pa.int32())}), files[2])
    monkeypatch.setattr(polars, "_UNIFIES", False)
    table = {"columns": COLUMNS, "files": files, "schemas_differ": True}
    assert answer(polars.OnPolars(), table) == [[1, 0], [None, 1], [3, 2]]


def test_polars_adds_what_directories_are_named_where_it_has_no_schema_for_them(
    polars, monkeypatch, tmp_path
):
    files = []
    for number, name in enumerate(("7", "__HIVE_DEFAULT_PARTITION__", "-1")):
        directory = Path(tmp_path, f"a={name}")
        directory.mkdir()
        files.append(str(directory / "part.parquet"))
        pq.write_table(pa.table({"rid": pa.array([number])}), files[-1])
    keyword = polars.keyword
    monkeypatch.setattr(
        polars, "keyword", lambda of, *names: None if "hive_schema" in names else keyword(of, *names)
    )
    table = {"columns": COLUMNS, "files": files, "partitions": [{"a": "7"}, {"a": None}, {"a": "-1"}]}
    assert answer(polars.OnPolars(), table) == [[7, 0], [None, 1], [-1, 2]]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_polars_sorts_by_what_is_null_first_where_null_cannot_be_placed(
    polars, monkeypatch, descending, nulls_first
):
    from skipproof.stand.adapters import polars_chains

    question = Question(
        area="topk",
        source=Relation(table="t"),
        select=("a", "rid"),
        order=(Key(A, descending, nulls_first), Key(RID, not descending, not nulls_first)),
    )
    table = {"columns": COLUMNS, "blocks": [[[2, 0], [None, 1], [2, 2]], [[1, 3], [None, 4]]]}
    as_it_is = answer(polars.OnPolars(), table, question)
    monkeypatch.setattr(polars_chains, "_sorts", lambda *_: False)
    assert answer(polars.OnPolars(), table, question) == as_it_is


def test_polars_offers_the_ways_to_read_that_it_takes(polars):
    strategies = polars._settings()["parallel"]
    assert strategies[0] == "auto"
    assert {"row_groups", "columns", "none"} <= set(strategies)


def test_polars_streams_by_the_argument_that_it_takes(polars, monkeypatch):
    monkeypatch.setattr(polars, "works", lambda _: False)
    polars._streaming_argument.cache_clear()
    monkeypatch.setattr(polars, "keyword", lambda *_: "streaming")
    assert polars._streaming_argument() == "streaming=True"
    polars._streaming_argument.cache_clear()
    monkeypatch.setattr(polars, "keyword", lambda *_: None)
    assert polars._streaming_argument() is None
    polars._streaming_argument.cache_clear()


def test_datafusion_names_the_types_of_directories_as_the_release_takes_them(monkeypatch):
    pytest.importorskip("datafusion")
    from skipproof.stand.adapters import on_datafusion

    assert on_datafusion._partition_type("int64") == "pa.int64()"
    monkeypatch.setattr(on_datafusion, "_partitions_by", lambda text: text in ("'string'", "'int'"))
    assert on_datafusion._partition_type("int32") == "'int'"
    for type_ in ("int64", "date"):
        with pytest.raises(Unsupported, match=type_):
            on_datafusion._partition_type(type_)


def test_deltalake_takes_batches_in_each_form_that_releases_give():
    pytest.importorskip("deltalake")
    from skipproof.stand.adapters import on_deltalake

    class Fetched:
        def fetchall(self) -> list[pa.RecordBatch]:
            return batches

    batches = pa.table({"a": [1, 2]}).to_batches()
    names: dict[str, Any] = {"pa": pa}
    exec(on_deltalake._READ, names)
    for found in (batches, Fetched(), pa.table({"a": [1, 2]})):
        assert names["batches"](found) == batches


@pytest.fixture
def early_iceberg(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter over a PyIceberg without appends in transactions, deletes and the adding of files."""
    pytest.importorskip("pyiceberg")
    from skipproof.stand.adapters import iceberg_tables, on_iceberg

    append = iceberg_tables.Transaction.append

    def alone(table: Any, block: pa.Table) -> None:
        transaction = table.transaction()
        append(transaction, block)
        transaction.commit_transaction()

    monkeypatch.setattr(on_iceberg.Table, "append", alone)
    monkeypatch.delattr(iceberg_tables.Transaction, "append")
    monkeypatch.delattr(on_iceberg.Table, "delete")
    monkeypatch.delattr(on_iceberg.Table, "add_files")
    return on_iceberg


@pytest.mark.parametrize("statistics", [True, False])
def test_iceberg_makes_tables_where_each_append_is_a_transaction(early_iceberg, statistics):
    adapter = early_iceberg.OnIceberg()
    said = adapter.hello()
    assert "dml" not in said["areas"]
    assert said["layouts"]["partition"] == []
    table = {"columns": COLUMNS, "blocks": [[[5, 0], [None, 1]], [[7, 2]]], "statistics": statistics}
    question = Question(area="filter", source=Relation(table="t"), select=("a", "rid"))
    assert sorted(answer(adapter, table, question), key=str) == [[5, 0], [7, 2], [None, 1]]
    files = list(Path(adapter.tables.names["directory"].name).rglob("*.parquet"))
    column = [pq.ParquetFile(file).metadata.row_group(0).column(0) for file in files]
    assert [one.statistics is not None for one in column] == [statistics] * 2


def test_nan_is_asked_for_by_a_function_since_expressions_have_no_such_method_in_early_releases():
    text = arrow_text.arrow_expression({"call": "is nan", "of": [{"column": "a"}]})
    assert text == "pc.is_nan(pc.field('a'))"


@pytest.fixture
def iceberg() -> Any:
    pytest.importorskip("pyiceberg")
    from skipproof.stand.adapters import on_iceberg

    return on_iceberg


def test_iceberg_is_not_asked_of_buckets_where_what_computes_them_is_missing(iceberg, monkeypatch):
    with_core = [one["value"]["transform"] for one in iceberg.OnIceberg().hello()["layouts"]["partition"]]
    # A module of that name that cannot be imported, as where there is none.
    monkeypatch.setitem(sys.modules, "pyiceberg_core", None)
    without = [one["value"]["transform"] for one in iceberg.OnIceberg().hello()["layouts"]["partition"]]
    assert "identity" in without
    assert set(with_core) - set(without) >= {"bucket(2)"}


@pytest.mark.parametrize("takes_times", [True, False])
@pytest.mark.parametrize(
    ("type_", "cell"), [("date", -5), ("timestamp(us)", -1), ("timestamp(us,UTC)", 1_000_001)]
)
def test_iceberg_compares_times_as_the_release_takes_them(iceberg, monkeypatch, takes_times, type_, cell):
    monkeypatch.setattr(iceberg, "_takes_times", lambda: takes_times)
    column = Column("a", type_)
    table = {
        "columns": [{"name": "a", "type": type_}, COLUMNS[1]],
        "blocks": [[[cell, 0], [cell + 1, 1]], [[None, 2]]],
    }
    where = Call("<=", (column, Literal(cell, type_)))
    question = Question(area="filter", source=Relation(table="t", where=where), select=("a", "rid"))
    assert answer(iceberg.OnIceberg(), table, question) == [[cell, 0]]


@pytest.mark.parametrize(("limit", "offset", "count"), [(None, 2, 3), (2, 1, 2), (3, 4, 1), (1, 7, 0)])
def test_iceberg_takes_an_offset_from_the_rows_that_it_found(iceberg, limit, offset, count):
    table = {"columns": COLUMNS, "blocks": [[[1, 0], [1, 1]], [[1, 2], [1, 3], [1, 4]]]}
    question = Question(area="limit", source=Relation(table="t"), select=("rid",), limit=limit, offset=offset)
    found = answer(iceberg.OnIceberg(), table, question)
    assert len(found) == len(set(map(tuple, found))) == count


def test_deltalake_is_told_no_statistics_of_bytes_where_it_refuses_them(monkeypatch):
    pytest.importorskip("deltalake")
    from skipproof.stand.adapters import delta_tables, on_deltalake

    table = {"columns": [{"name": "a", "type": "binary"}, COLUMNS[1]], "blocks": [[["00", 0]]]}
    table["layout"] = {"stats_columns": "a"}
    monkeypatch.setattr(delta_tables, "has_statistics_of_bytes", lambda: False)
    with pytest.raises(Unsupported, match="statistics of bytes"):
        on_deltalake.OnDeltaLake().setup({"t": table}, {})
    table["layout"] = {"stats_columns": "rid"}
    assert "configuration" in on_deltalake.OnDeltaLake().setup({"t": table}, {})[0]


def test_deltalake_without_queries_is_asked_what_a_scan_answers(monkeypatch):
    deltalake = pytest.importorskip("deltalake")
    from skipproof.stand.adapters import on_deltalake

    monkeypatch.delattr(deltalake, "QueryBuilder", raising=False)
    said = on_deltalake.OnDeltaLake().hello()
    assert said["settings"] == {"reader": ["pyarrow"]}
    assert {"group by", "limited relation", "null in list"} <= set(said["without"]["functions"])
    assert not {"topk", "join"}.intersection(said["areas"])


def test_iceberg_has_no_partitions_by_transforms_whose_package_is_missing(iceberg, monkeypatch):
    from pyiceberg.transforms import BucketTransform

    from skipproof.stand.adapters import iceberg_tables

    def missing(*_: object) -> None:
        raise ModuleNotFoundError

    monkeypatch.setattr(BucketTransform, "pyarrow_transform", missing)
    offered = [one["value"]["transform"] for one in iceberg_tables._partitions()]
    assert "identity" in offered
    assert "bucket(2)" not in offered
