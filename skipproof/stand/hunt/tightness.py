"""How much of what could be skipped an engine skips: it need not tell itself.

*Skippable* by a filter is a row group with rows of which none satisfies the condition; no pruner can skip
more, and one that knows minima and maxima alone may know less. It is *skipped* if a canary, whose rows all
satisfy the condition, gives no row of it. Where all rows of a row group satisfy the condition, the filter may
be left out: it is if a twin of rows none of which satisfies it gives rows. By a LIMIT, an order or a join,
skippable is a row group with rows of which none is in the answer, and it is skipped if the answer comes
although the row group is a trap.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from oracles.files.canaries import canary, none_match
from oracles.files.counterfactual_files import trapped
from skipproof.stand.hunt.causes import family
from skipproof.stand.hunt.examining import Outcome, Write, ask_each, pruned_form
from skipproof.stand.workers.workers import Asked
from strategies.engines.engine_questions import LEFT, World
from strategies.engines.engine_tables import PYARROW, Stored
from strategies.engines.files import arrow_array, arrow_table
from strategies.engines.questions import ROW_NUMBER, Call, Question, Relation, Row

FULL = "all rows match"
_Twin: TypeAlias = Callable[..., Path]
_COMPOUND = frozenset({"and", "or", "not"})
# The joins that leave out rows of the left side that meet none.
_MUST_MEET = ("inner", "semi")


@dataclass(frozen=True, slots=True)
class Tightness:
    """Row groups that a question of one family lets skip, and those of them that were skipped."""

    family: str
    skippable: int
    skipped: int


def measured(worker: Asked, world: World, outcome: Outcome, *, write: Write) -> Iterator[Tightness]:
    """Ask twins of the files that a question of the world was asked of; nothing where these cannot tell."""
    if worker.hello.tables != "files" or outcome.refused or "rows" not in outcome.with_statistics:
        return
    if outcome.question.area == "filter":
        yield from _by_canaries(worker, world, outcome, write)
    elif _leaves_rows_out(outcome.question) and world.tables[LEFT].layout.writer == PYARROW:
        # Others choose themselves what a row group is.
        yield _by_traps(worker, world, outcome, write)


def _leaves_rows_out(question: Question) -> bool:
    """Whether nothing but a LIMIT, an order or a join leaves rows out."""
    if any(part.where is not None or part.limit is not None for part in question.relations):
        return False
    if question.join is not None:
        return question.join.kind in _MUST_MEET and question.where is None and ROW_NUMBER in question.select
    return question.limit is not None and question.area in ("limit", "topk")


def _by_traps(worker: Asked, world: World, outcome: Outcome, write: Write) -> Tightness:
    """Spoil one row group of the left table after the other, and ask again."""
    question, table = outcome.question, world.tables[LEFT]
    position = question.select.index(ROW_NUMBER)
    answered = {row[position] for row in outcome.with_statistics["rows"]}
    skippable = skipped = 0
    if all(answered & _numbers(block) for block in table.blocks if block):
        return Tightness(question.area, 0, 0)
    with TemporaryDirectory(prefix="skipproof-") as directory:
        form = {
            name: pruned_form(worker, stored, Path(directory) / name, write)
            for name, stored in world.tables.items()
        }
        for path, ordinal, block in _row_groups(table, form[LEFT]["files"]):
            if answered & _numbers(block):
                continue
            original = path.read_bytes()
            beside = Path(directory) / "trap"
            try:
                trapped(path, ordinal, beside).replace(path)
            except ValueError:
                continue
            skippable += 1
            skipped += "rows" in ask_each(worker, form, world, [question])[0]
            path.write_bytes(original)
    return Tightness(question.area, skippable, skipped)


def _row_groups(table: Stored, files: Iterable[str]) -> Iterator[tuple[Path, int, tuple[Row, ...]]]:
    """The row groups that hold rows: their file, their ordinal in it, and their rows."""
    per_file = table.layout.blocks_per_file
    for number, file in enumerate(files):
        blocks = table.blocks[number * per_file : (number + 1) * per_file]
        yield from ((Path(file), ordinal, block) for ordinal, block in enumerate(blocks) if block)


def _by_canaries(worker: Asked, world: World, outcome: Outcome, write: Write) -> Iterator[Tightness]:
    """What is skipped, and where the filter is left out.

    They tell only of a condition that is one test, and that one row of the table satisfies, or another does
    not: their row lies outside of bounds, and an engine that simplifies a condition by these judges it by
    what is left.
    """
    (name, table), *others = world.tables.items()
    where = outcome.question.source.where
    # A canary is stored as pyarrow stores the original's columns.
    strange = table.layout.ballast or table.layout.writer != PYARROW
    if others or strange or not isinstance(where, Call) or where.function in _COMPOUND:
        return
    matching = _row_numbers(outcome)
    for twin, kind, of in ((canary, family(where), True), (none_match, FULL, False)):
        sample = next((row for block in table.blocks for row in block if (row[-1] in matching) == of), None)
        groups = [_numbers(block) for block in table.blocks if block]
        decided = [one for one in groups if (not matching & one if of else one <= matching)]
        if sample is None or not decided:
            continue
        read = _read(worker, world, name, where, sample, twin, write)
        if read is None:
            continue
        yield Tightness(kind, len(decided), sum(bool(read & numbers) != of for numbers in decided))


def _row_numbers(outcome: Outcome) -> set[int]:
    """The rows that satisfy the condition, as the engine says that skips nothing."""
    position = outcome.question.select.index("rid")
    return {row[position] for row in outcome.without["rows"]}


def _read(
    worker: Asked, world: World, name: str, where: Call, sample: Row, twin: _Twin, write: Write
) -> set[int] | None:
    """The numbers of the rows that come back from a table whose every row is `sample`."""
    table = world.tables[name]
    question = Question(area="filter", source=Relation(table=name, where=where), select=("rid",))
    with TemporaryDirectory(prefix="skipproof-") as directory:
        originals, canaries = Path(directory) / "originals", Path(directory) / "canaries"
        originals.mkdir()
        canaries.mkdir()
        try:
            files = _canaries(table, write(table, originals), canaries, sample, twin)
        except (ValueError, OverflowError):
            return None
        form = {name: {"columns": table.json["columns"], "files": files}}
        answer = ask_each(worker, form, world, [question])[0]
    return {row[0] for row in answer["rows"]} if "rows" in answer else None


def _canaries(table: Stored, originals: Iterable[Path], into: Path, sample: Row, twin: _Twin) -> list[str]:
    schema = arrow_table(table.columns, []).schema
    row = {
        column.name: arrow_array(column.type, [cell])[0].as_py()
        for column, cell in zip(table.columns, sample, strict=True)
    }
    files, first, per_file = [], 0, table.layout.blocks_per_file
    for ordinal, original in enumerate(originals):
        files.append(str(twin(original, into / original.name, row, schema=schema, first=first)))
        first += sum(map(len, table.blocks[ordinal * per_file : (ordinal + 1) * per_file]))
    return files


def _numbers(block: Iterable[Row]) -> set[int]:
    return {row[-1] for row in block}
