"""The columns of Parquet files with their field ids, from the files' footers, which are kept in memory."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.metadata.iceberg.metadata_files import first_line, open_location
from pruning.metadata.iceberg.remembered import BoundedMemory

_FIELD_ID = b"PARQUET:field_id"
_FILES_MAX = 1 << 18
_READERS = 8
# The names of elements, keys and values in name mappings.
ELEMENT, KEY, VALUE = "element", "key", "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileField:
    """A field of a file.

    Attributes:
        id: Its field id; None if the file has none.
        type: Spark's name of its type where this matters, or "struct", "list" or "map"; "" for another type.
        children: The fields of a struct; the element of a list; the key and the value of a map.
    """

    name: str
    id: int | None
    type: str
    children: tuple["FileField", ...] = ()

    @property
    def has_ids(self) -> bool:
        """True if the field, or one inside it, has a field id."""
        return self.id is not None or any(child.has_ids for child in self.children)


_TREES: BoundedMemory[FileField] = BoundedMemory(_FILES_MAX)
# One object for all files with the same columns, so that they are compared once.
_DISTINCT: dict[FileField, FileField] = {}


def file_trees(paths: Sequence[str], byte_counts: Sequence[int]) -> list[FileField]:
    """Return the columns of files, as the children of one field without a name.

    Raises:
        InputError: a file is missing, encrypted or no Parquet file.
    """
    with ThreadPoolExecutor(_READERS) as executor:
        return list(executor.map(_tree, paths, byte_counts))


def _tree(path: str, byte_count: int) -> FileField:
    return _TREES.content((path, byte_count), 1, lambda: _read_tree(path))


def _read_tree(path: str) -> FileField:
    with open_location(path) as handle:
        try:
            schema = pq.read_metadata(handle).schema.to_arrow_schema()
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: has no footer of a Parquet file that can be read ({first_line(error)}); restore "
                "the file"
            ) from error
    tree = tree_of_schema(schema)
    if len(_DISTINCT) >= _FILES_MAX:
        _DISTINCT.clear()
    return _DISTINCT.setdefault(tree, tree)


def tree_of_schema(schema: pa.Schema) -> FileField:
    """Return the columns of a file with this schema, as the children of one field without a name."""
    return FileField(name="", id=None, type="struct", children=tuple(map(_field, schema)))


def _field(field: pa.Field) -> FileField:
    id_ = (field.metadata or {}).get(_FIELD_ID)
    type_ = field.type
    children: list[pa.Field] = []
    if pa.types.is_struct(type_):
        kind, children = "struct", list(type_)
    elif pa.types.is_map(type_):
        kind, children = "map", [type_.key_field, type_.item_field]
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        kind, children = "list", [type_.value_field]
    else:
        kind = _narrow_type(type_)
    return FileField(
        name=field.name,
        id=None if id_ is None else int(id_),
        type=kind,
        children=tuple(map(_field, children)),
    )


def _narrow_type(type_: pa.DataType) -> str:
    """Return Spark's name of a type that Iceberg may widen."""
    if type_ == pa.int32():
        return "integer"
    if type_ == pa.float32():
        return "float"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    return ""


def with_mapped_ids(tree: FileField, mapping: Sequence[Mapping[str, Any]]) -> FileField:
    """Return the columns of a file without field ids, with those that a name mapping gives them.

    Args:
        tree: A struct, list or map of the file.
        mapping: The mapping of its children, in the JSON of Iceberg's specification.
    """
    by_name = {name: entry for entry in mapping for name in entry.get("names", ())}
    names = {
        "list": (ELEMENT,),
        "map": (KEY, VALUE),
    }.get(tree.type, tuple(child.name for child in tree.children))
    children = []
    for name, child in zip(names, tree.children, strict=True):
        entry = by_name.get(name, {})
        children.append(replace(with_mapped_ids(child, entry.get("fields", ())), id=entry.get("field-id")))
    return replace(tree, children=tuple(children))
