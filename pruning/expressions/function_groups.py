"""Groups of functions: of arrays and maps, texts, times, and those whose result may not fit in its type."""

from pruning.expressions.trees import Arithmetic, Call, Cast, Expression, Function, Mode

ARRAY_FUNCTIONS = frozenset({Function.ELEMENT_AT, Function.ARRAY_MAX, Function.ARRAY_MIN, Function.MAP_VALUE})
TEXT_FUNCTIONS = frozenset(
    {
        Function.UPPER,
        Function.LOWER,
        Function.TRIM,
        Function.LTRIM,
        Function.RTRIM,
        Function.SUBSTRING,
        Function.CONCAT,
        Function.LENGTH,
        Function.RPAD,
        Function.LPAD,
        Function.REPLACE,
        Function.SUBSTRING_INDEX,
        Function.INSTR,
    }
)
TIME_FUNCTIONS = frozenset(
    {
        Function.DATE_TRUNC,
        Function.TRUNC,
        Function.YEAR,
        Function.QUARTER,
        Function.MONTH,
        Function.DAY,
        Function.DAYOFWEEK,
        Function.WEEKDAY,
        Function.DAYOFYEAR,
        Function.WEEKOFYEAR,
        Function.LAST_DAY,
        Function.HOUR,
        Function.MINUTE,
        Function.SECOND,
        Function.DATE_ADD,
        Function.DATE_SUB,
        Function.ADD_MONTHS,
        Function.DATEDIFF,
        Function.UNIX_TIMESTAMP,
        Function.DATE_FORMAT,
        Function.PLUS_INTERVAL,
        Function.TIMESTAMPDIFF,
        Function.MONTHS_BETWEEN,
        Function.FROM_UTC,
        Function.TO_UTC,
    }
)
# The functions whose result may not fit in their type.
OVERFLOWING = frozenset({Function.NEGATE, Function.ABS, Function.ROUND, Function.BROUND})


def mode_of(expression: Expression) -> Mode | None:
    """Return how an expression treats a result that does not fit in its type; None if every result fits."""
    if isinstance(expression, Call):
        return expression.mode if expression.function in OVERFLOWING else None
    return expression.mode if isinstance(expression, Arithmetic | Cast) else None
