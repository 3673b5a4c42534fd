"""Build sides and probe sides of joins, and which probe blocks hold a row with a partner."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from pruning.expressions.trees import Column, Expression, Literal
from pruning.expressions.types import BOOLEAN, BYTES, Kind, Type, Value
from pruning.metadata.views.lanes import Blocks
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.sets.truths import Match
from pruning.techniques.join import summaries
from pruning.techniques.plan.keys import KeyBounds
from pruning.verdicts.classification import classify_blocks, compile_predicate
from strategies.base.layouts import tables
from strategies.base.metadata import exact_facts, to_metadata, true_facts
from strategies.base.tables import Row, Table, arrow_array, is_nan
from strategies.base.values import TYPES, decimal_of, neighbours, values
from strategies.base.values import types as sql_types

# From nothing at all over one range, and a filter beside few ranges, to whatever there is.
BUDGETS = (0, 16, 32, 64, 72, 100, 144, 300, 10_000)
# A program that asks nothing: blocks are asked directly.
_ANY = compile_predicate(Literal(True, BOOLEAN))


@dataclass(frozen=True, kw_only=True)
class Join:
    """A probe side with metadata that is true of it, and the rows of a build side, in parts."""

    table: Table
    known: pa.Table
    parts: tuple[tuple[Row, ...], ...]
    null_safe: tuple[bool, ...]
    bytes_max: int

    @property
    def types(self) -> list[Type]:
        """The keys' types."""
        return [column.type for column in self.table.columns]

    @property
    def build(self) -> list[Row]:
        """The rows of all parts."""
        return [row for part in self.parts for row in part]

    @property
    def singled(self) -> Table:
        """The probe side with a block for each row."""
        return Table(self.table.columns, tuple((row,) for row in self.table.rows))

    def has_partner(self, row: Row) -> bool:
        """Whether a build row equals a probe row in every key."""
        return any(
            all(itertools.starmap(equals, zip(row, other, self.null_safe, strict=True)))
            for other in self.build
        )

    def partnered(self, table: Table) -> list[bool]:
        """Whether each block has a row with a partner."""
        return [any(map(self.has_partner, block)) for block in table.blocks]


def equals(left: Value | None, right: Value | None, null_safe: bool) -> bool:
    """Spark's `=`, or `<=>` if NULL-safe, as a condition."""
    if left is None or right is None:
        return null_safe and left is right
    return left == right or (is_nan(left) and is_nan(right))


@st.composite
def joins(
    draw: st.DrawFn,
    types: Sequence[Type] = TYPES,
    *,
    keys: int = 1,
    budgets: Sequence[int] = BUDGETS,
    parts_max: int = 3,
) -> Join:
    """Joins whose sides often share values, or miss each other by little.

    Shrinks to: an empty block, an empty build side in one part.
    """
    wanted = [draw(sql_types() if tuple(types) == TYPES else st.sampled_from(types)) for _ in range(keys)]
    table = _with_odd_floats(draw, draw(tables(wanted)))
    parts = draw(st.lists(_rows(table), min_size=1, max_size=parts_max))
    safe = draw(st.lists(st.booleans(), min_size=keys, max_size=keys))
    facts = draw(st.just(exact_facts(table)) | true_facts(table))
    return Join(
        table=table,
        known=to_metadata(table, facts),
        parts=tuple(map(tuple, parts)),
        null_safe=tuple(safe),
        bytes_max=draw(st.sampled_from(budgets)),
    )


def _with_odd_floats(draw: st.DrawFn, table: Table) -> Table:
    """Perhaps one of its floats is NaN, or a zero, wherever it stands."""
    floats = [at for at, column in enumerate(table.columns) if column.type.floating]
    if not floats or not table.rows:
        return table
    at, odd = draw(st.sampled_from(floats)), draw(st.sampled_from((None, math.nan, 0.0, -0.0)))
    old = next((row[at] for row in table.rows if row[at] is not None), None)

    def changed(row: Row) -> Row:
        return (*row[:at], odd, *row[at + 1 :]) if equals(row[at], old, False) else row

    if odd is None:
        return table
    return Table(table.columns, tuple(tuple(map(changed, block)) for block in table.blocks))


