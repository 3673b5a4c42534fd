"""Trivial mutants: three plain questions about one small table reveal them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mutants.source.copies import EngineCopy
from mutants.source.source_mutants import SourceMutant
from strategies.engines.questions import Aggregate, Call, Column, Literal, Question, Relation

_COLUMN = Column("a", "int64")
_BLOCKS = ((1, 2, 3), (4, 5, 6), (7, 8, None))
_BELOW_FIVE = Call("<", (_COLUMN, Literal(5, "int64")), "boolean")
_QUESTIONS = (
    Question(area="filter", source=Relation(table="t"), select=("a",)),
    Question(area="filter", source=Relation(table="t", where=_BELOW_FIVE), select=("a",)),
    Question(area="aggregate", source=Relation(table="t"), aggregates=(Aggregate("count"),)),
)
_CHANGES = (
    Question(area="dml", source=Relation(table="t", where=_BELOW_FIVE), select=("a",), change="delete"),
    Question(
        area="dml",
        source=Relation(table="t", where=_BELOW_FIVE),
        select=("a",),
        change="a",
        to=Literal(0, "int64"),
    ),
    _QUESTIONS[1],
)


def trivial_mutants(mutants: Sequence[SourceMutant]) -> frozenset[str]:
    """Return the names of the mutants that answer one of three plain questions wrongly."""
    with TemporaryDirectory(prefix="skipproof-") as directory:
        requests = {
            tables: _request(tables, Path(directory) / f"{tables}.parquet") for tables in ("files", "own")
        }
        right = {tables: EngineCopy(tables=tables).ask(**request) for tables, request in requests.items()}
        return frozenset(
            mutant.name
            for mutant in mutants
            if EngineCopy(mutant, tables=mutant.tables).ask(**requests[mutant.tables]) != right[mutant.tables]
        )


def _request(tables: str, path: Path) -> Mapping[str, Any]:
    """Return the request about the table, for one of the forms of tables."""
    form: dict[str, Any] = {"columns": [{"name": _COLUMN.name, "type": _COLUMN.type}]}
    if tables == "own":
        form["blocks"] = [[[value] for value in block] for block in _BLOCKS]
    else:
        values = [value for block in _BLOCKS for value in block]
        pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), path, row_group_size=len(_BLOCKS[0]))
        form["files"] = [str(path)]
    questions = _QUESTIONS if tables == "files" else _CHANGES
    return {
        "tables": {"t": form},
        "settings": {},
        "questions": [question.json() for question in questions],
        "sources": False,
    }
