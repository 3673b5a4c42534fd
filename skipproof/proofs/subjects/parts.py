"""The columns and small expressions that subjects of proofs are made of."""

from pruning.expressions.trees import (
    Column,
    Compare,
    Comparison,
    Expression,
    Literal,
)
from pruning.expressions.types import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    Type,
    Value,
    decimal,
)

A, B, C = (Column(name, INTEGER) for name in "abc")
X, Y = (Column(name, DOUBLE) for name in "xy")
S = Column("s", STRING)
P, Q, R = (Column(name, BOOLEAN) for name in "pqr")
D = Column("d", decimal(10, 2))
E = Column("e", decimal(12, 4))
NAN, INFINITY = float("nan"), float("inf")


def literal(value: Value | None, type_: Type = INTEGER) -> Literal:
    """A literal, of type int unless said."""
    return Literal(value, type_)


def less(left: Expression, right: Expression) -> Compare:
    """`left < right`."""
    return Compare(Comparison.LESS, left, right)


def equal(left: Expression, right: Expression) -> Compare:
    """`left = right`."""
    return Compare(Comparison.EQUAL, left, right)
