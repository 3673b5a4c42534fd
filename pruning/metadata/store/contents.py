"""The contents of packs: the footers of files, and the block metadata that was made of them.

A pack of footers has the facts: the bytes of each file's footer as they are in the file, so that no file
must be opened again, whatever is believed later. A pack of blocks has the beliefs of one version of this
package, with a section per column, so that a query reads the columns that it names. It can be made again
from the footers, so its format needs no compatibility.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pruning.expressions.names import top_column
from pruning.metadata.store.packs import Damaged, Pack, pack_pieces
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.structs import make_typed_struct, whole

_FOOTERS = "footers"
_FOOTER = pa.schema([pa.field("footer", pa.large_binary(), nullable=False)])
# The last column of block metadata, and the first: the latter is made of the rows of files.
_COLUMNS, _FILE = "columns", "file"


def footer_pieces(footers: Sequence[bytes]) -> list[bytes]:
    """Return the content of a pack of footers, in the order of the files' rows."""
    column = pa.array(footers, pa.large_binary())
    return pack_pieces({}, {_FOOTERS: _to_bytes(pa.table([column], schema=_FOOTER))})


def footers_in(pack: Pack) -> list[bytes]:
    """Return the footers in a pack.

    Raises:
        Damaged: the pack is not as it was written.
    """
    (data,) = pack.sections([_FOOTERS])
    footers: list[bytes] = _from_bytes(data).column(0).to_pylist()
    return footers


def block_pieces(shards: Iterable[Shard], notes: Mapping[str, Any] | None = None) -> list[bytes]:
    """Return the content of a pack of blocks.

    Args:
        shards: The block metadata; a file's name is its row in decimal digits.
        notes: What else to note in the pack, values that JSON can hold.
    """
    described: list[dict[str, Any]] = []
    sections: dict[str, bytes] = {}
    for number, shard in enumerate(shards):
        table = shard.table.combine_chunks()
        columns = whole(table[_COLUMNS])
        described.append(
            {
                "files": [int(file) for file in shard.files],
                "columns": [field.name for field in columns.type],
                "metadata": [
                    [key.decode(), text.decode()] for key, text in (table.schema.metadata or {}).items()
                ],
            }
        )
        rows = table.drop_columns([_COLUMNS])
        rows = rows.set_column(0, _FILE, rows[_FILE].cast(pa.int32())).replace_schema_metadata(None)
        sections[f"{number}"] = _to_bytes(rows)
        for place, field in enumerate(columns.type):
            lanes = pa.Table.from_arrays(columns.field(place).flatten(), schema=pa.schema(list(field.type)))
            sections[f"{number}.{place}"] = _to_bytes(lanes)
    return pack_pieces({"shards": described, **(notes or {})}, sections)


def blocks_in(pack: Pack, columns: Collection[str] | None) -> list[Shard]:
    """Return the block metadata in a pack; a file's name is its row in decimal digits.

    Args:
        pack: The pack.
        columns: The top-level columns to read; None for all.
    Raises:
        Damaged: the pack is not as it was written.
    """
    return [_shard(pack, number, columns) for number in range(len(pack.notes["shards"]))]


def _shard(pack: Pack, number: int, wanted: Collection[str] | None) -> Shard:
    described = pack.notes["shards"][number]
    names = described["columns"]
    places = [place for place, name in enumerate(names) if wanted is None or top_column(name) in wanted]
    rows_data, *columns_data = pack.sections([f"{number}", *(f"{number}.{place}" for place in places)])
    rows = _from_bytes(rows_data)
    structs = [_struct(_from_bytes(data)) for data in columns_data]
    fields = [(names[place], lanes.type) for place, lanes in zip(places, structs, strict=True)]
    columns = make_typed_struct(structs, pa.struct(fields), len(rows))
    file = pa.field(_FILE, pa.string(), nullable=False)
    table = rows.set_column(0, file, rows[_FILE].cast(pa.string())).append_column(_COLUMNS, columns)
    return Shard(
        tuple(map(str, described["files"])), table.replace_schema_metadata(dict(described["metadata"]))
    )


def _struct(lanes: pa.Table) -> pa.StructArray:
    return pa.StructArray.from_arrays([whole(lane) for lane in lanes.columns], fields=list(lanes.schema))


def _to_bytes(table: pa.Table) -> bytes:
    """Return a table as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _from_bytes(data: bytes) -> pa.Table:
    """Return the table of an Arrow stream.

    Raises:
        Damaged: the bytes are no such stream.
    """
    try:
        with pa.ipc.open_stream(data) as reader:
            return reader.read_all().combine_chunks()
    except pa.ArrowException as error:
        raise Damaged(f"a section cannot be decoded ({error})") from error
