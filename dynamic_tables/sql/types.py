"""The types of columns in SQL."""

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import (
    ARRAY,
    BINARY,
    BOOLEAN,
    DATE,
    DIGITS_MAX,
    FLOAT,
    INTEGER,
    OBJECT,
    SCALE_MAX,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Type,
    decimal,
)
from pruning.errors import InputError

Written = exp.DType

TYPES: Mapping[exp.DType, Type] = {
    **dict.fromkeys((Written.INT, Written.BIGINT, Written.SMALLINT, Written.TINYINT), INTEGER),
    **dict.fromkeys((Written.DOUBLE, Written.FLOAT), FLOAT),
    **dict.fromkeys((Written.TEXT, Written.VARCHAR, Written.CHAR, Written.NVARCHAR), TEXT),
    **dict.fromkeys((Written.BINARY, Written.VARBINARY), BINARY),
    **dict.fromkeys((Written.TIMESTAMP, Written.TIMESTAMPNTZ, Written.DATETIME), TIMESTAMP),
    Written.BOOLEAN: BOOLEAN,
    Written.DATE: DATE,
    Written.ARRAY: ARRAY,
    Written.OBJECT: OBJECT,
    Written.STRUCT: OBJECT,
    Written.VARIANT: VARIANT,
}


def type_of(written: exp.DataType) -> Type:
    """Return the type that SQL text means; NUMBER without a scale holds integers.

    Raises:
        Refused: The type is not supported.
        InputError: A number has too many digits behind the point.
    """
    if written.this == Written.DECIMAL:
        digits = [int(part.name) for part in written.expressions]
        scale = digits[1] if len(digits) == 2 else 0
        if scale > SCALE_MAX:
            raise InputError(f"a number has at most {SCALE_MAX} digits behind the point, not {scale}")
        return decimal(scale) if scale else INTEGER
    if written.this not in TYPES:
        raise Refused(f"the type {written.sql(dialect='snowflake')}", "is not supported")
    return TYPES[written.this]


def cast_type(written: exp.DataType) -> Type:
    """Return the type of a cast, which has no length; the length of a column is ignored elsewhere.

    Raises:
        Refused: The type is not supported, or the cast would shorten or refuse a value by its length.
    """
    length = [part.name for part in written.expressions]
    number = written.this == Written.DECIMAL
    if length and not (number and int(length[0]) == DIGITS_MAX):
        instead = ", ".join([str(DIGITS_MAX), *length[1:]])
        hint = f": write NUMBER({instead})" if number else ""
        raise Refused(
            f"the length of {written.sql(dialect='snowflake')}", f"is not supported in a cast{hint}"
        )
    return type_of(written)
