"""The choice of what to store of a column's values in each block, within a budget of bytes.

A dictionary of all values excludes exactly. If it does not fit, a bloom filter is stored, provided that it
fits and excludes enough, and rare values are listed in the remaining bytes. A bucket takes almost no space.
Parts that do not fit are left out whole, because a truncated list would exclude values that exist.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.index import bloom, postings
from pruning.metadata.index.block_values import DistinctValues
from pruning.metadata.index.own_filters import BloomFilter, Budget, own_filter
from pruning.metadata.table.memberships import membership_fields
from pruning.metadata.table.schema import arrow_type

# The bytes of an entry in a list, in addition to its share of the value itself.
_CODE_BYTES = 4
_OFFSET_BYTES = 4
_ROUNDS_MAX = 8


def budgeted_memberships(
    blocks: Sequence[DistinctValues | None], type_: Type, budget: Budget
) -> pa.StructArray:
    """Return the memberships of one column, a lane per block, each within the budget.

    Args:
        blocks: The values of each block; None if they are unknown.
        type_: The column's type.
        budget: The budget of this column in each block.
    """
    bound = np.full(len(blocks), budget.bytes_for_lists)
    lists = [None if block is None else block.values for block in blocks]
    dictionaries = _affordable_lists(lists, type_, bound)
    short = [values is not None for values in dictionaries]
    long = [None if fits else values for values, fits in zip(lists, short, strict=True)]
    filters = [
        own_filter(values, type_, budget)
        if values is not None
        else block.filter
        if block is not None
        else None
        for block, values in zip(blocks, long, strict=True)
    ]
    left = np.maximum(0, bound - [0 if filter_ is None else len(filter_.bits) for filter_ in filters])
    rare, frequent = _rare_values(long, type_, left)
    buckets = [
        None if block is None or fits else block.bucket for block, fits in zip(blocks, short, strict=True)
    ]
    return _membership_struct(
        type_,
        dictionary=coded_lists(dictionaries, type_),
        filters=filters,
        rare=rare,
        frequent=frequent,
        bucket=[None if bucket is None else bucket.bucket for bucket in buckets],
        modulus=[None if bucket is None else bucket.modulus for bucket in buckets],
    )


def filter_memberships(
    filters: Sequence[BloomFilter | None], type_: Type, bounds: Sequence[int]
) -> pa.StructArray:
    """Return the memberships of a column with the file's own filters alone, folded to `bounds` bytes."""
    folded_bits = [
        None if filter_ is None else bloom.fold_filter(filter_.bits, bytes_max)
        for filter_, bytes_max in zip(filters, bounds, strict=True)
    ]
    small = [
        None if filter_ is None or bits is None else BloomFilter(bits, filter_.encoding)
        for filter_, bits in zip(filters, folded_bits, strict=True)
    ]
    return _membership_struct(type_, filters=small)


