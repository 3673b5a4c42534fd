"""Block metadata that is true of a table's rows: derived exactly, then weakened.

`Facts` are the block metadata as plain Python; `to_metadata` gives them the shape of
`pruning.metadata.table.schema`. Weakening forgets or widens and never invents, so of two Facts of one
table the weaker one can support no bolder verdict.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import Column
from pruning.expressions.types import Type, Value
from pruning.metadata.table.schema import block_schema
from strategies.base.tables import Table, arrow_array, is_nan, sort_key
from strategies.base.values import neighbours, values
from strategies.choices import choose


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """The facts of one column of one block; None is unknown. No bound ever covers a NaN."""

    null_count: int | None
    nan_count: int | None
    byte_count: int | None
    lower: Value | None
    upper: Value | None
    lower_exact: bool | None
    upper_exact: bool | None


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """The facts of one block; `columns` follow the table's."""

    row_count: int
    columns: tuple[ColumnFacts, ...]


Facts: TypeAlias = tuple[BlockFacts, ...]
NOTHING = ColumnFacts(
    null_count=None, nan_count=None, byte_count=None,
    lower=None, upper=None, lower_exact=None, upper_exact=None,
)  # fmt: skip


def exact_facts(table: Table) -> Facts:
    """Return all facts that block metadata can hold of a table."""
    return tuple(
        BlockFacts(
            len(block),
            tuple(
                _exact_column(column.type, [row[position] for row in block])
                for position, column in enumerate(table.columns)
            ),
        )
        for block in table.blocks
    )


def to_metadata(
    table: Table, facts: Facts, *, blocks_per_file: int = 2, columns: Sequence[Column] | None = None
) -> pa.Table:
    """Return facts as block metadata, a row per block, files named part-00000.parquet and on.

    Args:
        columns: The table's columns that the metadata covers; None is all.
    """
    covered = table.columns if columns is None else tuple(columns)
    schema = block_schema({column.name: column.type for column in covered})
    structs = [_column_struct(table, facts, column) for column in covered]
    fields = list(schema.field("columns").type)
    nested = (
        pa.StructArray.from_arrays(structs, fields=fields)
        if fields
        else pa.array([{} for _ in facts], schema.field("columns").type)
    )
    locators = [_locator(facts, ordinal, blocks_per_file) for ordinal in range(len(facts))]
    plain = [
        pa.array([locator[name] for locator in locators], schema.field(name).type)
        for name in schema.names
        if name != "columns"
    ]
    return pa.Table.from_arrays([*plain, nested], schema=schema)


@st.composite
def true_facts(draw: DrawFn, table: Table) -> Facts:
    """Facts that hold of a table, exact or weak, with vacuous bounds where a block has no values.

    Shrinks to: exact facts.
    """
    facts = exact_facts(table)
    if draw(st.booleans()):
        facts = _map_columns(table, facts, lambda column, fact: _vacuous(draw, column, fact))
    return draw(weakenings(table, facts)) if draw(st.booleans()) else facts


@st.composite
def weakenings(draw: DrawFn, table: Table, facts: Facts) -> Facts:
    """Facts that say the same as the given ones or less.

    Shrinks to: the given facts.
    """
    return _map_columns(table, facts, lambda column, fact: _weaker_column(draw, column, fact))


@st.composite
def fact_pairs(draw: DrawFn, table: Table) -> tuple[Facts, Facts]:
    """(strong, weak): Facts of a table, and Facts that say the same or less."""
    strong = draw(true_facts(table))
    return strong, draw(weakenings(table, strong))


@st.composite
def metadata(draw: DrawFn, table: Table) -> pa.Table:
    """Block metadata of a table: true, maybe weak, maybe without some of the columns."""
    columns = draw(st.just(table.columns) | _some(table.columns))
    return to_metadata(table, draw(true_facts(table)), columns=columns)


@st.composite
def metadata_pairs(draw: DrawFn, table: Table) -> tuple[pa.Table, pa.Table]:
    """(strong, weak): block metadata of a table; the weak one may also lack whole columns."""
    strong, weak = draw(fact_pairs(table))
    columns = draw(st.just(table.columns) | _some(table.columns))
    return to_metadata(table, strong), to_metadata(table, weak, columns=columns)


def _exact_column(type_: Type, cells: Sequence[Value | None]) -> ColumnFacts:
    numbers = sorted((cell for cell in cells if cell is not None and not is_nan(cell)), key=sort_key)
    return ColumnFacts(
        null_count=sum(cell is None for cell in cells),
        nan_count=sum(is_nan(cell) for cell in cells),
        byte_count=8 * len(cells),
        lower=numbers[0] if numbers else None,
        upper=numbers[-1] if numbers else None,
        lower_exact=True if numbers else None,
        upper_exact=True if numbers else None,
    )


