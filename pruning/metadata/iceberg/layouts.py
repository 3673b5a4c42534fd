"""The layouts of data files: the columns by which Spark's reader of Parquet reads the columns of a table."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pruning.errors import InputError
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.iceberg.file_trees import FileField, file_trees, with_mapped_ids
from pruning.metadata.iceberg.schema_fields import TOP, Json, children, mapping_entries, nested_fields
from pruning.metadata.iceberg.spark_schema import SparkJson, default_metadata, spark_type
from pruning.metadata.iceberg.table_metadata import TableMetadata

# The beginning of the names that layouts give columns and nested fields that a file lacks.
ABSENT_PREFIX = "_absent_"
# Writers change any other name, because Avro does not allow it.
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# The types of files that a column's type may have been widened from.
_NARROWER = {"long": "integer", "double": "float"}


@dataclass(frozen=True, slots=True)
class FileLayouts:
    """The distinct layouts.

    Attributes:
        texts: Each as a struct of Spark in JSON.
        lacking: The ids of the columns that files of each layout are known to lack.
        places: The place of each file's layout among them; shape (files,).
    """

    texts: tuple[str, ...]
    lacking: tuple[frozenset[int], ...]
    places: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOutTable:
    """The columns of a table that are read from its files.

    Attributes:
        location: The table's location, for errors.
        fields: The fields of the table's schema that files have as columns.
        name_mapping: The mapping for files without field ids; None if there is none.
    """

    location: str
    fields: tuple[Json, ...]
    name_mapping: Sequence[Json] | None


def has_one_layout(metadata: TableMetadata) -> bool:
    """Tell whether the names of each schema lead to the right columns in all files since format version 2.

    Claim     If so, a file's column has the name of a field if and only if it is the field's column, and its
              type is the field's; a struct that a file has, has all fields of the table's; and a column that
              a file lacks is NULL.
    Premises  Writers name columns by the schema that they know, one of the table's; a name that Avro allows
              is kept. A table with files without field ids has a name mapping, by which these are read.
    Proof     (1) No schema is missing, so that the files' names are names of these.
              (2) Over all schemas, a field has one name and one type, and a name at one place one field.
              (3) The name mapping, if there is one, maps these names to these fields.
              (4) No struct has got or lost a field.
              (5) No field has an initial default.
    Unsound   where Spark compares names without case: names that differ in case alone count as the same one.
              And where a table went back to an earlier schema, and the later one was removed from its
              metadata while files of it were left.
    """
    if not metadata.has_all_schemas:  # (1)
        return False
    if _has_late_nested_field(metadata) or _has_defaults(metadata):  # (4), (5)
        return False
    places: dict[tuple[int, str], int] = {}
    fields: dict[int, tuple[int, str, str]] = {}
    for schema in metadata.schemas.values():
        for parent, field in nested_fields(schema):
            name, type_ = field["name"], field["type"]
            kind = type_ if isinstance(type_, str) else type_["type"]
            if not _PLAIN_NAME.fullmatch(name):
                return False
            if places.setdefault((parent, name.lower()), field["id"]) != field["id"]:  # (2)
                return False
            if fields.setdefault(field["id"], (parent, name, kind)) != (parent, name, kind):  # (2)
                return False
    if metadata.name_mapping is None:
        return True
    current = metadata.schemas[metadata.current_schema_id]
    return sorted(mapping_entries(metadata.name_mapping)) == sorted(_expected(current))  # (3)


def _has_late_nested_field(metadata: TableMetadata) -> bool:
    """Tell whether a struct has got or lost a field, so that layouts should tell which files lack it."""
    structs: dict[int, set[int]] = {}
    for schema in metadata.schemas.values():
        by_parent: dict[int, set[int]] = {}
        for parent, field in nested_fields(schema):
            by_parent.setdefault(parent, set()).add(field["id"])
        for parent, ids in by_parent.items():
            if parent != TOP and structs.setdefault(parent, ids) != ids:
                return True
    return False


def _expected(schema: Json) -> Iterator[tuple[int, int, str]]:
    yield from ((parent, field["id"], field["name"]) for parent, field in nested_fields(schema))


def file_layouts(
    table: LaidOutTable, paths: Sequence[str], byte_counts: Numbers, by_footers: Mask
) -> FileLayouts:
    """Return the layouts of files.

    Args:
        table: The columns to read.
        paths: The files.
        byte_counts: Their sizes.
        by_footers: True for the files whose footers are read; the others have the table's own names.

    Raises:
        InputError: a file cannot be read by Spark as Iceberg would read it.
    """
    places = np.zeros(len(paths), np.int64)
    layouts: dict[str, frozenset[int]] = {}
    if not by_footers.all() or not len(paths):
        columns = [_column(field["name"], _type_of(field, table)) for field in table.fields]
        layouts[_struct(columns)] = frozenset()
    chosen = np.flatnonzero(by_footers).tolist()
    trees = file_trees([paths[place] for place in chosen], byte_counts[by_footers].tolist())
    distinct: dict[int, tuple[FileField, str]] = {}
    for place, tree in zip(chosen, trees, strict=True):
        distinct.setdefault(id(tree), (tree, paths[place]))
    names = {name.lower() for tree, _ in distinct.values() for name in _names(tree)}
    texts = {key: _layout(table, tree, path, names) for key, (tree, path) in distinct.items()}
    layouts.update(texts.values())
    numbers = {text: number for number, text in enumerate(layouts)}
    places[chosen] = [numbers[texts[id(tree)][0]] for tree in trees]
    return FileLayouts(tuple(layouts), tuple(layouts.values()), places)


def _names(tree: FileField) -> Iterator[str]:
    for child in tree.children:
        yield child.name
        yield from _names(child)


def _has_defaults(metadata: TableMetadata) -> bool:
    """Tell whether files may lack a column whose value there is not NULL."""
    fields = (field for schema in metadata.schemas.values() for _, field in nested_fields(schema))
    return any(field.get("initial-default") is not None for field in fields)


def _struct(columns: Sequence[SparkJson]) -> str:
    return json.dumps({"type": "struct", "fields": columns})


def _column(name: str, type_: SparkJson) -> SparkJson:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _type_of(field: Json, table: LaidOutTable) -> SparkJson:
    return _nullable(spark_type(field["type"], field["name"], table.location))


def _nullable(type_: SparkJson) -> SparkJson:
    """Return a type with all fields nullable, because a file may lack them."""
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        fields = [{**field, "type": _nullable(field["type"]), "nullable": True} for field in type_["fields"]]
        return {**type_, "fields": fields}
    return {
        key: _nullable(value) if key in ("elementType", "keyType", "valueType") else value
        for key, value in type_.items()
    }


def _layout(table: LaidOutTable, tree: FileField, path: str, names: set[str]) -> tuple[str, frozenset[int]]:
    """Return the layout of a file with these columns, and the columns that it lacks."""
    if not tree.has_ids and tree.children:
        if table.name_mapping is None:
            raise InputError(
                f"{path}: its columns have no field ids, and the table has no name mapping for them; set the "
                "table's property schema.name-mapping.default"
            )
        tree = with_mapped_ids(tree, table.name_mapping)
    reader = _LayoutReader(table=table, path=path, names=names)
    columns = [reader.column(field, tree) for field in table.fields]
    ids = {child.id for child in tree.children}
    return _struct(columns), frozenset(field["id"] for field in table.fields if field["id"] not in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LayoutReader:
    """Finds the columns of a table in one file; `names` are those of any file, without case."""

    table: LaidOutTable
    path: str
    names: set[str]

    def column(self, field: Json, parent: FileField) -> SparkJson:
        """Return the column of a field among a struct's fields, or one that no file has."""
        matches = [child for child in parent.children if child.id == field["id"]]
        if len(matches) > 1:
            raise InputError(
                f"{self.path}: has two columns of the field {field['name']!r} ({matches[0].name!r} and "
                f"{matches[1].name!r}); rewrite the file"
            )
        if matches:
            return _column(matches[0].name, self._type(field, matches[0]))
        self._check_defaults(field, nested=parent.name != "")
        column = _column(self._absent_name(field["id"]), _type_of(field, self.table))
        return {**column, "metadata": default_metadata(field, self.table.location)}

    def _absent_name(self, field_id: int) -> str:
        name = f"{ABSENT_PREFIX}{field_id}"
        while name in self.names:
            name += "_"
        return name

    def _check_defaults(self, field: Json, *, nested: bool) -> None:
        if nested and field.get("initial-default") is not None:
            raise InputError(
                f"{self.path}: lacks the nested field {field['name']!r}, which has an initial default that "
                "Spark cannot give; rewrite the file"
            )

    def _type(self, field: Json, file_field: FileField) -> SparkJson:
        stored = field["type"]
        if isinstance(stored, str):
            return self._primitive_type(field, file_field)
        file_children = self._children_in_file(field, file_field)
        if stored["type"] == "struct":
            return {
                "type": "struct",
                "fields": [self.column(child, file_field) for child in stored["fields"]],
            }
        inner = [
            self._type(child, file_child)
            for child, file_child in zip(children(stored), file_children, strict=True)
        ]
        if stored["type"] == "list":
            return {"type": "array", "elementType": inner[0], "containsNull": True}
        return {"type": "map", "keyType": inner[0], "valueType": inner[1], "valueContainsNull": True}

    def _children_in_file(self, field: Json, file_field: FileField) -> tuple[FileField, ...]:
        if file_field.type != field["type"]["type"]:
            raise InputError(
                f"{self.path}: its column {file_field.name!r} is no {field['type']['type']}, as the table's "
                "is; rewrite the file"
            )
        return file_field.children

    def _primitive_type(self, field: Json, file_field: FileField) -> SparkJson:
        """Return the file's type where the table's was widened from it, else the table's."""
        type_ = spark_type(field["type"], field["name"], self.table.location)
        if _NARROWER.get(type_) == file_field.type:
            return file_field.type
        mine, wide = _DECIMAL.fullmatch(file_field.type), _DECIMAL.fullmatch(type_)
        if mine and wide and mine[2] == wide[2] and int(mine[1]) < int(wide[1]):
            return file_field.type
        return type_
