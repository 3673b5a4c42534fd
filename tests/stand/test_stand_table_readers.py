"""Engines read tables of a format that another library writes, and are compared with their own memory."""

import contextlib
import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from needs import needs_package

from skipproof.stand.adapters import table_formats
from skipproof.stand.adapters.serving import Unsupported, to_json
from skipproof.stand.reference.cases import Case
from skipproof.stand.reference.meanings import difference_name
from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Hello
from strategies.engines.engine_tables import StoredTable, format_options
from strategies.engines.questions import Aggregate, Call, Column, Literal, Question, Relation

READERS = {
    "polars-delta": ("polars", "deltalake"),
    "polars-iceberg": ("polars", "pyiceberg"),
    "datafusion-delta": ("datafusion", "deltalake"),
    "datafusion-iceberg": ("datafusion", "pyiceberg", "pyiceberg_core"),
    "duckdb-delta": ("duckdb", "deltalake"),
    "duckdb-iceberg": ("duckdb", "pyiceberg"),
}
A, D, RID = Column("a", "int64"), Column("d", "decimal(9,2)"), Column("rid", "int64")
COLUMNS = [{"name": column.name, "type": column.type} for column in (A, D, RID)]
BLOCKS = [
    [[1, "-5.00", 0], [2, "-4.00", 1]],
    [[None, None, 2]],
    [[8, "2.50", 3], [9, None, 4], [9, "9.00", 5]],
]
TABLE = {"columns": COLUMNS, "blocks": BLOCKS}
PLAIN = {**TABLE, "statistics": False}
ABOVE = Question(
    area="filter",
    source=Relation(table="t", where=Call(">", (A, Literal(8, "int64")))),
    select=("rid", "d"),
)


def reader(name: str) -> Any:
    """Return the adapter of an engine in this process; skip the test if it cannot be used here."""
    for package in READERS[name]:
        needs_package(package)
    try:
        return importlib.import_module(f"skipproof.stand.adapters.on_{name.replace('-', '_')}").ADAPTER()
    except SystemExit as refusal:
        pytest.skip(str(refusal))


def run(adapter: Any, table: dict[str, Any], settings: dict[str, str], names: dict[str, Any]) -> None:
    """Make and open a table."""
    exec(adapter.start(), names)
    text, objects = adapter.setup({"t": table}, settings)
    names.update(objects)
    exec(text, names)


def rows(adapter: Any, names: dict[str, Any], question: Question = ABOVE) -> list[list[Any]]:
    """Return the sorted rows of an answer."""
    exec(adapter.ask(question.json()), names)
    return sorted([to_json(cell) for cell in row] for row in names["answer"])


@pytest.mark.parametrize("name", READERS)
def test_both_forms_of_a_table_give_the_same_rows(name):
    """The plain form is in the engine's memory, and no table of the format."""
    adapter = reader(name)
    settings = [{}, *({switch: values[-1]} for switch, values in adapter._settings.items())]
    for chosen, table in [*((some, TABLE) for some in settings), ({}, PLAIN)]:
        names: dict[str, Any] = {}
        run(adapter, table, chosen, names)
        assert rows(adapter, names) == [[4, None], [5, "9.00"]]
        counts = Question(
            area="aggregate", source=Relation(table="t"), aggregates=(Aggregate("count"), Aggregate("max", A))
        )
        assert rows(adapter, names, counts) == [[6, 9]]
        assert ("tables" in names) == (table is TABLE)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_the_log_rules_out_is_not_read(name):
    """Without this, both forms could be alike because nothing is ever skipped."""
    adapter = reader(name)
    names: dict[str, Any] = {}
    # The table provider of delta-rs reads the footer of each file, and then prunes row groups.
    settings = {"through": "dataset"} if name == "datafusion-delta" else {}
    run(adapter, TABLE, settings, names)
    directory = Path(names["directory"].name)
    files = list(directory.rglob("*.parquet"))
    (ruled_out,) = [file for file in files if pq.read_table(file).column("rid").to_pylist() == [0, 1]]
    ruled_out.write_bytes(b"no Parquet file")
    assert rows(adapter, names) == [[4, None], [5, "9.00"]]


