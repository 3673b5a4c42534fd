"""Typed expression trees with Spark's meaning.

Equivalent forms in Spark have one form here: `x <> y` is NOT (x = y), IF is a CASE with one
branch, `x IS TRUE` is `x <=> true`, BETWEEN is an AND. AND and OR take any number of operands.
An expression for which there is no rule is `Opaque`.

Nodes are immutable and compare by structure.
"""

import enum
from dataclasses import dataclass
from typing import TypeAlias

from pruning.expressions.functions import Function as Function
from pruning.expressions.names import Inside, leaf_name
from pruning.expressions.types import BOOLEAN, BYTE, NULL, Type, Value


class Comparison(enum.Enum):
    """The six comparison operators; NaN equals NaN and is above every number, -0.0 equals 0.0."""

    EQUAL = "="
    NULL_SAFE_EQUAL = "<=>"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


# The comparisons that hold of exchanged operands.
MIRRORED = {
    Comparison.LESS: Comparison.GREATER,
    Comparison.AT_MOST: Comparison.AT_LEAST,
    Comparison.GREATER: Comparison.LESS,
    Comparison.AT_LEAST: Comparison.AT_MOST,
}


class Mode(enum.Enum):
    """The behaviour of arithmetic and casts whose result cannot be represented."""

    ANSI = "raises"
    LEGACY = "wraps or is NULL, as Spark before 4.0"
    TRY = "is NULL"


class Operator(enum.Enum):
    """Binary arithmetic; if the divisor is zero, the last three give NULL (LEGACY, TRY) or raise (ANSI)."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"  # of doubles or decimals
    INTEGRAL_DIVIDE = "div"  # of bigints or decimals to a bigint, toward zero
    REMAINDER = "%"  # with the sign of the dividend


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the scanned table, by its exact name there, or a field of a struct (`field_name`)."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant; `value` is None for NULL, else as `pruning.expressions.types` says.

    Literals are equal only if they are the same to the last bit: 0.0 is not -0.0, because functions such
    as `power` tell them apart.
    """

    value: Value | None
    type: Type

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return False
        return self.type == other.type and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class Compare:
    """`left operator right`; both sides have one type."""

    operator: Comparison
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """Kleene conjunction of one or more booleans."""

    operands: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Kleene disjunction of one or more booleans."""

    operands: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Kleene negation."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand IS NULL`, never NULL itself; NaN is not NULL."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (members)`: NULL where nothing equals and the operand or a member is NULL."""

    operand: "Expression"
    members: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`startswith(operand, prefix)` on strings or binaries; byte by byte."""

    operand: "Expression"
    prefix: bytes


@dataclass(frozen=True, slots=True)
class Like:
    """`operand LIKE pattern ESCAPE escape`; `_` is one character, `%` any number of them."""

    operand: "Expression"
    pattern: bytes
    escape: str = "\\"


@dataclass(frozen=True, slots=True)
class EndsWith:
    """`endswith(operand, suffix)` on strings; byte by byte."""

    operand: "Expression"
    suffix: bytes


@dataclass(frozen=True, slots=True)
class Contains:
    """`contains(operand, part)` on strings; byte by byte."""

    operand: "Expression"
    part: bytes


@dataclass(frozen=True, slots=True)
class RLike:
    """`operand RLIKE pattern`: a part of the text matches Java's regular expression."""

    operand: "Expression"
    pattern: bytes


class Quantifier(enum.Enum):
    """The quantifiers over the elements of an array."""

    EXISTS = "exists"  # FALSE for an empty array
    FORALL = "forall"  # TRUE for an empty array


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the array that the innermost `Quantified` above runs over, or a field of it.

    `array` is the array column's name, and `fields` the path inside an element that is a struct.
    It is not a `Column`, because a row has many elements. The keys and the values of a map are such elements
    too, below MAP_VALUE alone.
    """

    array: str
    fields: tuple[str, ...]
    type: Type
    inside: Inside = Inside.ELEMENTS

    @property
    def name(self) -> str:
        """The name of the leaf that holds such values in block metadata."""
        return leaf_name(self.array, self.fields, self.inside)


@dataclass(frozen=True, slots=True)
class Quantified:
    """`exists(array, x -> body)` or `forall`, by three-valued logic; NULL if the array is NULL.

    In `body`, an `Element` of the array stands for the variable; columns are those of the row.
    """

    quantifier: Quantifier
    array: str
    body: "Expression"


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is TRUE, else `otherwise`; all have one type."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first operand that is not NULL, else NULL; operands have one type."""

    operands: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right` computed in `type`; operands have that type, decimals their own scales."""

    operator: Operator
    left: "Expression"
    right: "Expression"
    type: Type
    mode: Mode = Mode.ANSI


@dataclass(frozen=True, slots=True)
class Cast:
    """`CAST(operand AS type)`, or `try_cast` where the mode is TRY.

    `zone` is the time zone, by its name in Java, of a cast between an instant and a local time;
    empty if the cast needs none or the zone is unknown.
    """

    operand: "Expression"
    type: Type
    mode: Mode = Mode.ANSI
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`function(operands)` with result `type`; `mode` matters only if the result may not fit in its type.

    `zone` is the time zone, by its name in Java, in which functions of a timestamp see its local time;
    empty for functions that need none.

    Operands have the types that Spark's function takes: doubles for SIGN, SQRT, EXP, POWER and the
    logarithms, one type for all of GREATEST and LEAST, a `Literal` int for a number of digits.
    """

    function: Function
    operands: tuple["Expression", ...]
    type: Type
    mode: Mode = Mode.ANSI
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """-1, 0 or 1 as left is less than, equal to or greater than right; NULL if either is NULL.

    It does not occur in SQL; the rules rewrite comparisons of two expressions to predicates on it.
    """

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression for which there is no rule; `sql` is Spark's text of it, for reports.

    `columns` are all that its value depends on; empty if that is unknown.
    """

    sql: str
    type: Type
    columns: tuple[Column, ...] = ()


Expression: TypeAlias = (
    Column
    | Literal
    | Compare
    | And
    | Or
    | Not
    | IsNull
    | In
    | StartsWith
    | Like
    | EndsWith
    | Contains
    | RLike
    | Element
    | Quantified
    | Case
    | Coalesce
    | Arithmetic
    | Cast
    | Call
    | Order
    | Opaque
)


def type_of(expression: Expression) -> Type:
    """Return the type of an expression's values; `void` only if all values are NULL by type."""
    match expression:
        case Column() | Element() | Literal() | Arithmetic() | Cast() | Call() | Opaque():
            return expression.type
        case Order():
            return BYTE
        case Case(branches, otherwise):
            return _common_type((*(value for _, value in branches), otherwise))
        case Coalesce(operands):
            return _common_type(operands)
        case _:
            return BOOLEAN


def _common_type(alternatives: tuple[Expression, ...]) -> Type:
    types = (type_of(alternative) for alternative in alternatives)
    return next((type_ for type_ in types if type_ != NULL), NULL)
