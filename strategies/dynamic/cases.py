"""Cases of incremental maintenance: a query, its sources over intervals, and a backend's results."""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from dynamic_tables.bags.backends import Backend
from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.netting import MissingRow, RepeatedRow, apply
from dynamic_tables.values.cells import row_exact_key
from dynamic_tables.values.changes import Action, Contents, Row, RowId
from dynamic_tables.values.errors import DuplicateRowId, UserError
from strategies.dynamic.contents import IntervalChanges, SourceTable, drawn_contents, drawn_step, drawn_tables
from strategies.dynamic.queries import Tables, drawn_query

# Intervals that follow each other under one query.
STEPS = 8
# No test needs more rows than this; a case whose result is longer ends there.
RESULT_ROWS_MAX = 300


class MaintenanceFinding(enum.Enum):
    """The kinds of wrong changes over one interval."""

    REPEATED = "an id is inserted twice, or exists"
    MISSING = "a row is deleted that does not exist"
    DUPLICATE = "two rows of a full result have one id"
    FAILED = "it fails where full evaluation before and after does not"
    SPURIOUS = "a row goes and comes as it was"
    DIFFERENT = "the result is not that of full evaluation"


@dataclass(frozen=True, slots=True)
class IntervalOutcome:
    """One interval of one case.

    Attributes:
        finding: None if the changes are right.
        difference: The first row in which the maintained result differs from the full one.
    """

    finding: MaintenanceFinding | None
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A query and the first contents of its sources; intervals are drawn as it goes."""

    query: Query
    tables: tuple[SourceTable, ...]
    contents: Mapping[str, Contents]


Draw: TypeAlias = Callable[[Random, Tables, int], Relation]


def drawn_case(random: Random, depth: int, draw: Draw = drawn_query) -> Case:
    """Draw a query over random tables; its longest branch has `depth` operators."""
    tables = drawn_tables(random)
    query = Query(draw(random, tables, depth))
    return Case(query, tables, {table.identity: drawn_contents(random, table) for table in tables})


def interval_outcomes(
    random: Random, case: Case, backend: Backend, steps: int = STEPS, *, held: bool = False
) -> Iterator[IntervalOutcome]:
    """Yield the outcomes of some intervals with a backend, up to the first finding.

    Args:
        random, case, backend, steps: As their types say.
        held: Whether the backend gets the result before each interval.
    """
    now = case.contents
    try:
        result = backend.full(case.query, now)
    except DuplicateRowId as error:
        yield IntervalOutcome(MaintenanceFinding.DUPLICATE, str(error))
        return
    except UserError:
        return
    for _ in range(steps):
        if len(result) > RESULT_ROWS_MAX:
            return
        sources = {table.identity: drawn_step(random, table, now[table.identity]) for table in case.tables}
        now = {identity: step.after for identity, step in sources.items()}
        try:
            full = backend.full(case.query, now)
        except DuplicateRowId as error:
            yield IntervalOutcome(MaintenanceFinding.DUPLICATE, str(error))
            return
        except UserError:
            return
        at_hand = result if held else None
        outcome = maintain_interval(case.query, backend, sources, dict(result), full, at_hand)
        result = full
        yield outcome
        if outcome.finding is not None:
            return


def maintain_interval(
    query: Query,
    backend: Backend,
    sources: Mapping[str, IntervalChanges],
    result: dict[RowId, Row],
    full: Contents,
    held: Contents | None = None,
) -> IntervalOutcome:
    """Maintain a result, in place, and compare it with full evaluation, row ids included (R-DVS-98).

    Args:
        query, backend, sources, result, full: The result before the interval, and what it should be after it.
        held: The result before the interval, if the backend gets it.
    """
    exact = row_exact_key([field.type for field in query.fields])
    try:
        delta = backend.changes(query, sources, held)
        apply(result, delta)
    except RepeatedRow as error:
        return IntervalOutcome(MaintenanceFinding.REPEATED, str(error))
    except MissingRow as error:
        return IntervalOutcome(MaintenanceFinding.MISSING, str(error))
    except UserError as error:
        return IntervalOutcome(MaintenanceFinding.FAILED, str(error))
    if full.keys() == result.keys() and all(exact(result[row_id]) == exact(full[row_id]) for row_id in full):
        gone = {change.row_id: change.row for change in delta if change.action is Action.DELETE}
        come = (change for change in delta if change.action is Action.INSERT and change.row_id in gone)
        same = next((change for change in come if exact(gone[change.row_id]) == exact(change.row)), None)
        return (
            IntervalOutcome(None) if same is None else IntervalOutcome(MaintenanceFinding.SPURIOUS, str(same))
        )
    return IntervalOutcome(MaintenanceFinding.DIFFERENT, describe_difference(result, full))


def describe_difference(result: Contents, full: Contents) -> str:
    """Return the first row in which two results differ, as people read it."""
    for row_id in (*full, *result):
        if repr(result.get(row_id)) != repr(full.get(row_id)):
            return f"{row_id}: maintained {result.get(row_id)}, full {full.get(row_id)}"
    return "no row shows it"
