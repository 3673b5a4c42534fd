"""COLUMNS-1: `classify` of paths reads the columns that a predicate names, and the verdicts stay the same."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from measuring_here import measure_in_process

import pruning
from mutants.metadata.columns_of_metadata import MUTANTS
from oracles.answers.frames import session
from oracles.answers.unpruned import needs_ansi
from pruning.expressions.sql import to_sql
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Column, Expression
from strategies.base.files import write_files
from strategies.base.layouts import tables
from strategies.predicates.predicates import predicates

PREDICATES = 4


def nothing_more(path: Path) -> None:
    """Leave the metadata at what the footers state."""


def backfill(path: Path) -> None:
    """Measure the bounds and counts of all columns."""
    with measure_in_process():
        assert not pruning.backfill(path).failures


MORE_FACTS: tuple[Callable[[Path], object], ...] = (nothing_more, backfill, pruning.index)


def check_verdicts(path: Path, sql: str) -> list[int]:
    """Return the verdicts by the columns that a predicate names, which must be those by all columns."""
    verdicts: list[int] = pruning.classify(sql, path).to_pylist()
    assert verdicts == pruning.classify(sql, pruning.collect(path)).to_pylist(), sql
    return verdicts


def in_other_case(predicate: Expression) -> Expression:
    """Return the predicate with the letter case of each name swapped, unless that changes its letters."""
    swapped = {name: name.swapcase() for name in columns(predicate)}
    same = {name: other for name, other in swapped.items() if other.lower() == name.lower()}
    return substitute(
        predicate,
        {
            Column(name, type_): Column(same.get(name, name), type_)
            for name, type_ in columns(predicate).items()
        },
    )


@examples(0.1)
@given(st.data())
def test_verdicts_by_the_named_columns_are_those_by_all(spark: Any, data: st.DataObject) -> None:
    """COLUMNS-1. Whether or not the metadata is kept, measured or indexed, in any letter case of names."""
    table = data.draw(tables(max_rows=4))
    drawn = [data.draw(predicates(table, max_leaves=5)) for _ in range(PREDICATES)]
    with TemporaryDirectory() as directory:
        path = Path(directory)
        write_files(table, path, statistics=data.draw(st.booleans()))
        data.draw(st.sampled_from(MORE_FACTS))(path)
        for predicate in drawn:
            names = in_other_case(predicate) if data.draw(st.booleans()) else predicate
            with session(spark, ansi=needs_ansi(predicate)):
                verdicts = check_verdicts(path, to_sql(names))
            event(f"{len(columns(predicate))} of {len(table.columns)} columns, {sorted(set(verdicts))}")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two row groups of columns that footers, an index or a function's name decide on."""
    table = pa.table(
        {
            "x": [1, 9, 1, 9],
            "Y": [1, 2, 3, 4],
            "current_user": ["", "a", "b", "c"],
            # A part without metadata keeps the type of the whole column beside the metadata of the others.
            "s": [{"z": number, "map": [("k", number)], "lists": [[number]]} for number in range(4)],
            "unnamed": [1, 2, 3, 4],
        },
        schema=pa.schema(
            {
                "x": pa.int64(),
                "Y": pa.int64(),
                "current_user": pa.string(),
                "s": pa.struct(
                    {
                        "z": pa.int64(),
                        "map": pa.map_(pa.string(), pa.int64()),
                        "lists": pa.list_(pa.list_(pa.int64())),
                    }
                ),
                "unnamed": pa.int64(),
            }
        ),
    )
    path = tmp_path_factory.mktemp("lake")
    pq.write_table(table, path / "0.parquet", row_group_size=2)
    pruning.index(path, ["x"])
    return path


#          predicate               verdicts
DECIDED = {
    "x = 5": [0, 0],
    "y < 3": [2, 0],
    "Y < 3 AND x = 1": [1, 0],
    "`current_user` >= 'b'": [0, 2],
    "s.z > 1": [0, 2],
    "S.`Z` > 1 AND s.map['k'] > 2": [0, 1],
    "S.`Z` > 1 AND s.lists[0][0] > 7": [0, 1],
    "unnamed IN (SELECT 3)": [1, 1],
    "exists(array(1, 2), one -> one = y + 4)": [1, 1],
}


@pytest.mark.parametrize("sql", DECIDED)
def test_blocks_are_decided_by_the_named_columns(spark: Any, lake: Path, sql: str) -> None:
    """Without this, COLUMNS-1 could hold because nothing is ever decided."""
    assert check_verdicts(lake, sql) == DECIDED[sql]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_dies(spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """COLUMNS-1 kills it on one of these predicates. Its metadata is read of the file, not of the store."""
    shutil.rmtree(lake / ".skipproof" / "_store", ignore_errors=True)
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        assert [check_verdicts(lake, sql) for sql in DECIDED]