def _rows(table: Table) -> st.SearchStrategy[list[Row]]:
    """Rows like the probe side's, near them, anywhere, evenly apart, or without values."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    cells = [_cell(column.type, held) for column, held in zip(table.columns, columns, strict=True)]
    drawn = st.lists(st.tuples(*cells), max_size=6)
    steady = st.tuples(*(_series(column.type) for column in table.columns)).map(
        lambda series: list(zip(*series, strict=False))
    )
    absent = [
        st.sampled_from((None, math.nan) if column.type.floating else (None,)) for column in table.columns
    ]
    alone = st.lists(st.tuples(*absent), max_size=2)
    return st.one_of(drawn, steady, st.builds(lambda some, others: some + others, drawn, steady), alone)


def _cell(type_: Type, held: Sequence[Value | None]) -> st.SearchStrategy[Value | None]:
    present = [value for value in held if value is not None]
    near = [other for value in present for other in neighbours(value, type_)]
    kinds = [st.sampled_from(some) for some in (list(held), near) if some]
    return st.one_of(*kinds, values(type_), st.none())


@functools.cache
def _series(type_: Type) -> st.SearchStrategy[list[Value]]:
    """Many values, each as far from the one before as the others."""
    steps = st.tuples(st.integers(-40, 40), st.sampled_from((1, 2, 3)), st.sampled_from((20, 40)))
    return steps.map(lambda drawn: [_value(type_, drawn[0] + drawn[1] * at) for at in range(drawn[2])])


def _value(type_: Type, number: int) -> Value:
    """Some value of a type, another one for another small number where the type has as many."""
    if type_.kind is Kind.BOOLEAN:
        return number % 2 == 0
    if type_.kind in BYTES:
        return f"{number + 40:03}".encode()
    if type_.kind is Kind.DECIMAL:
        return decimal_of(number % 10 if type_.precision == 1 else number, type_.scale)
    if type_.floating:
        return float(number)
    return max(-128, min(number, 127))


def column_of(join: Join, rows: Sequence[Row], at: int) -> pa.Array:
    """One key of build rows."""
    return arrow_array(join.types[at], [row[at] for row in rows])


def summarised(join: Join) -> summaries.KeySummary:
    """The summary of the only key, part after part."""
    each = (
        summaries.summarise(join.types[0], column_of(join, part, 0), bytes_max=join.bytes_max)
        for part in join.parts
    )
    return functools.reduce(lambda one, other: one.merge(other), each)


def all_summarised(join: Join) -> summaries.JoinSummary:
    """The summary of all keys, part after part."""
    whole = summaries.SummaryParts(len(join.parts))
    for part, rows in enumerate(join.parts):
        columns = [column_of(join, rows, at) for at in range(len(join.types))]
        summary = summaries.summarise_keys(
            join.types, columns, null_safe=join.null_safe, bytes_max=join.bytes_max
        )
        whole = whole.observe(part, summary)
    merged = whole.merge()
    assert merged is not None
    return merged


def bounds_of(known: pa.Table, column: Column) -> KeyBounds:
    """What block metadata tells of a column that is a key."""
    blocks = Blocks.of(known).inputs(_ANY, 0, known.num_rows)

    def of(aspect: Aspect) -> pa.Array:
        return blocks[Input(aspect, column.name, column.type)]

    def flags(aspect: Aspect) -> np.ndarray:
        told = of(aspect).to_numpy(zero_copy_only=False)
        return told & (known.column("row_count").to_numpy() > 0)

    lanes = known.num_rows
    return KeyBounds(
        type=column.type,
        lower=of(Aspect.LOWER),
        upper=of(Aspect.UPPER),
        lower_exact=np.zeros(lanes, bool),
        upper_exact=np.zeros(lanes, bool),
        may_null=flags(Aspect.MAY_NULL),
        may_nan=flags(Aspect.MAY_NAN) if column.type.floating else np.zeros(lanes, bool),
        may_value=flags(Aspect.MAY_VALUE),
        null_counts=np.full(lanes, -1),
        nan_counts=np.full(lanes, -1),
    )


def unsatisfied(condition: Expression, known: pa.Table) -> list[bool]:
    """The blocks on which a condition is proved never to be TRUE."""
    return [verdict == Match.NONE for verdict in classify_blocks(condition, known).to_pylist()]


def metadata_of(table: Table) -> pa.Table:
    """All that block metadata can tell of a table."""
    return to_metadata(table, exact_facts(table))
