"""Types as SQL writes them."""

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.errors import Refused
from dynamic_tables.types import (
    ARRAY,
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    OBJECT,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Type,
    decimal,
)

Written = exp.DType
# Of a number without a length.
DIGITS_MAX = 38

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
    """The type that SQL means; NUMBER without scale holds integers.

    Raises:
        Refused: There is no such type here.
    """
    if written.this == Written.DECIMAL:
        digits = [int(part.name) for part in written.expressions]
        scale = digits[1] if len(digits) == 2 else 0
        return decimal(scale) if scale else INTEGER
    if written.this not in TYPES:
        raise Refused(f"the type {written.sql(dialect='snowflake')}", "is not supported")
    return TYPES[written.this]


def cast_type(written: exp.DataType) -> Type:
    """The type of a cast; a table's column may have a length, which is not looked at, a cast may not.

    Raises:
        Refused: There is no such type here, or the cast would cut a value, or refuse one for its length.
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
