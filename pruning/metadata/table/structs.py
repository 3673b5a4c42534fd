"""Access to the fields of Arrow structs by their exact names, whatever characters these contain.

Arrow's own `pyarrow.compute.struct_field` interprets a name that begins with "." or "[" as a path, and
searches all fields of the struct. Columns may have any name, and there may be thousands, so these functions
look up a field's index first, in constant time.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

_Lanes = TypeVar("_Lanes", pa.Array, pa.ChunkedArray)


def has_field(struct: pa.StructArray | pa.ChunkedArray, name: str) -> bool:
    """Tell whether exactly one field of a struct has this name."""
    place: int = struct.type.get_field_index(name)
    return place >= 0


def field_of(struct: _Lanes, name: str) -> _Lanes:
    """Return the field with exactly this name, NULL where its struct is NULL; shape (lanes,).

    Raises:
        KeyError: no field has that name, or more than one.
    """
    place = struct.type.get_field_index(name)
    if place < 0:
        raise KeyError(name)
    if isinstance(struct, pa.ChunkedArray):
        chunks = [_field_at(chunk, place) for chunk in struct.chunks]
        return pa.chunked_array(chunks, struct.type.field(place).type)
    return _field_at(struct, place)


def with_fields(struct: pa.StructArray, names: Iterable[str]) -> pa.StructArray:
    """Return the struct with only these fields, in the given order.

    Raises:
        KeyError: as `field_of`.
    """
    kept = {name: field_of(struct, name) for name in names}
    return make_struct(kept, len(struct))


def make_struct(fields: dict[str, pa.Array], length: int) -> pa.StructArray:
    """Return a struct array of named arrays of shape (length,); there may be none."""
    if not fields:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def make_typed_struct(arrays: Sequence[pa.Array], type_: pa.StructType, length: int) -> pa.StructArray:
    """Return a struct array of a type from the arrays of its fields, shape (length,); there may be none."""
    if not arrays:
        return pa.array([{}] * length, type_)
    return pa.StructArray.from_arrays(arrays, fields=list(type_))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it has a single chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    # An empty array of some dictionary types can only be made by `pa.nulls`.
    return pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


def _field_at(struct: pa.StructArray, place: int) -> pa.Array:
    """Return the field at an index; Arrow's slower kernel is needed only if some structs are NULL."""
    return pc.struct_field(struct, [place]) if struct.null_count else struct.field(place)
