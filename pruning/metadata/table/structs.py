"""The fields of Arrow's structs by their exact names, whatever the names hold.

Arrow's own `pyarrow.compute.struct_field` takes a name that begins with "." or "[" for a path into other
fields, and looks at all fields of the struct to find one. Columns of tables may have any name, and there
may be thousands: so the functions here find a field by its place, in constant time.
"""

from collections.abc import Iterable
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

_Lanes = TypeVar("_Lanes", pa.Array, pa.ChunkedArray)


def has_field(struct: pa.StructArray | pa.ChunkedArray, name: str) -> bool:
    """Return whether exactly one field of a struct has exactly that name."""
    place: int = struct.type.get_field_index(name)
    return place >= 0


def field_of(struct: _Lanes, name: str) -> _Lanes:
    """Return the field of exactly that name, NULL where its struct is NULL; shape (lanes,).

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
    """Return the struct with these of its fields alone, in the order given.

    Raises:
        KeyError: as `field_of`.
    """
    kept = {name: field_of(struct, name) for name in names}
    return made_of(kept, len(struct))


def made_of(fields: dict[str, pa.Array], length: int) -> pa.StructArray:
    """Return a struct of arrays of shape (length,) by name, which may be none."""
    if not fields:
        return pa.array([{}] * length, pa.struct([]))
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy where it is in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    # Arrow cannot make an empty array of some coded types but by way of nulls.
    return pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


def _field_at(struct: pa.StructArray, place: int) -> pa.Array:
    """The child at a place; Arrow's kernel only where some structs are NULL, and so their fields."""
    return pc.struct_field(struct, [place]) if struct.null_count else struct.field(place)
