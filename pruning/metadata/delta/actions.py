"""The actions in commits and checkpoints: files that were added and removed, protocol and metadata."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.metadata.delta.log_files import LOG_DIRECTORY, DeltaLog, Segment
from pruning.metadata.table.structs import field_of, has_field, whole

_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_FILE_FIELDS: dict[str, pa.DataType] = {
    "path": pa.string(),
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "partitionValues": pa.map_(pa.string(), pa.string()),
    "deletionVector": _VECTOR,
    "stats": pa.string(),
}
# Of the files of a table: the fields of their actions, and whether each action adds its file.
FILE_ACTIONS = pa.schema([*_FILE_FIELDS.items(), ("is_add", pa.bool_())])
_CHECKPOINT_COLUMNS = ("protocol", "metaData", "sidecar")
# Requests under way at once, where each commit of a remote log is one.
_READERS = 8
# Begins what is not just the name of a file below the table's directory, or is an escape.
_NOT_PLAIN = "%|^/|^[A-Za-z][A-Za-z0-9+.-]+:/"


@dataclass(frozen=True, slots=True)
class FileActions:
    """Actions on files, in the order in which they were committed.

    Attributes:
        table: The actions, in the schema `FILE_ACTIONS`.
        parsed: Their statistics as a struct, aligned with the table; NULL where `stats` has them as text.
    """

    table: pa.Table
    parsed: pa.StructArray | None = None

    def filter(self, mask: pa.Array) -> "FileActions":
        """Return the actions of the mask."""
        return FileActions(self.table.filter(mask), None if self.parsed is None else self.parsed.filter(mask))


@dataclass(slots=True)
class Actions:
    """The actions of a part of the log, in the order in which they were committed.

    Attributes:
        protocol, metadata: The newest ones; None if there is none.
        files: Actions on files, in batches.
        sidecars: The paths of further files of a checkpoint.
    """

    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    files: list[FileActions] = field(default_factory=list)
    sidecars: list[str] = field(default_factory=list)


def read_actions(log: DeltaLog, segment: Segment) -> Actions:
    """Return the actions of the files of the log that a version is made of, oldest first.

    Raises:
        InputError: a file is damaged.
    """
    actions = Actions()
    for path in segment.checkpoint:
        _read_checkpoint(log, path, actions)
    # Removals in a checkpoint are of files that it does not have.
    actions.files = [batch.filter(whole(batch.table["is_add"])) for batch in actions.files]
    sidecars, actions.sidecars = actions.sidecars, []
    for path in sidecars:
        _read_checkpoint(log, f"{log.root}/{LOG_DIRECTORY}/_sidecars/{path}", actions)
    with ThreadPoolExecutor(_READERS) as readers:
        contents = readers.map(log.bytes_of, segment.commits)
        _read_lines(zip(segment.commits, contents, strict=True), actions)
    actions.files = [_with_resolved_paths(log, batch) for batch in actions.files]
    return actions


def commit_info(path: str, content: bytes) -> dict[str, Any]:
    """Return the fields of the first action of a commit if it is information on the commit; else none.

    Raises:
        InputError: the commit is damaged.
    """
    _, kind, value = next(_lines(path, content))
    return value if kind == "commitInfo" else {}


def _read_checkpoint(log: DeltaLog, path: str, actions: Actions) -> None:
    if path.endswith(".json"):
        _read_lines([(path, log.bytes_of(path))], actions)
        return
    content = log.bytes_of(path)
    try:
        file = pq.ParquetFile(pa.BufferReader(content), coerce_int96_timestamp_unit="us")
        batch = _checkpoint_files(file)
        others = file.read([name for name in _CHECKPOINT_COLUMNS if name in file.schema_arrow.names])
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: is damaged ({error}); restore it, or remove it if all commits before it are there"
        ) from error
    if batch is not None:
        actions.files.append(batch)
    rows = {name: others[name].drop_null().to_pylist() for name in others.column_names}
    for protocol in rows.get("protocol", ()):
        actions.protocol = protocol
    for metadata in rows.get("metaData", ()):
        actions.metadata = metadata | {"configuration": dict(metadata.get("configuration") or ())}
    actions.sidecars += [_sidecar_name(row["path"]) for row in rows.get("sidecar", ())]


def _checkpoint_files(file: pq.ParquetFile) -> FileActions | None:
    """Return the files that a checkpoint adds; None if it adds none."""
    if "add" not in file.schema_arrow.names:
        return None
    here = [part.name for part in file.schema_arrow.field("add").type]
    wanted = [name for name in _FILE_FIELDS if name in here]
    add = whole(file.read([f"add.{name}" for name in wanted])["add"])
    is_file = add.is_valid()
    add = add.filter(is_file)
    columns = {
        name: _cast_column(field_of(add, name), type_) if name in wanted else pa.nulls(len(add), type_)
        for name, type_ in _FILE_FIELDS.items()
    }
    table = pa.table([*columns.values(), pa.repeat(True, len(add))], schema=FILE_ACTIONS)
    if table["path"].null_count:
        raise pa.ArrowInvalid(f"{table['path'].null_count} of its files have no path")
    if "stats_parsed" not in here or not table["stats"].null_count:
        return FileActions(table)
    parsed = field_of(whole(file.read(["add.stats_parsed"])["add"]).filter(is_file), "stats_parsed")
    return FileActions(table, parsed)


def _with_resolved_paths(log: DeltaLog, batch: FileActions) -> FileActions:
    """Return actions with the paths or URIs of their files, without escapes."""
    paths = whole(batch.table["path"])
    special = pc.match_substring_regex(paths, _NOT_PLAIN).to_numpy(zero_copy_only=False)
    plain = pc.binary_join_element_wise(f"{log.location}/", paths, "")
    if special.any():
        resolved = iter([log.path_of(path) for path in paths.filter(pa.array(special)).to_pylist()])
        plain = pc.replace_with_mask(plain, pa.array(special), pa.array(list(resolved), pa.string()))
    place = batch.table.schema.get_field_index("path")
    return FileActions(batch.table.set_column(place, FILE_ACTIONS.field("path"), plain), batch.parsed)


def _cast_column(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return a column of a checkpoint in the type of `FILE_ACTIONS`."""
    if not pa.types.is_struct(type_):
        return array.cast(type_)
    # Writers leave out fields that they do not use.
    fields = [
        field_of(array, part.name).cast(part.type)
        if has_field(array, part.name)
        else pa.nulls(len(array), part.type)
        for part in type_
    ]
    return pa.StructArray.from_arrays(fields, fields=list(type_), mask=array.is_null())


