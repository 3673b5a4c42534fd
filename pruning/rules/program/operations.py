"""Programs: directed acyclic graphs of operations that rules emit and interpreters run.

An operation gives a *flag* (a boolean) or a *bound* (a value that may be unknown).
"""

import enum
from dataclasses import dataclass

from pruning.expressions.trees import Column
from pruning.expressions.types import Type, Value
from pruning.rules.program.functions import Apply
from pruning.rules.sets.regions import RegionQuery
from pruning.rules.sets.value_sets import Values


class Op(enum.Enum):
    """The operations; an operand that is unknown makes the answer unknown unless said otherwise."""

    # Flags
    FLAG = "a constant flag"
    FLAG_INPUT = "a flag of a column, or of the block"
    AND = "both flags"
    OR = "either flag"
    NOT = "the opposite flag"
    MAYBE_LESS = "left < right cannot be excluded: true where either is unknown"
    MAYBE_AT_MOST = "left <= right cannot be excluded: true where either is unknown"
    MAYBE_MEETS = "[lower, upper] may hold a value of a set: unknown is unbounded"
    KNOWN = "the bound is known"
    # Bounds
    BOUND = "a constant bound"
    UNKNOWN = "the bound that is never known"
    BOUND_INPUT = "a bound of a column"
    CHOOSE = "the second operand where the flag holds, else the third"
    LEAST = "the smaller"
    GREATEST = "the greater"
    LEAST_KNOWN = "the smaller of those that are known"
    GREATEST_KNOWN = "the greater of those that are known"
    ADD = "the sum in the type; unknown if it does not fit"
    SUBTRACT = "the difference in the type; unknown if it does not fit"
    MULTIPLY = "the product in the type; unknown if it does not fit"
    DIVIDE = "the quotient in a decimal or float type; unknown if it does not fit or the divisor is zero"
    QUOTIENT = "the integral part of the quotient in an integer type; unknown as for DIVIDE"
    REMAINDER = "what a division leaves, with the sign of the dividend; unknown as for DIVIDE"
    NEXT = "the next value of a type with steps; unknown at its end"
    PREVIOUS = "the previous value of a type with steps; unknown at its end"
    CAST = "the value cast to the type; unknown if it does not fit"
    APPLY = "a function of one number, or two; unknown if it has no value in the type"


class Aspect(enum.Enum):
    """The facts about a column in a block that a program may use as inputs."""

    LOWER = "no value is below it"
    UPPER = "no value is above it"
    MAY_NULL = "a row may be NULL"
    MAY_NAN = "a row may be NaN"
    MAY_VALUE = "a row may be neither NULL nor NaN"
    HAS_ROWS = "the block has a row"
    MAY_HOLD = "a row may have one of the values asked for"
    MAY_BE_INSIDE = "a row may be a point of the region asked for"


@dataclass(frozen=True, slots=True)
class Input:
    """An aspect of a column; of no column for HAS_ROWS.

    `argument` is the set of values for MAY_HOLD, of a column of known type, and the region for
    MAY_BE_INSIDE, whose `column` is that of the latitudes.
    """

    aspect: Aspect
    column: str
    type: Type | None
    argument: Values | RegionQuery | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """A reference to an operation that gives a flag."""

    index: int


@dataclass(frozen=True, slots=True)
class Bound:
    """A reference to an operation that gives a value of `type`, or "unknown"."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Operation:
    """One step; operands are indices of earlier steps. `type` is that of a bound, None for a flag."""

    op: Op
    operands: tuple[int, ...] = ()
    type: Type | None = None
    payload: bool | Value | Input | Values | Apply | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Operations in topological order, and the indices of those that are the outputs.

    `correlated` are the columns along which to split a block for tighter answers.
    """

    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]
    correlated: tuple[Column, ...] = ()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that the program takes from a block, in order of first use."""
        return tuple(step.payload for step in self.operations if isinstance(step.payload, Input))
