"""Functions of one text, and what the rules pull back through them, for the tests of text."""

from pruning.expressions.trees import Call, Column, Expression, Function, Literal
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.families import text_functions
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.value_sets import Values

S = Column("s", STRING)
_COUNTS = (Function.LENGTH, Function.INSTR)


def call(function: Function, *arguments: str | int | None, operand: Expression = S) -> Call:
    """A function of S and literals."""
    literals = (
        Literal(
            value.encode() if isinstance(value, str) else value, STRING if isinstance(value, str) else INTEGER
        )
        for value in arguments
    )
    return Call(function, (operand, *literals), INTEGER if function in _COUNTS else STRING)


def preimage(node: Call, wanted: Values) -> Values:
    """What the rule says, of S."""
    rule = text_rules()[node.function]
    assert rule.preimage is not None
    found = rule.preimage(node, ValueSet(wanted))
    assert found is not None
    assert found[0] == S
    assert not found[1].null
    return found[1].cuts


def text_rules() -> dict[Function, text_functions.Rule]:
    return {
        Function.UPPER: text_functions.CASE,
        Function.LOWER: text_functions.CASE,
        Function.TRIM: text_functions.TRIM,
        Function.LTRIM: text_functions.TRIM,
        Function.RTRIM: text_functions.RTRIM,
        Function.SUBSTRING: text_functions.SUBSTRING,
        Function.CONCAT: text_functions.CONCAT,
        Function.LENGTH: text_functions.LENGTH,
        Function.RPAD: text_functions.RPAD,
        Function.LPAD: text_functions.LPAD,
        Function.REPLACE: text_functions.REPLACE,
        Function.SUBSTRING_INDEX: text_functions.SUBSTRING_INDEX,
        Function.INSTR: text_functions.INSTR,
    }
