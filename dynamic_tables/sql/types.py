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
    if written.this not in TYPES or any(isinstance(part, exp.DataType) for part in written.expressions):
        raise Refused(f"the type {written.sql(dialect='snowflake')}", "is not supported")
    return TYPES[written.this]


def length_of(written: exp.DataType) -> int | None:
    """Return the most characters or digits that a cast to a type allows; None if any number of them.

    Raises:
        Refused: The length of this type would be ignored.
        InputError: A number has more digits behind the point than digits, or more than 38.
    """
    lengths = [int(part.name) for part in written.expressions]
    if written.this == Written.DECIMAL:
        digits, scale = (*lengths, 0, 0)[:2]
        if not scale <= digits <= DIGITS_MAX or not digits:
            raise InputError(f"a number has {scale or 1} to {DIGITS_MAX} digits, not {digits}")
        return None if digits == DIGITS_MAX else digits
    if TYPES.get(written.this) == TEXT:
        return lengths[0] if lengths else 1 if written.this == Written.CHAR else None
    if lengths:
        raise Refused(f"the length of {written.sql(dialect='snowflake')}", "is not supported in a cast")
    return None