def value_sizes(values: pa.Array) -> np.ndarray:
    """Return the bytes that each value takes in a list."""
    if pa.types.is_binary(values.type) or pa.types.is_string(values.type):
        lengths: np.ndarray = pc.binary_length(values).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64) + _OFFSET_BYTES
    return np.full(len(values), max(1, values.type.bit_width // 8), np.int64)


def coded_lists(lists: Sequence[pa.Array | None], type_: Type) -> pa.ListArray:
    """Return the lists of values as an array that shares one dictionary; null for None."""
    empty = pa.array([], arrow_type(type_))
    coded = pa.concat_arrays([empty, *(values for values in lists if values is not None)]).dictionary_encode()
    lengths = [0 if values is None else len(values) for values in lists]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    mask = pa.array([values is None for values in lists], pa.bool_())
    return pa.ListArray.from_arrays(offsets, coded, mask=mask)


def _affordable_lists(
    lists: Sequence[pa.Array | None], type_: Type, bounds: np.ndarray
) -> list[pa.Array | None]:
    """Return the lists that fit in their bounds, others as None; lists share the bytes of common values."""
    least = [0 if values is None else _CODE_BYTES * len(values) for values in lists]
    kept = _lists_within(lists, least, bounds)
    for _ in range(_ROUNDS_MAX):
        sizes = _list_bytes(coded_lists(kept, type_))
        if (sizes <= bounds).all():
            return kept
        # A list that shared values with one that was left out takes more bytes now.
        kept = _lists_within(kept, sizes, bounds)
    alone = [
        0 if values is None else _CODE_BYTES * len(values) + value_sizes(values).sum() for values in kept
    ]
    return _lists_within(kept, alone, bounds)


def _lists_within(
    lists: Sequence[pa.Array | None], sizes: Sequence[float] | np.ndarray, bounds: np.ndarray
) -> list[pa.Array | None]:
    return [
        values if size <= bound else None for values, size, bound in zip(lists, sizes, bounds, strict=True)
    ]


def _list_bytes(coded: pa.ListArray) -> np.ndarray:
    """Return the bytes that each list takes."""
    codes, pool = coded.values.indices.to_numpy(), coded.values.dictionary
    holders = np.bincount(codes, minlength=len(pool))
    entries = _CODE_BYTES + (value_sizes(pool) / np.maximum(holders, 1))[codes]
    ends = np.concatenate([[0.0], np.cumsum(entries)])
    sizes: np.ndarray = np.diff(ends[coded.offsets.to_numpy()])
    return sizes


def _rare_values(
    lists: Sequence[pa.Array | None], type_: Type, bounds: np.ndarray
) -> tuple[pa.ListArray | None, pa.Array | None]:
    """Return the rare values of each block, and the frequent values of all; None if they do not fit."""
    has_list = np.array([values is not None for values in lists], bool)
    longest = max((value_sizes(values).sum() for values in lists if values is not None), default=0)
    # Each value of the longest list is stored at least once, as a rare or a frequent one.
    if not bounds[has_list].any() or longest > bounds[has_list].sum():
        return None, None
    coded = coded_lists(lists, type_)
    codes, pool = coded.values.indices.to_numpy(), coded.values.dictionary
    split = postings.split_by_frequency(
        codes, value_sizes(pool), _CODE_BYTES, bytes_max=int(bounds[has_list].sum())
    )
    if split is None:
        return None, None
    stream = postings.frequent_stream(pool.filter(pa.array(split.frequent)))
    offsets = coded.offsets.to_numpy()
    rare = [
        None if values is None else pool.take(pa.array(codes[start:end][split.kept[start:end]]))
        for values, start, end in zip(lists, offsets[:-1], offsets[1:], strict=True)
    ]
    # The frequent values are stored once for all blocks that have lists.
    rare = _affordable_lists(rare, type_, bounds - len(stream) / has_list.sum())
    listed = coded_lists(rare, type_)
    share = len(stream) / max(1, len(rare) - listed.null_count)
    if not (_list_bytes(listed) + share <= bounds).all(where=_valid(listed)):
        return None, None
    streams = pa.array([None if values is None else stream for values in rare], pa.large_binary())
    return listed, streams.dictionary_encode()


def _valid(lanes: pa.Array) -> np.ndarray:
    valid: np.ndarray = lanes.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _membership_struct(
    type_: Type,
    *,
    filters: Sequence[BloomFilter | None],
    dictionary: pa.ListArray | None = None,
    rare: pa.ListArray | None = None,
    frequent: pa.Array | None = None,
    bucket: list[int | None] | None = None,
    modulus: list[int | None] | None = None,
) -> pa.StructArray:
    struct = membership_fields(type_)
    lanes = {
        "dictionary": dictionary,
        "filter": [None if filter_ is None else filter_.bits for filter_ in filters],
        "filter_of": [None if filter_ is None else filter_.encoding.name for filter_ in filters],
        "bucket": bucket,
        "modulus": modulus,
        "rare": rare,
        "frequent": frequent,
    }
    arrays = []
    for field in struct:
        lane = lanes[field.name]
        if lane is None:
            lane = pa.nulls(len(filters), field.type)
        arrays.append(pa.array(lane, field.type) if isinstance(lane, list) else lane)
    return pa.StructArray.from_arrays(arrays, fields=list(struct))