def test_a_reader_says_what_it_reads_of_a_format(monkeypatch):
    adapter = reader("polars-delta")
    monkeypatch.setattr(table_formats, "_CELLS", {"int64": 1, "uint64": 1, "decimal(9,2)": "1.50"})
    opened = adapter.open
    monkeypatch.setattr(
        adapter, "open", lambda *of: opened(*of) + "assert pl.Decimal not in map(type, t.collect().dtypes)\n"
    )
    hello = adapter.hello()
    assert (hello["engine"], hello["reader"], hello["tables"]) == ("polars-delta", "polars", "own")
    assert hello["version"].partition("+")[2].startswith("deltalake.")
    assert set(hello["settings"]) == {"streaming", "use_pyarrow"}
    missing = set(hello["without"]["types"])
    assert {"uint64", "decimal(9,2)"} <= missing
    assert "int64" not in missing
    assert hello["layouts"]["blocks_per_append"]


def test_the_meanings_of_a_reader_are_those_of_its_engine():
    column = Column("a", "float64")
    question = Question(area="aggregate", source=Relation(table="t"), aggregates=(Aggregate("max", column),))
    table = StoredTable(columns=(column, RID), blocks=((("NaN", 0),),))
    case = Case(question, {"t": table})
    message = {
        "protocol": 1,
        "engine": "polars-delta",
        "version": "2.1.0+deltalake.1",
        "areas": ["aggregate"],
    }
    hello = Hello.from_message({**message, "reader": "polars"})
    assert difference_name(hello, case) == "the maximum with NaN"
    assert difference_name(replace(hello, reader="polars-delta"), case) == "NaN"


def test_each_package_of_a_reader_is_needed(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "deltalake" else find_spec(name, *more),
    )
    needs_package("polars")
    with pytest.raises(ValueError, match="polars-delta needs the package deltalake"):
        find_engine("polars-delta")


def write_table(table_format: Any, layout: dict[str, Any]) -> tuple[Any, list[pq.ParquetFile]]:
    """Return the library's table of a layout, and its data files."""
    text, names = table_format.creation({"t": {**TABLE, "layout": layout}})
    exec(text, names)
    files = sorted(Path(names["directory"].name).rglob("*.parquet"))
    return names["tables"]["t"], [pq.ParquetFile(file) for file in files]


def groups(files: list[pq.ParquetFile]) -> list[list[int]]:
    """Return the numbers of rows of the row groups of files."""
    return sorted(
        [file.metadata.row_group(at).num_rows for at in range(file.metadata.num_row_groups)] for file in files
    )


def test_the_writer_of_delta_spreads_rows_as_a_layout_says():
    needs_package("deltalake")
    from skipproof.stand.adapters.delta_tables import DeltaTables

    tables = DeltaTables()
    table, files = write_table(tables, {})
    assert (table.version(), groups(files)) == (2, [[1], [2], [3]])
    table, files = write_table(tables, {"blocks_per_append": 2})
    assert (table.version(), groups(files)) == (1, [[3], [3]])
    assert groups(write_table(tables, {"rows_per_group": 2})[1]) == [[2, 2, 2]]
    assert groups(write_table(tables, {"blocks_per_append": 1, "rows_per_group": 2})[1]) == [[1], [2], [2, 1]]
    assert len(write_table(tables, {"bytes_per_file": 1})[1]) > 1
    _, files = write_table(tables, {"blocks_per_append": 3, "bloom_filters": "a", "rows_per_page": 1})
    sizes = [file.metadata.row_group(0).column(0).to_dict() for file in files]
    assert len(sizes) == 1
    with pytest.raises(Unsupported, match="rows_per_file"):
        write_table(tables, {"rows_per_file": 1})


