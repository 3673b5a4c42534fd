"""A table is written as ORC for the engines that read it, if every reader of ORC reads the same rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, find, settings
from pyarrow import orc

from skipproof.stand.hunt.examining import plain_form, pruned_form
from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.hunt.varying import variations
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.workers import Worker
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import ALONE, ORC, StoredLayout, StoredTable
from strategies.engines.files import ORC_OPTIONS, is_possible_in_orc, write_stored
from strategies.engines.questions import Column, Question, Relation
from strategies.engines.worlds import World, worlds

RID = Column("rid", "int64")
GREGORIAN_DAY = -141_427


def table(type_: str, *blocks: list[Any], **options: Any) -> StoredTable:
    """A table of a column in blocks, whose files are ORC."""
    numbered = tuple(tuple((cell, row) for row, cell in enumerate(block)) for block in blocks)
    layout = StoredLayout(writer=ORC, format_options=options)
    return StoredTable(columns=(Column("a", type_), RID), blocks=numbered, layout=layout)


@pytest.mark.parametrize(
    ("type_", "cells", "is_possible"),
    [
        ("int8", [-1, None], True),
        ("uint8", [1], False),
        ("date", [GREGORIAN_DAY, None], True),
        ("date", [GREGORIAN_DAY - 1], False),
        ("timestamp(us)", [GREGORIAN_DAY * 86_400_000_000], True),
        ("timestamp(us)", [GREGORIAN_DAY * 86_400_000_000 - 1], False),
        ("timestamp(ms)", [GREGORIAN_DAY * 86_400_000 - 1], False),
    ],
)
def test_a_table_is_orc_if_every_reader_reads_the_same_rows(
    tmp_path: Path, type_: str, cells: list[Any], is_possible: bool
) -> None:
    """ORC has no unsigned integers, and readers in Java shift days before the Gregorian calendar."""
    stored = table(type_, cells)
    assert is_possible_in_orc(stored) is is_possible
    assert [path.suffix for path in write_stored(stored, tmp_path)] == [".orc" if is_possible else ".parquet"]


def test_a_block_of_texts_is_a_stripe_where_stripes_are_small(tmp_path: Path) -> None:
    blocks: list[list[Any]] = [["a", "b"], [], [None, "c"]]
    for name, options, stripes in (("large", {}, 1), ("small", {"stripe_size": 1}, 2)):
        (tmp_path / name).mkdir()
        (path,) = write_stored(table("string", *blocks, **options), tmp_path / name)
        file = orc.ORCFile(path)
        assert file.nstripes == stripes
        assert file.read().column("a").to_pylist() == ["a", "b", None, "c"]


def test_every_option_of_orc_is_written(tmp_path: Path) -> None:
    for name, values in ORC_OPTIONS.items():
        for number, value in enumerate(values):
            place = tmp_path / f"{name}{number}"
            place.mkdir()
            value = {"{a}": "a", "{b}": "rid", "{rid}": "rid"}.get(value, value)
            (path,) = write_stored(table("string", ["x", None]), place)
            (other,) = write_stored(table("string", ["x", None], **{name: value}), place)
            assert other.suffix == path.suffix
            assert orc.ORCFile(other).read().equals(pa.table({"a": ["x", None], "rid": [0, 1]}))


def test_a_form_says_that_its_files_are_orc(tmp_path: Path) -> None:
    form = pruned_form(SmallEngine(), table("int32", [1]), tmp_path / "t", write_stored)
    assert form["format"] == "orc"
    form = pruned_form(SmallEngine(), table("uint8", [1]), tmp_path / "u", write_stored)
    assert "format" not in form
    assert "format" not in plain_form(SmallEngine(), table("int32", [1]))


def test_every_variation_of_a_finding_in_orc_is_written(tmp_path: Path) -> None:
    """The statistics of ORC files are never dropped; those of a table of Parquet beside them are."""
    question = Question(area="filter", source=Relation(table="t"), select=("a",))
    tables = {"t": table("int32", [1, None], [2]), "u": table("int32", [1])}
    tables["u"] = replace(tables["u"], layout=StoredLayout())
    world = World(tables=tables, settings={}, questions=(question,))
    names = set()
    for number, (cure, variation) in enumerate(variations(world, switches={}, own_tables=False)):
        names.add(cure.name)
        for name, stored in variation.tables.items():
            pruned_form(SmallEngine(), stored, tmp_path / f"{name}{number}", write_stored)
    assert {"without bounds", "without statistics in the footer", "written by pyarrow"} <= names


@pytest.mark.spark
@pytest.mark.deep
def test_spark_reads_orc_but_no_timestamps_of_it(
    engine_worker: Callable[[str], Worker], tmp_path: Path
) -> None:
    """Of the two, skipproof prunes Parquet alone."""
    pytest.importorskip("pyspark")
    spark = engine_worker("spark")
    assert "orc" in spark.hello.formats
    assert "orc" not in engine_worker("skipproof").hello.formats
    question = Question(area="filter", source=Relation(table="t"), select=("a",)).json()
    for type_, cell in (("int32", 5), ("date", GREGORIAN_DAY), ("decimal(9,2)", "1.50"), ("string", "é")):
        form = pruned_form(spark, table(type_, [cell, None]), tmp_path / type_, write_stored)
        assert form["format"] == "orc"
        (answer,) = spark.ask(tables={"t": form}, settings={}, questions=[question])["answers"]
        assert answer == {"rows": [[cell], [None]]}
    form = pruned_form(spark, table("timestamp(us)", [0]), tmp_path / "times", write_stored)
    assert spark.ask(tables={"t": form}, settings={}, questions=[question])["kind"] == "unsupported"


def test_orc_is_drawn_for_engines_that_read_it_alone() -> None:
    engine = SmallEngine()
    assert dict(capabilities(engine).writers) == dict(ALONE)
    engine.hello = replace(engine.hello, formats=frozenset({"parquet", "orc"}))
    assert set(capabilities(engine).writers) == {*ALONE, ORC}
    able = Capabilities(writers={**ALONE, ORC: ORC_OPTIONS})
    find(
        worlds(able),
        lambda world: any(
            stored.layout.writer == ORC and stored.layout.format_options for stored in world.tables.values()
        ),
        settings=settings(max_examples=500, database=None, phases=(Phase.generate,)),
    )