def _map_columns(table: Table, facts: Facts, change: Callable[[Column, ColumnFacts], ColumnFacts]) -> Facts:
    return tuple(
        BlockFacts(block.row_count, tuple(map(change, table.columns, block.columns))) for block in facts
    )


def _vacuous(draw: DrawFn, column: Column, facts: ColumnFacts) -> ColumnFacts:
    """Give bounds to a block whose every row is NULL or NaN: no value contradicts them."""
    if facts.lower is not None:
        return facts
    bounds = sorted((draw(_bounds(column.type)), draw(_bounds(column.type))), key=sort_key)
    return replace(facts, lower=bounds[0], upper=bounds[1], lower_exact=False, upper_exact=False)


@functools.cache
def _bounds(type_: Type) -> SearchStrategy[Value]:
    return values(type_).map(lambda value: 0.0 if is_nan(value) else value)


def _weaker_column(draw: DrawFn, column: Column, facts: ColumnFacts) -> ColumnFacts:
    if choose(draw, (False, False, False, True)):
        return NOTHING
    lower, lower_exact = _weaker_bound(draw, column.type, facts.lower, facts.lower_exact, below=True)
    upper, upper_exact = _weaker_bound(draw, column.type, facts.upper, facts.upper_exact, below=False)
    return ColumnFacts(
        null_count=choose(draw, (facts.null_count, None)),
        nan_count=choose(draw, (facts.nan_count, None)),
        byte_count=choose(draw, (facts.byte_count, None)),
        lower=lower,
        upper=upper,
        lower_exact=lower_exact,
        upper_exact=upper_exact,
    )


def _weaker_bound(
    draw: DrawFn, type_: Type, bound: Value | None, exact: bool | None, *, below: bool
) -> tuple[Value | None, bool | None]:
    """Return the bound itself, perhaps no longer exact; a wider one; or none."""
    choice = choose(draw, ("keep", "doubt", "widen", "forget"))
    if bound is None or choice == "forget":
        return None, None
    if choice == "keep":
        return bound, exact
    if choice == "widen":
        candidates = (
            draw(_bounds(type_)),
            *neighbours(bound, type_),
            *_truncations(bound, type_, below=below),
        )
        wider = [candidate for candidate in candidates if _widens(candidate, bound, below=below)]
        bound = choose(draw, [*wider, bound])
    return bound, choose(draw, (False, None))


def _widens(candidate: Value, bound: Value, *, below: bool) -> bool:
    if is_nan(candidate):
        return False
    first, last = (candidate, bound) if below else (bound, candidate)
    # A zero of the other sign counts as wider, too, because writers may give either sign.
    return sort_key(first) <= sort_key(last)


def _truncations(bound: Value, type_: Type, *, below: bool) -> tuple[Value, ...]:
    """Return truncations as writers make them: a prefix as minimum, a prefix counted up as maximum."""
    if not isinstance(bound, bytes):
        return ()
    prefixes = [bound[:length] for length in (1, 16, 64) if length < len(bound)]
    whole = [prefix for prefix in prefixes if not _splits_character(bound, len(prefix))]
    if below:
        return tuple(whole)
    return tuple(successor for prefix in whole for successor in neighbours(prefix, type_)[-1:])


def _splits_character(text: bytes, length: int) -> bool:
    return text[length] & 0xC0 == 0x80


def _some(columns: tuple[Column, ...]) -> SearchStrategy[tuple[Column, ...]]:
    kept = st.lists(st.booleans(), min_size=len(columns), max_size=len(columns))
    return kept.map(lambda keep: tuple(column for column, flag in zip(columns, keep, strict=True) if flag))


def _column_struct(table: Table, facts: Facts, column: Column) -> pa.StructArray:
    column_facts = [block.columns[table.columns.index(column)] for block in facts]
    counts = {
        name: pa.array([getattr(fact, name) for fact in column_facts], pa.int64())
        for name in ("null_count", "nan_count", "byte_count")
    }
    bounds = {
        "min": arrow_array(column.type, [fact.lower for fact in column_facts]),
        "max": arrow_array(column.type, [fact.upper for fact in column_facts]),
        "min_exact": pa.array([fact.lower_exact for fact in column_facts], pa.bool_()),
        "max_exact": pa.array([fact.upper_exact for fact in column_facts], pa.bool_()),
    }
    arrays = counts | bounds
    return pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays))


def _locator(facts: Facts, ordinal: int, blocks_per_file: int) -> dict[str, str | int]:
    file, row_group = divmod(ordinal, blocks_per_file)
    before = facts[file * blocks_per_file : ordinal]
    row_offset = sum(block.row_count for block in before)
    return {
        "file": f"part-{file:05}.parquet",
        "row_group": row_group,
        "row_offset": row_offset,
        "byte_offset": 4 + 8 * row_offset,
        "byte_count": 8 * facts[ordinal].row_count,
        "row_count": facts[ordinal].row_count,
    }
