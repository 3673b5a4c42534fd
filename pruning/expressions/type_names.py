"""The names of data types in Spark's JSON."""

from pruning.expressions import types
from pruning.expressions.types import Type

NAMES = {
    "boolean": types.BOOLEAN,
    "byte": types.BYTE,
    "short": types.SHORT,
    "integer": types.INTEGER,
    "long": types.LONG,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "binary": types.BINARY,
    "date": types.DATE,
    "timestamp": types.TIMESTAMP,
    "timestamp_ntz": types.TIMESTAMP_NTZ,
    "void": types.NULL,
}
_WRITTEN = {type_: name for name, type_ in NAMES.items()}


def type_to_json(type_: Type) -> str:
    """Return the name that Spark's JSON gives to a known type."""
    return _WRITTEN.get(type_, type_.sql)