def _sidecar_name(path: str | None) -> str:
    return unquote(path or "").rpartition("/")[2]


def _read_lines(files: Iterable[tuple[str, bytes]], actions: Actions) -> None:
    """Read files with an action in each line."""
    tables = []
    for path, content in files:
        rows: list[dict[str, Any]] = []
        are_adds: list[bool] = []
        for number, kind, value in _lines(path, content):
            if kind in ("add", "remove"):
                rows.append(value)
                are_adds.append(kind == "add")
            elif kind == "protocol":
                actions.protocol = value
            elif kind == "metaData":
                actions.metadata = value
            elif kind == "sidecar":
                actions.sidecars.append(_sidecar_name(value.get("path")))
            if kind in ("add", "remove", "sidecar") and not isinstance(value.get("path"), str):
                raise InputError(f"{path}: line {number} names no file; the log is damaged: restore it")
        if rows:
            tables.append(_file_table(path, rows, are_adds))
    if tables:
        actions.files.append(FileActions(pa.concat_tables(tables).combine_chunks()))


def _lines(path: str, content: bytes) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each action in a file: the number of its line, its kind, and its fields."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text ({error}); the log is damaged: restore the file") from error
    is_empty = True
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            continue
        try:
            action = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: line {number} is no action in JSON ({error}); the log is damaged: restore the file"
            ) from error
        if not isinstance(action, dict) or not all(isinstance(value, dict) for value in action.values()):
            raise InputError(f"{path}: line {number} is no action; the log is damaged: restore the file")
        is_empty = False
        for kind, value in action.items():
            yield number, kind, value
    if is_empty:
        raise InputError(f"{path}: is empty; the log is damaged: restore the file")


def _file_table(path: str, rows: Sequence[dict[str, Any]], are_adds: Sequence[bool]) -> pa.Table:
    try:
        columns = [
            pa.array([_value(row.get(name), name) for row in rows], type_)
            for name, type_ in _FILE_FIELDS.items()
        ]
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: a file's action has a field of another type than Delta's protocol says ({error}); "
            "the log is damaged: restore the file"
        ) from error
    return pa.table([*columns, pa.array(are_adds, pa.bool_())], schema=FILE_ACTIONS)


def _value(value: Any, name: str) -> Any:
    """Return a field of an action as Arrow takes it."""
    if value is None:
        return None
    if name == "partitionValues":
        return list(value.items())
    if name == "stats" and not _is_unicode(value):
        # Statistics are of use, never needed.
        return None
    return value


def _is_unicode(text: str) -> bool:
    """Tell whether a text has no half of a surrogate pair, which JSON can escape and UTF-8 cannot hold."""
    try:
        return bool(text.isascii() or text.encode())
    except UnicodeEncodeError:
        return False
