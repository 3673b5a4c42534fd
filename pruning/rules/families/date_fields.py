"""DATE_FORMAT of one field: `date_format(t, 'MM') = '03'` is `month(t) = 3`, whatever the year.

Patterns whose texts sort like the times are steps of a chain instead (`date_text`).
"""

from collections.abc import Mapping
from dataclasses import replace

from pruning.expressions.trees import Call, Cast, Expression, Function, Literal, Mode, type_of
from pruning.expressions.types import DATE, INTEGER, TIMESTAMP
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.time_functions import time_preimage, time_range
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.time import date_text
from pruning.rules.time.cycles import CYCLES, OF_TIME

_FUNCTIONS: Mapping[str, Function] = {
    "MM": Function.MONTH,
    "dd": Function.DAY,
    "HH": Function.HOUR,
    "mm": Function.MINUTE,
    "ss": Function.SECOND,
}


def format_preimage(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """Return the values of the field whose text is in a set; for other patterns see `time_preimage`.

    Claim     A row on which the text is in the set has its field in the result.
    Premises  Spark writes these fields in two digits, in the session's zone; MONTH, DAY, HOUR, MINUTE
              and SECOND give the same fields.
    Proof     (1) A field has one of the cycle's values, and that one's text is what Spark writes.
              (2) The text and the field are NULL where the operand is, and nowhere else.
    """
    assert isinstance(node, Call)
    operand, pattern = node.operands
    written = pattern.value if isinstance(pattern, Literal) else None
    field_format = date_text.single_field(written.decode()) if isinstance(written, bytes) else None
    if field_format is None or type_of(operand) != TIMESTAMP:
        return time_preimage(node, values)
    name, format_ = field_format
    function = _FUNCTIONS[name]
    numbers = [n for n in CYCLES[function].values if values.cuts.holds(format_.format(n).encode())]  # (1)
    if function in OF_TIME:
        field = Call(function, (operand,), INTEGER, zone=node.zone)
    else:
        field = Call(function, (Cast(operand, DATE, Mode.ANSI, node.zone),), INTEGER)
    return field, ValueSet(cuts.of_values(numbers, INTEGER), null=values.null)  # (2)


def format_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of `time_range`; by any pattern, no row has a text if no row has a time."""
    assert isinstance(node, Call)
    text_range, operand = (
        time_range(analysis, node, environment),
        analysis.range(node.operands[0], environment),
    )
    return replace(text_range, may_value=analysis.build.and_(text_range.may_value, operand.may_value))


DATE_FORMAT = Rule(range=format_range, preimage=format_preimage)
