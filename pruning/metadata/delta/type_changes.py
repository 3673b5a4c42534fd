"""Check that Spark reads files of a table whose columns have changed their types."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pruning.errors import InputError

CHANGES = "delta.typeChanges"
# Integers in the order of their widths, with the digits that a decimal needs for their values.
_INTEGERS = {"byte": 10, "short": 10, "integer": 10, "long": 20}
_OTHERS = {
    ("float", "double"),
    ("byte", "double"),
    ("short", "double"),
    ("integer", "double"),
    ("date", "timestamp_ntz"),
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def widened_columns(fields: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the top-level fields of which the type, or one inside, has been widened."""
    return tuple(
        field["name"]
        for field in fields
        if any((inside.get("metadata") or {}).get(CHANGES) for inside in _all_fields(field))
    )


def check_changes(location: str, fields: Sequence[Mapping[str, Any]]) -> None:
    """Check that each change of a type is one of those that Delta's protocol has, which Spark 4 reads.

    Raises:
        InputError: one is another.
    """
    for field in _all_fields(fields):
        for change in (field.get("metadata") or {}).get(CHANGES, ()):
            old, new = change["fromType"], change["toType"]
            if not _is_widening(old, new):
                raise InputError(
                    f"{location}: the type of {field['name']} was changed from {old} to {new}, which this "
                    "package does not read; read the table with an engine that does"
                )


def _all_fields(part: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the fields in a part of a schema, at any depth."""
    if isinstance(part, dict):
        if "name" in part:
            yield part
        for key in ("type", "fields", "elementType", "keyType", "valueType"):
            yield from _all_fields(part.get(key))
    elif isinstance(part, list):
        for inside in part:
            yield from _all_fields(inside)


def _is_widening(old: str, new: str) -> bool:
    integers, wider = list(_INTEGERS), _DECIMAL.fullmatch(new)
    if wider is None:
        is_wider = old in integers and new in integers and integers.index(old) <= integers.index(new)
        return is_wider or (old, new) in _OTHERS
    whole_digits, scale = int(wider[1]) - int(wider[2]), int(wider[2])
    narrower = _DECIMAL.fullmatch(old)
    if narrower is not None:
        return whole_digits >= int(narrower[1]) - int(narrower[2]) and scale >= int(narrower[2])
    return old in _INTEGERS and whole_digits >= _INTEGERS[old]
