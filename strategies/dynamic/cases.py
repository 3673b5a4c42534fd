"""Cases of incremental maintenance: a query, its sources over intervals, what a backend makes of them."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from dynamic_tables.bags.backends import Backend
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.storage.netting import MissingRow, RepeatedRow, apply
from dynamic_tables.values.cells import row_exact_key
from dynamic_tables.values.changes import Action, Contents, Row, RowId
from dynamic_tables.values.errors import DuplicateRowId, UserError
from strategies.dynamic.contents import Step, Table, drawn_contents, drawn_step, drawn_tables
from strategies.dynamic.queries import drawn_query

# Intervals that follow each other under one query.
STEPS = 8
# No test needs more rows than this; a case whose result is longer ends there.
RESULT_ROWS_MAX = 300


class Finding(enum.Enum):
    """What is wrong with the changes over one interval."""

    REPEATED = "an id is inserted twice, or exists"
    MISSING = "a row is deleted that does not exist"
    DUPLICATE = "two rows of a full result have one id"
    FAILED = "it fails where full evaluation before and after does not"
    SPURIOUS = "a row goes and comes as it was"
    DIFFERENT = "the result is not that of full evaluation"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One interval of one case.

    Attributes:
        finding: None if the changes are right.
        told: How the maintained result differs from the full one, in its first row.
    """

    finding: Finding | None
    told: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A query and what its sources first hold; intervals are drawn as it goes."""

    query: Query
    tables: tuple[Table, ...]
    contents: Mapping[str, Contents]


def drawn_case(random: Random, depth: int) -> Case:
    """A query with so many operators on its longest branch, over random tables."""
    tables = drawn_tables(random)
    query = Query(drawn_query(random, tables, depth))
    return Case(query, tables, {table.identity: drawn_contents(random, table) for table in tables})


def outcomes(random: Random, case: Case, backend: Backend, steps: int = STEPS) -> Iterator[Outcome]:
    """What a backend makes of some intervals; it ends at the first finding."""
    now = case.contents
    try:
        result = backend.full(case.query, now)
    except DuplicateRowId as error:
        yield Outcome(Finding.DUPLICATE, str(error))
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
            yield Outcome(Finding.DUPLICATE, str(error))
            return
        except UserError:
            return
        outcome = over_interval(case.query, backend, sources, dict(result), full)
        result = full
        yield outcome
        if outcome.finding is not None:
            return


def over_interval(
    query: Query, backend: Backend, sources: Mapping[str, Step], result: dict[RowId, Row], full: Contents
) -> Outcome:
    """Maintain a result, in place, and compare it with full evaluation, row ids included (R-DVS-98)."""
    exact = row_exact_key([field.type for field in query.fields])
    try:
        delta = backend.changes(query, sources)
        apply(result, delta)
    except RepeatedRow as error:
        return Outcome(Finding.REPEATED, str(error))
    except MissingRow as error:
        return Outcome(Finding.MISSING, str(error))
    except UserError as error:
        return Outcome(Finding.FAILED, str(error))
    if full.keys() == result.keys() and all(exact(result[one]) == exact(full[one]) for one in full):
        gone = {one.row_id: one.row for one in delta if one.action is Action.DELETE}
        come = (one for one in delta if one.action is Action.INSERT and one.row_id in gone)
        same = next((one for one in come if exact(gone[one.row_id]) == exact(one.row)), None)
        return Outcome(None) if same is None else Outcome(Finding.SPURIOUS, str(same))
    return Outcome(Finding.DIFFERENT, difference_told(result, full))


def difference_told(result: Contents, full: Contents) -> str:
    """The first row in which two results differ."""
    for row_id in (*full, *result):
        if repr(result.get(row_id)) != repr(full.get(row_id)):
            return f"{row_id}: maintained {result.get(row_id)}, full {full.get(row_id)}"
    return "no row shows it"
