"""Every engine reads the texts of partitions from directories that are named as Hive and Spark name them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from needs import needs_package

from skipproof.stand.hunt.examining import pruned_form
from skipproof.stand.workers.workers import Worker
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import Call, Column, Json, Literal, Question, Relation

A, RID = Column("a", "string"), Column("rid", "int64")
# Of one to four bytes in UTF-8, a letter outside the basic plane among them; and what is escaped.
TEXTS = ("a", "é", "中", "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff", "é%", "%41", "[x]", "\t", " ", '"')
ENGINES = [
    pytest.param("arrow", "pyarrow"),
    pytest.param("datafusion", "datafusion"),
    pytest.param("duckdb", "duckdb"),
    pytest.param("polars", "polars"),
    pytest.param("spark", "pyspark", marks=pytest.mark.spark),
    pytest.param("skipproof", "pyspark", marks=[pytest.mark.spark, pytest.mark.deep]),
]


def ask_worker(worker: Worker, table: StoredTable, directory: Path, *questions: Question) -> dict[str, Any]:
    """Ask an engine questions about a partitioned table."""
    form = pruned_form(worker, table, directory / "t", write_stored)
    return worker.ask(tables={"t": form}, settings={}, questions=[one.json() for one in questions])


def partitioned_table(*values: Json) -> StoredTable:
    """Return a table with a directory of one row for each value."""
    blocks = tuple(((value, number),) for number, value in enumerate(values))
    return StoredTable(
        columns=(A, RID), blocks=blocks, layout=StoredLayout(partitioned=True, blocks_per_file=1)
    )


def rows_where(where: Call | None) -> Question:
    """Return a question for the rows that satisfy a condition."""
    return Question(area="filter", source=Relation(table="t", where=where), select=("rid", "a"))


def test_directories_are_named_as_hive_names_them(tmp_path: Path) -> None:
    """As `ExternalCatalogUtils.escapePathName` of Spark does; it leaves what is not ASCII, and } and <."""
    texts = ("é", "\U0010ffff", "a b", "%", "a=b/c:d", "{}[]<>", "'\"\\", "\t\x7f", "#*?^", "~&+|", None, "")
    names = [path.parent.name for path in write_stored(partitioned_table(*texts), tmp_path)]
    assert names == [
        "a=é", "a=\U0010ffff", "a=a b", "a=%25", "a=a%3Db%2Fc%3Ad", "a=%7B}%5B%5D<>", "a=%27%22%5C",
        "a=%09%7F", "a=%23%2A%3F%5E", "a=~&+|", "a=__HIVE_DEFAULT_PARTITION__", "a=",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "package"), ENGINES)
def test_an_engine_reads_the_texts_of_directories(
    name: str, package: str, engine_worker: Callable[[str], Worker], tmp_path: Path
) -> None:
    needs_package(package)
    equal = [rows_where(Call("=", (A, Literal(text, "string")))) for text in TEXTS]
    reply = ask_worker(engine_worker(name), partitioned_table(*TEXTS), tmp_path, rows_where(None), *equal)
    whole, *each = [sorted(answer["rows"]) for answer in reply["answers"]]
    assert whole == [[number, text] for number, text in enumerate(TEXTS)]
    assert each == [[row] for row in whole]


@pytest.mark.spark
def test_spark_is_not_asked_of_a_directory_without_a_value(
    engine_worker: Callable[[str], Worker], tmp_path: Path
) -> None:
    """It refuses what others write for the empty text."""
    reply = ask_worker(engine_worker("spark"), partitioned_table("", "a"), tmp_path, rows_where(None))
    assert reply["kind"] == "unsupported", reply
