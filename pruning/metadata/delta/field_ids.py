"""Check that files have the names of a table whose columns are mapped by ids.

Delta's protocol has readers find columns by id in such tables. Every writer gives columns in files the names
that the log has, too; files of Iceberg that a table was converted from may have others.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.metadata.files.locations import locate, to_uri

_KEY = b"PARQUET:field_id"
_READERS = 8

Path = tuple[str, ...]


def check_names(files: Sequence[str], ids: Mapping[Path, int]) -> None:
    """Check that reading files by names finds the columns that reading them by ids would find.

    Claim     Of each field of the table, both find the same column of a file, or none.
    Proof     (1) A column with the id of a field has the field's path.
              (2) A column with the path of a field has the field's id.
    Unsound   if a footer were not read.

    Raises:
        InputError: a file's names are other ones, or its footer cannot be read.
    """
    paths = {id_: path for path, id_ in ids.items()}
    # Spark finds columns by names in any case.
    ids_by_name = {_lower_case(path): id_ for path, id_ in ids.items()}

    def check(file: str) -> None:
        for path, id_ in _columns(file):
            if (id_ is not None and paths.get(id_, path) != path) or ids_by_name.get(
                _lower_case(path), id_
            ) != id_:  # (1), (2)
                raise InputError(
                    f"{file}: has the column {'.'.join(path)} under the id {id_}, and the table's log has "
                    "other names for its ids; this package reads by names: rewrite the file, as OPTIMIZE does"
                )

    with ThreadPoolExecutor(_READERS) as readers:
        list(readers.map(check, files))


def _lower_case(path: Path) -> Path:
    return tuple(name.lower() for name in path)


def _columns(file: str) -> Iterator[tuple[Path, int | None]]:
    try:
        system, path = locate(file if file.startswith("/") else to_uri(file))
        with system.open_input_file(path) as source:
            schema = pq.read_schema(source)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: its footer cannot be read ({error}); restore the file") from error
    for field in schema:
        yield from _inside(field, ())


def _inside(field: pa.Field, path: Path) -> Iterator[tuple[Path, int | None]]:
    below = (*path, field.name)
    yield below, _id(field)
    yield from _children(field.type, below)


def _children(type_: pa.DataType, path: Path) -> Iterator[tuple[Path, int | None]]:
    if pa.types.is_struct(type_):
        for field in type_:
            yield from _inside(field, path)
    elif pa.types.is_map(type_):
        yield from _children(type_.key_type, (*path, "key"))
        yield from _children(type_.item_type, (*path, "value"))
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        yield from _children(type_.value_type, (*path, "element"))


def _id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(_KEY)
    return None if text is None else int(text)
