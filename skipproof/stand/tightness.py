"""How much of what could be skipped an engine skips, by canaries: it need not tell itself.

*Skippable* is a row group with rows of which none satisfies the condition; no pruner can skip more, and one
that knows minima and maxima alone may know less. *Skipped* is a skippable row group of which the canary gives
no row.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from oracles.canaries import canary
from skipproof.stand.causes import family
from skipproof.stand.examining import Outcome, Write, ask_each
from skipproof.stand.workers import Asked
from strategies.engine_files import arrow_array, arrow_table
from strategies.engine_questions import World
from strategies.engine_tables import PYARROW, Stored
from strategies.questions import Call, Question, Relation, Row

_COMPOUND = frozenset({"and", "or", "not"})


@dataclass(frozen=True, slots=True)
class Tightness:
    """Row groups that a condition of one family lets skip, and those of them that were skipped."""

    family: str
    skippable: int
    skipped: int


def measured(worker: Asked, world: World, outcome: Outcome, *, write: Write) -> Tightness | None:
    """Ask a filter of canaries; None where these cannot tell.

    They tell only of a condition that is one test, and that a row of the table satisfies: a canary's row lies
    outside of bounds, and an engine that simplifies a condition by these judges it by what is left.
    """
    (name, table), *others = world.tables.items()
    where = outcome.question.source.where
    # A canary is stored as pyarrow stores the original's columns.
    strange = table.layout.ballast or table.layout.writer != PYARROW
    if others or strange or not isinstance(where, Call) or where.function in _COMPOUND:
        return None
    matching = _row_numbers(outcome)
    if not matching:
        return None
    sample = next(row for block in table.blocks for row in block if row[-1] in matching)
    read = _read(worker, world, name, where, sample, write=write)
    if read is None:
        return None
    hopeless = [_numbers(block) for block in table.blocks if block and not matching & _numbers(block)]
    return Tightness(family(where), len(hopeless), sum(not read & numbers for numbers in hopeless))


def _row_numbers(outcome: Outcome) -> set[int]:
    """The rows that satisfy the condition, as the engine says that skips nothing."""
    position = outcome.question.select.index("rid")
    return {row[position] for row in outcome.without["rows"]}


def _read(
    worker: Asked, world: World, name: str, where: Call, sample: Row, *, write: Write
) -> set[int] | None:
    """The numbers of the rows that come back from a table whose every row is `sample`."""
    table = world.tables[name]
    question = Question(area="filter", source=Relation(table=name, where=where), select=("rid",))
    with TemporaryDirectory(prefix="skipproof-") as directory:
        originals, canaries = Path(directory) / "originals", Path(directory) / "canaries"
        originals.mkdir()
        canaries.mkdir()
        try:
            files = _canaries(table, write(table, originals), canaries, sample)
        except (ValueError, OverflowError):
            return None
        form = {name: {"columns": table.json["columns"], "files": files}}
        answer = ask_each(worker, form, world, [question])[0]
    return {row[0] for row in answer["rows"]} if "rows" in answer else None


def _canaries(table: Stored, originals: Iterable[Path], into: Path, sample: Row) -> list[str]:
    schema = arrow_table(table.columns, []).schema
    row = {
        column.name: arrow_array(column.type, [cell])[0].as_py()
        for column, cell in zip(table.columns, sample, strict=True)
    }
    files, first, per_file = [], 0, table.layout.blocks_per_file
    for ordinal, original in enumerate(originals):
        files.append(str(canary(original, into / original.name, row, schema=schema, first=first)))
        first += sum(map(len, table.blocks[ordinal * per_file : (ordinal + 1) * per_file]))
    return files


def _numbers(block: Iterable[Row]) -> set[int]:
    return {row[-1] for row in block}
