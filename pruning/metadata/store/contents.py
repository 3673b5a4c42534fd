"""The contents of packs: the footers of files, and the block metadata that was made of them.

A pack of footers has the facts: the bytes of each file's footer as they are in the file, so that no file
must be opened again, whatever is believed later. A pack of blocks has the beliefs of one version of this
package. Its blocks are in groups of whole files, with a section for each group and column, and, if there are
several groups, a summary of each, so that a query reads the columns that it names of the groups that may
hold its rows ([M] 5.8). It can be made again from the footers, so its format needs no compatibility.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pruning.expressions.names import top_column
from pruning.metadata.store.packs import Pack, from_bytes, pack_pieces, to_bytes
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.structs import make_typed_struct, whole
from pruning.metadata.table.summaries import summarize

_FOOTERS = "footers"
_FOOTER = pa.schema([pa.field("footer", pa.large_binary(), nullable=False)])
# The last column of block metadata, and the first: the latter is made of the rows of files.
_COLUMNS, _FILE = "columns", "file"
# The most blocks of a group, unless a single file has more; and the name of the summaries' sections.
GROUP_BLOCKS = 4_096
_SUMMARY = "groups"


class Group(NamedTuple):
    """Neighbouring files of a shard whose block metadata is read together.

    Attributes:
        first_file: The place of the first file in the shard.
        files: The number of files.
        first_block: The place of the first block in the shard.
        blocks: The number of blocks.
    """

    first_file: int
    files: int
    first_block: int
    blocks: int


def footer_pieces(footers: Sequence[bytes]) -> list[bytes]:
    """Return the content of a pack of footers, in the order of the files' rows."""
    column = pa.array(footers, pa.large_binary())
    return pack_pieces({}, {_FOOTERS: to_bytes(pa.table([column], schema=_FOOTER))})


def footers_in(pack: Pack) -> list[bytes]:
    """Return the footers in a pack.

    Raises:
        Damaged: the pack is not as it was written.
    """
    (data,) = pack.sections([_FOOTERS])
    footers: list[bytes] = from_bytes(data).column(0).to_pylist()
    return footers


def block_pieces(
    shards: Iterable[Shard],
    notes: Mapping[str, Any] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
    *,
    summarizes: bool = True,
) -> list[bytes]:
    """Return the content of a pack of blocks.

    Args:
        shards: The block metadata; a file's name is its row in decimal digits.
        notes: What else to note in the pack, values that JSON can hold.
        tables: Other tables, which `table_in` reads by their names; a name begins with a letter.
        summarizes: Whether the pack has summaries of its groups, if there are several.
    """
    described: list[dict[str, Any]] = []
    sections = {name: to_bytes(table) for name, table in (tables or {}).items()}
    for number, shard in enumerate(shards):
        table = shard.table.combine_chunks()
        counts = _block_counts(shard)
        sizes = _group_sizes(counts)
        groups = _groups(sizes, counts)
        described.append(
            {
                "files": [int(file) for file in shard.files],
                "blocks": counts,
                "groups": sizes,
                "columns": [field.name for field in whole(table[_COLUMNS]).type],
                "metadata": [
                    [key.decode(), text.decode()] for key, text in (table.schema.metadata or {}).items()
                ],
            }
        )
        for place, group in enumerate(groups):
            sections |= _table_sections(
                table.slice(group.first_block, group.blocks).combine_chunks(), f"{number}.{place}"
            )
        if len(groups) > 1 and summarizes:
            summaries = summarize(table, [group.blocks for group in groups])
            sections |= _table_sections(
                summaries.set_column(0, _FILE, pa.repeat("0", len(groups))), f"{number}.{_SUMMARY}"
            )
    return pack_pieces({"shards": described, **(notes or {})}, sections)


def _block_counts(shard: Shard) -> list[int]:
    """Return the number of blocks of each file of a shard."""
    counts = shard.table[_FILE].value_counts()
    by_file = dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    return [by_file.get(file, 0) for file in shard.files]


def _group_sizes(counts: Sequence[int]) -> list[int]:
    """Return the number of files of each group, from the numbers of blocks of the files."""
    sizes = [0]
    blocks = 0
    for count in counts:
        if sizes[-1] and blocks + count > GROUP_BLOCKS:
            sizes.append(0)
            blocks = 0
        sizes[-1] += 1
        blocks += count
    return sizes


def _groups(sizes: Sequence[int], counts: Sequence[int] | np.ndarray) -> list[Group]:
    """Return the groups with these numbers of files, whose numbers of blocks follow."""
    groups: list[Group] = []
    first_file = first_block = 0
    ends = np.concatenate([[0], np.cumsum(counts)]).tolist()
    for size in sizes:
        blocks = ends[first_file + size] - ends[first_file]
        groups.append(Group(first_file, size, first_block, blocks))
        first_file, first_block = first_file + size, first_block + blocks
    return groups


