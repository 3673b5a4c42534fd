"""Functions of one text, and what the rules pull back through them, for the tests of text."""

from pruning.expressions.trees import Call, Column, Expression, Function, Literal
from pruning.expressions.types import INTEGER, STRING
from pruning.rules import text
from pruning.rules.outcomes import ValueSet
from pruning.rules.value_sets import Values

S = Column("s", STRING)


def call(function: Function, *arguments: str | int | None, operand: Expression = S) -> Call:
    """A function of S and literals."""
    literals = (
        Literal(
            value.encode() if isinstance(value, str) else value, STRING if isinstance(value, str) else INTEGER
        )
        for value in arguments
    )
    return Call(function, (operand, *literals), INTEGER if function is Function.LENGTH else STRING)


def preimage(node: Call, wanted: Values) -> Values:
    """What the rule says, of S."""
    rule = text_rules()[node.function]
    assert rule.preimage is not None
    found = rule.preimage(node, ValueSet(wanted))
    assert found is not None
    assert found[0] == S
    assert not found[1].null
    return found[1].cuts


def text_rules() -> dict[Function, text.Rule]:
    return {
        Function.UPPER: text.CASE,
        Function.LOWER: text.CASE,
        Function.TRIM: text.TRIM,
        Function.LTRIM: text.TRIM,
        Function.RTRIM: text.RTRIM,
        Function.SUBSTRING: text.SUBSTRING,
        Function.CONCAT: text.CONCAT,
        Function.LENGTH: text.LENGTH,
        Function.RPAD: text.RPAD,
    }
