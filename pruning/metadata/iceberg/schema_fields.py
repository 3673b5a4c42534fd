"""The fields of a schema on each level, by the JSON of Iceberg's specification."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

# A schema, a field or an entry of a name mapping in the JSON of Iceberg's specification.
Json: TypeAlias = Mapping[str, Any]
# The parent of the top-level fields.
TOP = -1


def nested_fields(type_: Json, parent: int = TOP) -> Iterator[tuple[int, Json]]:
    """Yield the fields inside a type with their parents' ids; elements, keys and values are fields, too."""
    for field in children(type_):
        yield parent, field
        if not isinstance(field["type"], str):
            yield from nested_fields(field["type"], field["id"])


def children(type_: Json) -> Sequence[Json]:
    """Return the fields of a struct; the element of a list; the key and the value of a map."""
    match type_["type"]:
        case "struct":
            fields: Sequence[Json] = type_["fields"]
            return fields
        case "list":
            return ({"id": type_["element-id"], "name": "element", "type": type_["element"]},)
        case "map":
            return (
                {"id": type_["key-id"], "name": "key", "type": type_["key"]},
                {"id": type_["value-id"], "name": "value", "type": type_["value"]},
            )
        case _:
            return ()


def mapping_entries(mapping: Sequence[Json], parent: int = TOP) -> Iterator[tuple[int, int, str]]:
    """Yield the names of a name mapping with the ids of their fields, after those of the fields' parents."""
    for entry in mapping:
        id_ = entry.get("field-id", TOP)
        yield from ((parent, id_, name) for name in entry.get("names", ()))
        yield from mapping_entries(entry.get("fields", ()), id_)


def is_whole(schema: Json) -> bool:
    """Tell whether each field on each level has an id, a name and a type."""
    keys = ("id", "name", "type")
    return all(all(key in field for key in keys) for _, field in nested_fields(schema))
