"""The written names of expressions: the tag of each node and of each member of an enum in saved expressions.

Saved expressions outlive the names of classes and of members, so the strings of this module never change: a
class that is renamed keeps its string, and a new one gets a string that no other ever had.
"""

from collections.abc import Mapping
from enum import Enum

from pruning.expressions import trees
from pruning.expressions.names import Inside
from pruning.expressions.trees import Comparison, Expression, Function, Mode, Operator, Quantifier

NODES: Mapping[str, type[Expression]] = {
    "Column": trees.Column,
    "Literal": trees.Literal,
    "Compare": trees.Compare,
    "And": trees.And,
    "Or": trees.Or,
    "Not": trees.Not,
    "IsNull": trees.IsNull,
    "In": trees.In,
    "StartsWith": trees.StartsWith,
    "Like": trees.Like,
    "EndsWith": trees.EndsWith,
    "Contains": trees.Contains,
    "RLike": trees.RLike,
    "Element": trees.Element,
    "Quantified": trees.Quantified,
    "Case": trees.Case,
    "Coalesce": trees.Coalesce,
    "Arithmetic": trees.Arithmetic,
    "Cast": trees.Cast,
    "Call": trees.Call,
    "Order": trees.Order,
    "Opaque": trees.Opaque,
}
# By the field that holds the member; members of one field have different strings.
MEMBERS: Mapping[str, Mapping[str, Enum]] = {
    "operator": {
        "EQUAL": Comparison.EQUAL,
        "NULL_SAFE_EQUAL": Comparison.NULL_SAFE_EQUAL,
        "LESS": Comparison.LESS,
        "AT_MOST": Comparison.AT_MOST,
        "GREATER": Comparison.GREATER,
        "AT_LEAST": Comparison.AT_LEAST,
        "ADD": Operator.ADD,
        "SUBTRACT": Operator.SUBTRACT,
        "MULTIPLY": Operator.MULTIPLY,
        "DIVIDE": Operator.DIVIDE,
        "INTEGRAL_DIVIDE": Operator.INTEGRAL_DIVIDE,
        "REMAINDER": Operator.REMAINDER,
    },
    "mode": {
        "ANSI": Mode.ANSI,
        "LEGACY": Mode.LEGACY,
        "TRY": Mode.TRY,
    },
    "function": {
        "NEGATE": Function.NEGATE,
        "ABS": Function.ABS,
        "SIGN": Function.SIGN,
        "FLOOR": Function.FLOOR,
        "CEIL": Function.CEIL,
        "ROUND": Function.ROUND,
        "BROUND": Function.BROUND,
        "SQRT": Function.SQRT,
        "EXP": Function.EXP,
        "LN": Function.LN,
        "LOG10": Function.LOG10,
        "LOG2": Function.LOG2,
        "LOG1P": Function.LOG1P,
        "LOG": Function.LOG,
        "POWER": Function.POWER,
        "GREATEST": Function.GREATEST,
        "LEAST": Function.LEAST,
        "ELEMENT_AT": Function.ELEMENT_AT,
        "ARRAY_MAX": Function.ARRAY_MAX,
        "ARRAY_MIN": Function.ARRAY_MIN,
        "MAP_VALUE": Function.MAP_VALUE,
        "UPPER": Function.UPPER,
        "LOWER": Function.LOWER,
        "TRIM": Function.TRIM,
        "LTRIM": Function.LTRIM,
        "RTRIM": Function.RTRIM,
        "SUBSTRING": Function.SUBSTRING,
        "CONCAT": Function.CONCAT,
        "LENGTH": Function.LENGTH,
        "RPAD": Function.RPAD,
        "LPAD": Function.LPAD,
        "REPLACE": Function.REPLACE,
        "SUBSTRING_INDEX": Function.SUBSTRING_INDEX,
        "INSTR": Function.INSTR,
        "DATE_TRUNC": Function.DATE_TRUNC,
        "TRUNC": Function.TRUNC,
        "YEAR": Function.YEAR,
        "QUARTER": Function.QUARTER,
        "MONTH": Function.MONTH,
        "DAY": Function.DAY,
        "DAYOFWEEK": Function.DAYOFWEEK,
        "WEEKDAY": Function.WEEKDAY,
        "DAYOFYEAR": Function.DAYOFYEAR,
        "WEEKOFYEAR": Function.WEEKOFYEAR,
        "LAST_DAY": Function.LAST_DAY,
        "HOUR": Function.HOUR,
        "MINUTE": Function.MINUTE,
        "SECOND": Function.SECOND,
        "DATE_ADD": Function.DATE_ADD,
        "DATE_SUB": Function.DATE_SUB,
        "ADD_MONTHS": Function.ADD_MONTHS,
        "DATEDIFF": Function.DATEDIFF,
        "UNIX_TIMESTAMP": Function.UNIX_TIMESTAMP,
        "DATE_FORMAT": Function.DATE_FORMAT,
        "PLUS_INTERVAL": Function.PLUS_INTERVAL,
        "TIMESTAMPDIFF": Function.TIMESTAMPDIFF,
        "MONTHS_BETWEEN": Function.MONTHS_BETWEEN,
        "FROM_UTC": Function.FROM_UTC,
        "TO_UTC": Function.TO_UTC,
    },
    "inside": {
        "ELEMENTS": Inside.ELEMENTS,
        "KEYS": Inside.KEYS,
        "VALUES": Inside.VALUES,
    },
    "quantifier": {
        "EXISTS": Quantifier.EXISTS,
        "FORALL": Quantifier.FORALL,
    },
}
NODE_TAGS: Mapping[type[Expression], str] = {class_: tag for tag, class_ in NODES.items()}
MEMBER_TAGS: Mapping[Enum, str] = {
    member: tag for members in MEMBERS.values() for tag, member in members.items()
}