def _table_sections(table: pa.Table, name: str) -> dict[str, bytes]:
    """Return the sections of block metadata whose files are numbers: the locators, then each column."""
    columns = whole(table[_COLUMNS])
    rows = table.drop_columns([_COLUMNS])
    rows = rows.set_column(0, _FILE, rows[_FILE].cast(pa.int32())).replace_schema_metadata(None)
    sections = {name: to_bytes(rows)}
    for place, field in enumerate(columns.type):
        lanes = pa.Table.from_arrays(columns.field(place).flatten(), schema=pa.schema(list(field.type)))
        sections[f"{name}.{place}"] = to_bytes(lanes)
    return sections


class PackedShard:
    """The block metadata in a pack of files whose columns agree, of which a reader takes some groups.

    Attributes:
        rows: The rows of the files in the pack; shape (files,).
        groups: The groups of files.
    """

    def __init__(self, pack: Pack, number: int) -> None:
        """Describe a shard of a pack by its number."""
        described = pack.notes["shards"][number]
        self._pack, self._number, self._columns = pack, number, described["columns"]
        self._metadata = dict(described["metadata"])
        self._block_counts = np.array(described["blocks"], np.int64)
        self.rows = np.array(described["files"], np.int64)
        self.groups = _groups(described["groups"], self._block_counts)

    def files_of_groups(self, groups: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the files of some groups, and their numbers of blocks; shapes (files,)."""
        places = [
            np.arange(group.first_file, group.first_file + group.files)
            for group in map(self.groups.__getitem__, groups)
        ]
        place = np.concatenate(places)
        return self.rows[place], self._block_counts[place]

    def summaries(self, columns: Collection[str] | None) -> pa.Table | None:
        """Return the block metadata of the groups, each as one block; None if there is one group.

        Args:
            columns: The top-level columns to read; None for all.
        Raises:
            Damaged: the pack is not as it was written.
        """
        return None if len(self.groups) == 1 else self._read([_SUMMARY], columns)

    def blocks(self, groups: Sequence[int], columns: Collection[str] | None) -> pa.Table:
        """Return the block metadata of some groups; `file` has the rows of the files in the pack, as int32.

        Args:
            groups: Their numbers, at least one.
            columns: The top-level columns to read; None for all.
        Raises:
            Damaged: the pack is not as it was written.
        """
        return self._read(list(map(str, groups)), columns)

    def _read(self, parts: Sequence[str], columns: Collection[str] | None) -> pa.Table:
        places = [
            place
            for place, name in enumerate(self._columns)
            if columns is None or top_column(name) in columns
        ]
        names = [
            name
            for part in parts
            for name in (f"{self._number}.{part}", *(f"{self._number}.{part}.{place}" for place in places))
        ]
        tables = [from_bytes(data) for data in self._pack.sections(names)]
        per_part = len(places) + 1
        rows = _concatenate(tables[::per_part])
        lanes = [_concatenate(tables[place::per_part]) for place in range(1, per_part)]
        fields = [
            (self._columns[place], _struct_type(table)) for place, table in zip(places, lanes, strict=True)
        ]
        columns_read = make_typed_struct([_struct(table) for table in lanes], pa.struct(fields), len(rows))
        return rows.append_column(_COLUMNS, columns_read).replace_schema_metadata(self._metadata)


def table_in(pack: Pack, name: str) -> pa.Table:
    """Return one of the other tables in a pack of blocks.

    Raises:
        Damaged: the pack is not as it was written.
    """
    (data,) = pack.sections([name])
    return from_bytes(data)


def count_blocks(pack: Pack) -> int:
    """Return the number of blocks in a pack of blocks."""
    return sum(sum(described["blocks"]) for described in pack.notes["shards"])


def packed_shards(pack: Pack) -> list[PackedShard]:
    """Return the shards of a pack of blocks."""
    return [PackedShard(pack, number) for number in range(len(pack.notes["shards"]))]


def blocks_in(pack: Pack, columns: Collection[str] | None) -> list[Shard]:
    """Return the block metadata in a pack; a file's name is its row in decimal digits.

    Args:
        pack: The pack.
        columns: The top-level columns to read; None for all.
    Raises:
        Damaged: the pack is not as it was written.
    """
    return [
        Shard(
            tuple(map(str, packed.rows.tolist())),
            _with_texts(packed.blocks(range(len(packed.groups)), columns)),
        )
        for packed in packed_shards(pack)
    ]


def _with_texts(table: pa.Table) -> pa.Table:
    file = pa.field(_FILE, pa.string(), nullable=False)
    return table.set_column(0, file, table[_FILE].cast(pa.string()))


def _concatenate(tables: Sequence[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()


def _struct_type(lanes: pa.Table) -> pa.StructType:
    return pa.struct(list(lanes.schema))


def _struct(lanes: pa.Table) -> pa.StructArray:
    return pa.StructArray.from_arrays([whole(lane) for lane in lanes.columns], fields=list(lanes.schema))
