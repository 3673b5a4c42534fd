"""The scope of a Catalyst expression, which converters use beside the expression itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pruning.expressions.traversal import walk
from pruning.expressions.trees import Column, Element, Expression, Literal, Opaque, Quantified, type_of
from pruning.expressions.types import Kind, Type
from pruning.metadata.table.schema import is_nested
from pruning.spark.catalyst import zones
from pruning.spark.jvm.nodes import Node

_TIME_PARSER = "spark.sql.legacy.timeParserPolicy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The columns and the session of an expression.

    Attributes:
        names: The name in the scanned table of each attribute, by Catalyst's expression id.
        session: The session that computes the expression; without one no time zone is trusted.
        doubted: Receives each time zone whose rules differ between Java and Python.
    """

    names: Mapping[int, str]
    session: SparkSession | None = None
    doubted: dict[str, None] = field(default_factory=dict)

    def zone(self, node: Node) -> str:
        """Return the time zone that Spark wrote into an expression; empty if its rules are not trusted."""
        written = node.fields.get("timeZoneId")
        return self.named_zone(written) if isinstance(written, str) else ""

    def named_zone(self, written: str) -> str:
        """Return Java's name of a time zone; empty if its rules are not trusted."""
        if self.session is None:
            return ""
        name = zones.trusted_zone(self.session, written)
        if not name:
            self.doubted[written] = None
        return name

    def formats_as_written(self) -> bool:
        """Tell whether date patterns have their meaning of Spark 3 and later, not that of Spark 2."""
        return self.session is not None and self.session.conf.get(_TIME_PARSER) != "LEGACY"


Operands = tuple[Expression, ...]
# Returns None, or raises KeyError, ValueError or IndexError, for an expression that it cannot convert.
Converter = Callable[[Node, Operands, Scope], Expression | None]


def have_same_type(*expressions: Expression) -> bool:
    """Tell whether all expressions have the same known type."""
    first, *others = [type_of(expression) for expression in expressions]
    return first.has_bounds and all(other == first for other in others)


def text_of(expression: Expression) -> bytes | None:
    """Return the bytes of a string constant; None for any other expression."""
    match expression:
        case Literal(bytes() as value, Type(Kind.STRING)):
            return value
    return None


def is_int_constant(expression: Expression) -> bool:
    """Tell whether an expression is a constant of type int."""
    match expression:
        case Literal(int(), Type(Kind.INTEGER)):
            return True
    return False


def determining_columns(expression: Expression) -> tuple[Column, ...]:
    """Return the top-level columns that alone determine a value; none if anything else may influence it.

    Elements of arrays and nested fields are excluded, because no whole row can be made of their bounds.
    """
    below = list(walk(expression))
    if any(isinstance(part, Element | Quantified) for part in below):
        return ()
    if any(isinstance(part, Opaque) and not part.columns for part in below):
        return ()
    named_columns = tuple(dict.fromkeys(part for part in below if isinstance(part, Column)))
    return () if any(is_nested(column.name) for column in named_columns) else named_columns
