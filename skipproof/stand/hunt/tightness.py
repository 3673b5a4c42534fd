"""Measures the tightness of an engine, the share of skippable row groups that it skips, from answers alone.

A filter may skip a row group if none of its rows satisfies the condition; a pruner that knows only minima and
maxima may skip fewer. To see whether it is skipped, the engine queries a canary: a file with the original's
footer and rows that all satisfy the condition. A row group without rows in the answer was skipped. If all
rows of a row group satisfy the condition, the engine may drop the filter; it has if a canary whose rows do
not satisfy the condition has rows in the answer. A LIMIT, an order or a join may skip a row group without
rows in the answer; it is skipped if the engine answers although the row group is a trap, whose bytes cannot
be read.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from oracles.files.canaries import write_canary, write_none_match
from oracles.files.counterfactual_files import write_trapped
from skipproof.stand.hunt.causes import function_family
from skipproof.stand.hunt.examining import QuestionResult, Write, ask_each, pruned_form
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.engine_tables import PYARROW, StoredTable
from strategies.engines.files import arrow_array, arrow_table
from strategies.engines.joins import LEFT
from strategies.engines.questions import ROW_NUMBER, Call, Question, Relation, Row
from strategies.engines.worlds import World

FULL = "all rows match"
_WriteCanary: TypeAlias = Callable[..., Path]
_COMPOUND = frozenset({"and", "or", "not"})
# The joins that drop rows of the left side without a partner.
_DROPPING_JOINS = ("inner", "semi")


@dataclass(frozen=True, slots=True)
class Tightness:
    """The number of row groups that questions of one family may skip, and of those that were skipped."""

    family: str
    skippable: int
    skipped: int

    @property
    def feature(self) -> str:
        """The family, and whether all, some or none of the row groups are skipped."""
        share = "all" if self.skipped == self.skippable else "some" if self.skipped else "none"
        return f"{share} skipped by {self.family}"


def measure_tightness(
    worker: EngineClient, world: World, outcome: QuestionResult, *, write: Write
) -> Iterator[Tightness]:
    """Ask a question again over canaries or traps; yield its tightness if it can be measured."""
    if worker.hello.tables != "files" or outcome.refused or "rows" not in outcome.with_statistics:
        return
    if outcome.question.area == "filter":
        yield from _measure_by_canaries(worker, world, outcome, write)
    elif _leaves_rows_out(outcome.question) and world.tables[LEFT].layout.writer == PYARROW:
        # Other writers choose their own row groups.
        yield _measure_by_traps(worker, world, outcome, write)


def _leaves_rows_out(question: Question) -> bool:
    """Tell whether only a LIMIT, an order or a join drops rows."""
    if any(part.where is not None or part.limit is not None for part in question.relations):
        return False
    if question.second is not None:
        return False
    if question.join is not None:
        return (
            question.join.kind in _DROPPING_JOINS and question.where is None and ROW_NUMBER in question.select
        )
    return question.limit is not None and question.area in ("limit", "topk")


def _measure_by_traps(worker: EngineClient, world: World, outcome: QuestionResult, write: Write) -> Tightness:
    """Ask again once for each row group of the left table, with this row group made unreadable."""
    question, table = outcome.question, world.tables[LEFT]
    position = question.select.index(ROW_NUMBER)
    answered = {row[position] for row in outcome.with_statistics["rows"]}
    skippable = skipped = 0
    if all(answered & _row_numbers(block) for block in table.blocks if block):
        return Tightness(question.area, 0, 0)
    with TemporaryDirectory(prefix="skipproof-") as directory:
        form = {
            name: pruned_form(worker, stored, Path(directory) / name, write)
            for name, stored in world.tables.items()
        }
        for path, ordinal, block in _row_groups(table, form[LEFT]["files"]):
            if answered & _row_numbers(block):
                continue
            original = path.read_bytes()
            beside = Path(directory) / "trap"
            try:
                write_trapped(path, ordinal, beside).replace(path)
            except ValueError:
                continue
            skippable += 1
            skipped += "rows" in ask_each(worker, form, world, [question])[0]
            path.write_bytes(original)
    return Tightness(question.area, skippable, skipped)


def _row_groups(table: StoredTable, files: Iterable[str]) -> Iterator[tuple[Path, int, tuple[Row, ...]]]:
    """Yield the row groups that have rows: the file, the ordinal in it, and the rows."""
    per_file = table.layout.blocks_per_file
    for number, file in enumerate(files):
        blocks = table.blocks[number * per_file : (number + 1) * per_file]
        yield from ((Path(file), ordinal, block) for ordinal, block in enumerate(blocks) if block)


def _measure_by_canaries(
    worker: EngineClient, world: World, outcome: QuestionResult, write: Write
) -> Iterator[Tightness]:
    """Ask again over canaries; yield the row groups skipped, and those without the filter.

    Canaries need a condition of one test, and a row of the table that satisfies it, or that does not. The row
    of a canary lies outside of bounds, so an engine that simplifies a compound condition by these bounds
    would evaluate another condition.
    """
    (name, table), *others = world.tables.items()
    where = outcome.question.source.where
    # A canary can only be written for files in pyarrow's own form.
    layout = table.layout
    strange = layout.ballast or layout.nested or layout.in_lists or layout.writer != PYARROW
    if others or strange or not isinstance(where, Call) or where.function in _COMPOUND:
        return
    matching = _matching_rows(outcome)
    for writer, kind, of in ((write_canary, function_family(where), True), (write_none_match, FULL, False)):
        sample = next((row for block in table.blocks for row in block if (row[-1] in matching) == of), None)
        groups = [_row_numbers(block) for block in table.blocks if block]
        decided = [group for group in groups if (not matching & group if of else group <= matching)]
        if sample is None or not decided:
            continue
        read = _returned_rows(
            worker, world, name=name, where=where, sample=sample, writer=writer, write=write
        )
        if read is None:
            continue
        yield Tightness(kind, len(decided), sum(bool(read & numbers) != of for numbers in decided))


def _matching_rows(outcome: QuestionResult) -> set[int]:
    """Return the numbers of the rows that satisfy the condition, from the answer over the plain form."""
    position = outcome.question.select.index("rid")
    return {row[position] for row in outcome.without["rows"]}


def _returned_rows(
    worker: EngineClient,
    world: World,
    *,
    name: str,
    where: Call,
    sample: Row,
    writer: _WriteCanary,
    write: Write,
) -> set[int] | None:
    """Return the row numbers in the answer over canaries, files whose every row is `sample`."""
    table = world.tables[name]
    question = Question(area="filter", source=Relation(table=name, where=where), select=("rid",))
    with TemporaryDirectory(prefix="skipproof-") as directory:
        originals, canaries = Path(directory) / "originals", Path(directory) / "canaries"
        originals.mkdir()
        canaries.mkdir()
        try:
            files = _write_canaries(table, write(table, originals), canaries, sample, writer)
        except (ValueError, OverflowError):
            return None
        form = {name: {"columns": table.json["columns"], "files": files}}
        answer = ask_each(worker, form, world, [question])[0]
    return {row[0] for row in answer["rows"]} if "rows" in answer else None


def _write_canaries(
    table: StoredTable, originals: Iterable[Path], into: Path, sample: Row, writer: _WriteCanary
) -> list[str]:
    """Write a canary for each file, and return their paths."""
    schema = arrow_table(table.columns, []).schema
    row = {
        column.name: arrow_array(column.type, [cell])[0].as_py()
        for column, cell in zip(table.columns, sample, strict=True)
    }
    files, first, per_file = [], 0, table.layout.blocks_per_file
    for ordinal, original in enumerate(originals):
        files.append(str(writer(original, into / original.name, row, schema=schema, first=first)))
        first += sum(map(len, table.blocks[ordinal * per_file : (ordinal + 1) * per_file]))
    return files


def _row_numbers(block: Iterable[Row]) -> set[int]:
    """Return the row numbers of a block."""
    return {row[-1] for row in block}
