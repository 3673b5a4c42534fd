"""What a converter of Catalyst's expressions may ask about besides the expression itself."""

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
    """Where an expression stands.

    Attributes:
        names: The name in the scanned table of each attribute, by Catalyst's expression id.
        session: Whose Java machine computes the expression; None, and no time zone is known.
        doubted: Is told each time zone that Java and Python see differently.
    """

    names: Mapping[int, str]
    session: SparkSession | None = None
    doubted: dict[str, None] = field(default_factory=dict)

    def zone(self, node: Node) -> str:
        """The time zone that Spark wrote into an expression; empty where it is not known for sure."""
        written = node.fields.get("timeZoneId")
        if self.session is None or not isinstance(written, str):
            return ""
        name = zones.trusted_zone(self.session, written)
        if not name:
            self.doubted[written] = None
        return name

    def formats_as_written(self) -> bool:
        """Whether date patterns mean what Spark 3 and later say, not what Spark 2 said."""
        return self.session is not None and self.session.conf.get(_TIME_PARSER) != "LEGACY"


Operands = tuple[Expression, ...]
# Raises KeyError, ValueError or IndexError, too, for what is none of ours after all.
Converter = Callable[[Node, Operands, Scope], Expression | None]


def have_same_type(*expressions: Expression) -> bool:
    """Whether all have one known type."""
    first, *others = [type_of(expression) for expression in expressions]
    return first.has_bounds and all(other == first for other in others)


def text_of(expression: Expression) -> bytes | None:
    """The bytes of a string constant."""
    match expression:
        case Literal(bytes() as value, Type(Kind.STRING)):
            return value
    return None


def is_int_constant(expression: Expression) -> bool:
    """Whether an expression is a constant int."""
    match expression:
        case Literal(int(), Type(Kind.INTEGER)):
            return True
    return False


def determining_columns(expression: Expression) -> tuple[Column, ...]:
    """The columns that alone determine a value, all of them top-level; none where something else may too.

    Whole rows can be made of top-level columns only, and of what has one value in a row.
    """
    below = list(walk(expression))
    if any(isinstance(part, Element | Quantified) for part in below):
        return ()
    if any(isinstance(part, Opaque) and not part.columns for part in below):
        return ()
    found = tuple(dict.fromkeys(part for part in below if isinstance(part, Column)))
    return () if any(is_nested(column.name) for column in found) else found
