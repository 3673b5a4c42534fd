"""The indexing of the values of some files, and the child process that does it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.index import bloom
from pruning.metadata.index.block_values import (
    DistinctValues,
    indexable_columns,
    locators_and_bounds,
    row_group_values,
)
from pruning.metadata.index.child_processes import run_child
from pruning.metadata.index.encodings import own_encoding
from pruning.metadata.index.file_filters import FILTER_BYTES_MAX, read_filters
from pruning.metadata.index.membership_budget import budgeted_memberships, filter_memberships
from pruning.metadata.index.own_filters import BITS_WANTED, LAYOUT_BYTES, BloomFilter, Budget, bytes_needed
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.coverings import CELL_BYTES, CELLS_MAX, with_coverings
from pruning.metadata.table.memberships import FIELD
from pruning.metadata.table.points import file_coverings
from pruning.metadata.table.reading import ReadResult
from pruning.metadata.table.structs import field_of, make_struct
from pruning.rules.sets.regions import CoordinatePair

_UNFITTING = b"skipproof.unfitting"


class UnfittingBlocks(NamedTuple):
    """The blocks of one column whose values do not fit in the budget, and the budget they would need.

    Attributes:
        blocks: The number of these blocks.
        filter_bytes: The `bytes_per_block` with which each of them gets a filter.
        good_filter_bytes: The same, for filters with few false positives.
    """

    blocks: int
    filter_bytes: int
    good_filter_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    """One file's blocks: their locators, the columns' types, and the values or filters of each block.

    `coverings` has those of the requested pairs of columns.
    """

    name: str
    locators: pa.Table
    types: dict[str, Type]
    contents: list[dict[str, DistinctValues | None]] | list[dict[str, BloomFilter]]
    coverings: Mapping[CoordinatePair, pa.ListArray]


def index_files(
    files: Iterable[str],
    *,
    columns: Sequence[str] | None,
    points: Iterable[tuple[str, str]],
    bytes_per_block: int,
    bits_per_value: float = 0,
    read_data: bool,
) -> ReadResult:
    """Index the values of files, as the arguments of `pruning.index` describe.

    The schema of each shard records the columns with unfitting blocks; `unfitting_columns` reads them.
    """
    failures: dict[str, str] = {}
    budget = Budget(bytes_per_block, bits_per_value)
    pairs = [CoordinatePair(*names) for names in points]
    cells_max = min(CELLS_MAX, bytes_per_block // CELL_BYTES)
    alike: dict[tuple[tuple[str, Type], ...], list[_File]] = {}
    for file in files:
        try:
            coverings = file_coverings(file, pairs, cells_max=cells_max) if cells_max else {}
            read = _read_values(file, columns, coverings, None if not read_data else budget)
        except InputError as error:
            failures[file] = str(error)
        except (OSError, pa.ArrowException) as error:
            failures[file] = f"{file}: its data cannot be read ({str(error).splitlines()[0]}); leave it out"
        else:
            alike.setdefault(tuple(read.types.items()), []).append(read)
    return ReadResult([_make_shard(members, budget) for members in alike.values()], failures)


def unfitting_columns(table: pa.Table) -> dict[str, UnfittingBlocks]:
    """Return, by column, the blocks of a shard by `index_files` whose values did not fit in the budget."""
    numbers_by_column = (table.schema.metadata or {}).get(_UNFITTING, b"{}")
    return {name: UnfittingBlocks(*numbers) for name, numbers in json.loads(numbers_by_column).items()}


def _read_values(
    file: str,
    columns: Sequence[str] | None,
    coverings: Mapping[CoordinatePair, pa.ListArray],
    budget: Budget | None,
) -> _File:
    """Summarize a file's values; without a budget, take the filters that the file has."""
    footer = read_footer(file)
    indexable = indexable_columns(footer, columns)
    locators, bounded = locators_and_bounds(file, footer, indexable)
    contents: list[dict[str, DistinctValues | None]] | list[dict[str, BloomFilter]]
    if budget is None:
        contents = read_filters(file, footer, indexable, bounded)
    else:
        contents = list(row_group_values(file, footer, indexable, bounded, budget))
    types = {name: column.storage.type for name, column in indexable.items()}
    return _File(file, locators, types, contents, coverings)


def _make_shard(members: list[_File], budget: Budget) -> Shard:
    """Make the shard of files that have the same columns."""
    types = members[0].types
    table = pa.concat_tables([member.locators for member in members]).combine_chunks()
    rows = table.column("row_count").to_pylist()
    structs, left_out = {}, {}
    for name, type_ in types.items():
        contents = [block.get(name) for member in members for block in member.contents]
        structs[name] = _memberships(contents, type_, rows, budget)
        unfit = _unfitting_blocks(contents, structs[name]) if own_encoding(type_) is not None else None
        if unfit is not None:
            left_out[name] = unfit
    lanes = make_struct(structs, len(table))
    coverings = {
        pair: pa.concat_arrays([member.coverings[pair] for member in members])
        for pair in members[0].coverings
    }
    indexed = with_coverings(table.append_column(FIELD, lanes), coverings)
    indexed = indexed.replace_schema_metadata({_UNFITTING: json.dumps(left_out)})
    return Shard(tuple(member.name for member in members), indexed)


def _memberships(
    contents: Sequence[DistinctValues | BloomFilter | None], type_: Type, rows: Sequence[int], budget: Budget
) -> pa.StructArray:
    distinct = [block if isinstance(block, DistinctValues) else None for block in contents]
    if any(distinct):
        return budgeted_memberships(distinct, type_, budget)
    filters = [block if isinstance(block, BloomFilter) else None for block in contents]
    # The number of values in a file's filter is unknown, but it is at most the number of rows.
    return filter_memberships(filters, type_, [budget.bytes_for_filter(count) for count in rows])


def _unfitting_blocks(
    contents: Sequence[DistinctValues | BloomFilter | None], memberships: pa.StructArray
) -> UnfittingBlocks | None:
    """Return the blocks with values that have neither a list nor a filter; None if there are none."""
    parts = [field_of(memberships, name).is_null() for name in ("dictionary", "rare", "filter")]
    nothing = reduce(pc.and_, parts).to_pylist()
    needs = [
        _bytes_needed(block)
        for block, unfit in zip(contents, nothing, strict=True)
        if block is not None and unfit
    ]
    needs = [need for need in needs if need[1]]
    if not needs:
        return None
    return UnfittingBlocks(len(needs), *(max(sizes) for sizes in zip(*needs, strict=True)))


def _bytes_needed(block: DistinctValues | BloomFilter) -> tuple[int, int]:
    """Return the `bytes_per_block` with which a block gets a filter, and with which it gets a good one."""
    if isinstance(block, DistinctValues):
        return bytes_needed(block.count), bytes_needed(block.count, bits=BITS_WANTED)
    small = bloom.fold_filter(block.bits, FILTER_BYTES_MAX)
    size = 0 if small is None else LAYOUT_BYTES + len(small)
    return size, size


if __name__ == "__main__":
    run_child(index_files)