def test_the_writer_of_pyarrow_fills_its_groups():
    """Early releases of delta-rs write by pyarrow; groups must not be larger than files."""
    needs_package("deltalake")
    from skipproof.stand.adapters import delta_tables

    assert delta_tables._arguments_of_arrow({}) == []
    assert delta_tables._arguments_of_arrow({"rows_per_file": 2, "rows_per_group": 4}) == [
        "max_rows_per_group=2",
        "min_rows_per_group=2",
        "max_rows_per_file=2",
    ]
    with pytest.raises(Unsupported, match="bytes_per_file"):
        delta_tables._arguments_of_arrow({"bytes_per_file": 1})


def test_options_that_a_release_does_not_take_are_not_offered(monkeypatch):
    needs_package("deltalake")
    from skipproof.stand.adapters import delta_tables

    assert "rows_per_file" not in delta_tables.DeltaTables().layouts()
    monkeypatch.setattr(delta_tables, "_writer_arguments", lambda: frozenset({"max_rows_per_file"}))
    offered = delta_tables.DeltaTables().layouts()
    assert not {"bytes_per_file", "rows_per_page", "bloom_filters"} & offered.keys()


def test_the_writer_of_iceberg_spreads_rows_as_a_layout_says():
    needs_package("pyiceberg")
    from skipproof.stand.adapters.iceberg_tables import IcebergTables

    tables = IcebergTables()
    table, files = write_table(tables, {})
    assert (len(table.snapshots()), groups(files)) == (3, [[1], [2], [3]])
    table, files = write_table(tables, {"blocks_per_append": 2, "rows_per_group": 1})
    assert (len(table.snapshots()), groups(files)) == (2, [[1, 1, 1], [1, 1, 1]])
    assert groups(write_table(tables, {"rows_per_group": 4})[1]) == [[4, 2]]


@pytest.mark.parametrize(
    ("module", "name", "layout"),
    [
        ("delta_tables", "DeltaTables", {"partition_by": "a"}),
        ("iceberg_tables", "IcebergTables", {"partition": {"column": "a", "transform": "identity"}}),
    ],
)
def test_long_texts_name_no_directories(module, name, layout):
    """A file system refuses such a name, which is no fault of the engine."""
    needs_package({"delta_tables": "deltalake", "iceberg_tables": "pyiceberg"}[module])
    tables = getattr(importlib.import_module(f"skipproof.stand.adapters.{module}"), name)()
    columns = [{"name": "a", "type": "string"}]
    for text, outcome in (("z" * 20, contextlib.nullcontext()), ("z" * 300, pytest.raises(Unsupported))):
        with outcome:
            tables.creation({"t": {"columns": columns, "blocks": [[[text]]], "layout": layout}})


@pytest.mark.parametrize(
    ("module", "name", "option", "type_"),
    [
        ("delta_tables", "DeltaTables", "partition_by", "string"),
        ("iceberg_tables", "IcebergTables", "partition", "string"),
        ("iceberg_tables", "IcebergTables", "partition", "date"),
    ],
)
def test_a_large_table_has_no_directory_for_each_value_of_a_column(module, name, option, type_):
    """Thousands of files take longer to write than all questions about the table."""
    needs_package({"delta_tables": "deltalake", "iceberg_tables": "pyiceberg"}[module])
    layouts = getattr(importlib.import_module(f"skipproof.stand.adapters.{module}"), name)().layouts()
    columns = (Column("a", type_), RID)
    of_few_values = {"None", str({"column": "a", "transform": "bucket(2)"})}
    partitions: dict[int, set[str]] = {100: set(), 10_000: set()}
    sizes = st.sampled_from(sorted(partitions))

    @settings(max_examples=200, phases=(Phase.generate,), derandomize=True, database=None, deadline=None)
    @given(sizes.flatmap(lambda rows: st.tuples(st.just(rows), format_options(columns, layouts, rows=rows))))
    def look(pair):
        rows, options = pair
        partitions[rows].add(str(options.get(option)))

    look()
    assert partitions[100] - of_few_values
    assert partitions[10_000] <= of_few_values
