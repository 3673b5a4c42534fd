"""What the rules say of an expression, given the values that each column holds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pruning.expressions.trees import Expression
from pruning.expressions.types import Value
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input

Held = Mapping[str, Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A range in numbers: bounds, None where unknown, and what a row may be."""

    lower: Value | None
    upper: Value | None
    may_null: bool
    may_nan: bool
    may_value: bool

    def holds(self, value: Value | None) -> bool:
        """Whether a row with this value is within the claim."""
        if value is None:
            return self.may_null
        if isinstance(value, float) and math.isnan(value):
            return self.may_nan
        above = self.lower is None or self.lower <= value
        below = self.upper is None or value <= self.upper
        return self.may_value and above and below


def claimed(node: Expression, held: Held) -> Claimed:
    """The range of the node in a block with exact bounds, where no row of a column is NULL."""
    analysis = Analysis(RULES)
    found = analysis.range(node, Environment())
    program = analysis.build.program(found.lower, found.upper, found.may_null, found.may_nan, found.may_value)
    cells = exact.run(program, {input_: _cell(input_, held) for input_ in program.inputs})
    return Claimed(*cells)


def _cell(input_: Input, held: Held) -> Value | None:
    values = [value for value in held.get(input_.column, ()) if not _is_nan(value)]
    match input_.aspect:
        case Aspect.LOWER:
            return min(values, default=None)
        case Aspect.UPPER:
            return max(values, default=None)
        case Aspect.MAY_NAN:
            return any(map(_is_nan, held[input_.column]))
        case Aspect.MAY_VALUE:
            return bool(values)
        case aspect:
            return aspect is Aspect.HAS_ROWS


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)
