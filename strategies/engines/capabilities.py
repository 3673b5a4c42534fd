"""The capabilities of an engine, and the operands that an expression may have."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from strategies.engines.engine_rows import ValuePool
from strategies.engines.engine_tables import ALONE, Options, Writers
from strategies.engines.questions import Json, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """An engine's capabilities, which limit what is drawn.

    Attributes:
        areas: The classes of questions.
        functions_missing, types_missing, joins_missing: The functions, types and joins that it lacks.
        settings: Switches of the optimizer, with their values, the default first.
        writers: The engines that may write files, and the options of each, with their values.
        layouts: The options of the engine's own table format, with their values; None if it has none.
    """

    areas: tuple[str, ...] = ("filter",)
    functions_missing: frozenset[str] = frozenset()
    types_missing: frozenset[str] = frozenset()
    joins_missing: frozenset[str] = frozenset()
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    writers: Writers = field(default_factory=lambda: ALONE)
    layouts: Options | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """A term, and the values that it may have other than NULL.

    Attributes:
        value_at: Its value at a row, which is a mapping of columns; None if that is NULL, or not computed.
    """

    term: Term
    pool: ValuePool
    value_at: Callable[[Mapping[str, Json]], Json] = lambda row: None


# A table with so many rows is large.
_ROWS_OF_LARGE = 300


@dataclass(frozen=True, slots=True)
class ConditionScope:
    """The columns that a condition may name, each with its pool of values, and the available functions.

    Attributes:
        has_third: Whether there is a third table.
        pivot: The values of one row of each table by column. Constants are often what an operand is at it, so
            that the row is in the answer, and missing if its block is wrongly skipped. Source: M. Rigger and
            Z. Su, "Testing Database Engines via Pivoted Query Synthesis", OSDI 2020, section 3.
        shared: A function of a column that many questions of a world have.
        block_ends: The number of the first table's rows up to the end of each block.
        value_counts: The number of the first table's rows that have a value, by column.
    """

    capabilities: Capabilities
    pools: Mapping[str, ValuePool]
    has_third: bool = False
    pivot: Mapping[str, Json] = field(default_factory=dict)
    shared: Operand | None = None
    block_ends: Sequence[int] = ()
    value_counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_large(self) -> bool:
        """True if the first table has more rows than any small one, so that LIMIT may skip much."""
        return bool(self.block_ends) and self.block_ends[-1] >= _ROWS_OF_LARGE

    def has_functions(self, *functions: str) -> bool:
        """Tell whether the engine has all these functions."""
        return not self.capabilities.functions_missing.intersection(functions)
