"""Conversion of the facts of footers to block metadata; each belief is decided for many chunks at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import pyarrow as pa

from pruning.expressions.types import Type
from pruning.metadata.footers.evidence import ColumnTraits, Provenance
from pruning.metadata.footers.frame_files import FrameFiles
from pruning.metadata.footers.thrift_lanes import ABSENT, Numbers
from pruning.metadata.footers.trust import Beliefs, beliefs
from pruning.metadata.table.schema import arrow_type, block_schema, column_fields
from pruning.metadata.table.structs import make_typed_struct

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPart:
    """The block metadata of files whose columns agree in name, type and order.

    Attributes:
        columns: Their names and types.
        others: Their other columns, as JSON.
        group_counts: The number of row groups of each file.
        arrays: A lane per row group, as `pruning.metadata.table.schema` describes.
        comparable: The names of the comparable columns.
    """

    columns: tuple[tuple[str, Type], ...]
    others: str
    files: tuple[str, ...]
    group_counts: Numbers
    arrays: tuple[pa.Array, ...]
    comparable: frozenset[str]


@dataclass(slots=True)
class _AlikeChunks:
    """The chunks of columns with the same traits in files of one writer: of each column, an array of them.

    `rows` has the numbers of rows of the chunks' row groups, and `columns` the places of the columns: the
    index of their part, and theirs in its frame.
    """

    chunks: list[Numbers] = field(default_factory=list)
    rows: list[Numbers] = field(default_factory=list)
    columns: list[tuple[int, int]] = field(default_factory=list)


def block_parts(parts: Sequence[FrameFiles]) -> list[BlockPart]:
    """Return the block metadata of files from their facts."""
    bounds: dict[tuple[int, int], tuple[pa.Array, ...]] = {}
    for (_, traits, source), alike in _alike_chunks(parts).items():
        facts = parts[alike.columns[0][0]].chunks.take(np.concatenate(alike.chunks))
        lanes = _belief_lanes(beliefs(facts, np.concatenate(alike.rows), traits, source), traits)
        starts = accumulate(map(len, alike.chunks), initial=0)
        for place, start, chunks in zip(alike.columns, starts, alike.chunks, strict=False):
            bounds[place] = tuple(array.slice(start, len(chunks)) for array in lanes)
    return [
        _block_part(part, [bounds[place, column] for column in range(len(part.frame.columns))])
        for place, part in enumerate(parts)
    ]


def _alike_chunks(
    parts: Sequence[FrameFiles],
) -> dict[tuple[int, ColumnTraits, Provenance], _AlikeChunks]:
    """Return the chunks of all columns by what decides the beliefs, and by the array that has their facts."""
    groups: dict[tuple[int, ColumnTraits, Provenance], _AlikeChunks] = {}
    for place, part in enumerate(parts):
        for number, column in enumerate(part.frame.columns):
            key = id(part.chunks), column.traits, part.frame.source
            alike = groups.setdefault(key, _AlikeChunks())
            alike.chunks.append(part.first_chunks + column.chunk)
            alike.rows.append(part.row_counts)
            alike.columns.append((place, number))
    return groups


def _belief_lanes(believed: Beliefs, traits: ColumnTraits) -> tuple[pa.Array, ...]:
    """Return the arrays of a column in block metadata, except for the numbers of bytes."""
    minima, maxima = typed_bounds(believed, traits)
    unknown = pa.nulls(len(minima), pa.int64())
    return believed.null_count, unknown, minima, maxima, believed.min_exact, believed.max_exact


def typed_bounds(believed: Beliefs, traits: ColumnTraits) -> tuple[pa.Array, pa.Array]:
    """Return the minima and maxima of a column in the type that block metadata has."""
    bound = arrow_type(traits.storage.type)
    minima, maxima = (
        pa.nulls(len(array), bound) if traits.storage.form is None else array.view(bound)
        for array in (believed.min, believed.max)
    )
    return minima, maxima


def _block_part(part: FrameFiles, lanes: Sequence[tuple[pa.Array, ...]]) -> BlockPart:
    columns = part.frame.columns
    types = tuple((column.name, column.traits.storage.type) for column in columns)
    structs = []
    for column, (null_count, nan_count, *bounds) in zip(columns, lanes, strict=True):
        byte_count = _optional(part.chunks.byte_counts[part.first_chunks + column.chunk])
        struct = column_fields(column.traits.storage.type)
        structs.append(
            pa.StructArray.from_arrays([null_count, nan_count, byte_count, *bounds], fields=list(struct))
        )
    blocks = len(part.row_counts)
    struct = block_schema(dict(types)).field("columns").type
    return BlockPart(
        columns=types,
        others=part.frame.others,
        files=part.files,
        group_counts=part.group_counts,
        arrays=(*_locators(part), make_typed_struct(structs, struct, blocks)),
        comparable=frozenset(_comparable_columns(part)),
    )


def _comparable_columns(part: FrameFiles) -> Iterator[str]:
    """Yield the columns whose bounds Spark's reader compares in every row group that has rows."""
    for column in part.frame.columns:
        if column.comparable:
            null_counts = part.chunks.null_counts[part.first_chunks + column.chunk]
            # Without a NULL count, Spark keeps the row group if the filter accepts NULL, even for a required
            # column.
            if ((null_counts != ABSENT) | (part.row_counts == 0)).all():
                yield column.name


def _locators(part: FrameFiles) -> tuple[pa.Array, ...]:
    """Return the arrays that stand before the columns in block metadata."""
    counts = part.group_counts
    first_groups = np.cumsum(counts) - counts
    files_of_groups = np.repeat(np.arange(len(counts)), counts)
    row_groups = np.arange(len(part.row_counts)) - first_groups[files_of_groups]
    # A sum over many files may exceed 64 bits; the difference of two sums is right nevertheless.
    row_offsets = np.cumsum(part.row_counts) - part.row_counts
    row_offsets -= row_offsets[first_groups[files_of_groups]]
    return (
        pa.array(part.files, pa.string()).take(pa.array(files_of_groups)),
        pa.array(row_groups.astype(np.int32)),
        pa.array(row_offsets),
        *_extents(part),
        pa.array(part.row_counts),
    )


def _extents(part: FrameFiles) -> tuple[pa.Array, pa.Array]:
    """Return the offset of each row group's first page, and its bytes; NULL where a chunk lacks them."""
    chunks = part.first_chunks[:, None] + np.arange(part.chunk_count)
    if part.chunk_count == 0:
        return pa.nulls(len(chunks), pa.int64()), pa.array(np.zeros(len(chunks), np.int64))
    offsets, sizes = part.chunks.byte_offsets[chunks], part.chunks.byte_counts[chunks]
    if sizes.max(initial=0) > _INT64_MAX // part.chunk_count:
        sums = np.array([total if (total := sum(row)) <= _INT64_MAX else ABSENT for row in sizes.tolist()])
    else:
        sums = sizes.sum(axis=1)
    return (
        _optional(np.where((offsets == ABSENT).any(axis=1), ABSENT, offsets.min(axis=1))),
        _optional(np.where((sizes == ABSENT).any(axis=1), ABSENT, sums)),
    )


def _optional(numbers: Numbers) -> pa.Array:
    """Return numbers as an Arrow array, NULL where they are absent."""
    return pa.array(numbers, mask=numbers == ABSENT)
