"""What of a column's values is kept of each block: the most telling that a bound in bytes bears.

A dictionary of all values excludes exactly. Where it is too long, a filter may take the bound, if that
is enough for it to be right mostly, and rare values are listed if they fit into what is left. A bucket
takes next to nothing. What does not fit is left out as a whole: a list cut short would lie.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.index import bloom, postings
from pruning.metadata.index.block_values import Distinct
from pruning.metadata.index.own_filters import Budget, Filter, own_filter
from pruning.metadata.table.memberships import membership_fields
from pruning.metadata.table.schema import arrow_type

# Of a value in a list, besides its share of the value itself.
_CODE_BYTES = 4
_OFFSET_BYTES = 4
_ROUNDS_MAX = 8


def kept(found: Sequence[Distinct | None], type_: Type, budget: Budget) -> pa.StructArray:
    """The memberships of one column, a lane per block, none of more than the budget.

    Args:
        found: What each block holds; None where that is not known.
        type_: The column's type.
        budget: That of this column in each block.
    """
    bound = np.full(len(found), budget.bytes_for_lists)
    lists = [None if one is None else one.values for one in found]
    dictionaries = _affordable(lists, type_, bound)
    short = [values is not None for values in dictionaries]
    long = [None if fits else values for values, fits in zip(lists, short, strict=True)]
    filters = [
        own_filter(values, type_, budget) if values is not None else one.filter if one is not None else None
        for one, values in zip(found, long, strict=True)
    ]
    left = np.maximum(0, bound - [0 if one is None else len(one.bits) for one in filters])
    rare, frequent = _rare(long, type_, left)
    buckets = [None if one is None or fits else one.bucket for one, fits in zip(found, short, strict=True)]
    return _struct(
        type_,
        dictionary=coded_lists(dictionaries, type_),
        filters=filters,
        rare=rare,
        frequent=frequent,
        bucket=[None if bucket is None else bucket.bucket for bucket in buckets],
        modulus=[None if bucket is None else bucket.modulus for bucket in buckets],
    )


def kept_filters(found: Sequence[Filter | None], type_: Type, bounds: Sequence[int]) -> pa.StructArray:
    """The memberships of a column of which only the file's own filters are known, folded to the bounds."""
    folded = [
        None if one is None else bloom.folded(one.bits, bytes_max)
        for one, bytes_max in zip(found, bounds, strict=True)
    ]
    small = [
        None if one is None or bits is None else Filter(bits, one.encoding)
        for one, bits in zip(found, folded, strict=True)
    ]
    return _struct(type_, filters=small)


def value_sizes(values: pa.Array) -> np.ndarray:
    """The bytes that each value takes in a list."""
    if pa.types.is_binary(values.type) or pa.types.is_string(values.type):
        lengths: np.ndarray = pc.binary_length(values).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64) + _OFFSET_BYTES
    return np.full(len(values), max(1, values.type.bit_width // 8), np.int64)


def coded_lists(lists: Sequence[pa.Array | None], type_: Type) -> pa.ListArray:
    """Lists of values that share one dictionary; null where there is no list."""
    empty = pa.array([], arrow_type(type_))
    coded = pa.concat_arrays([empty, *(values for values in lists if values is not None)]).dictionary_encode()
    lengths = [0 if values is None else len(values) for values in lists]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    mask = pa.array([values is None for values in lists], pa.bool_())
    return pa.ListArray.from_arrays(offsets, coded, mask=mask)


def _affordable(lists: Sequence[pa.Array | None], type_: Type, bounds: np.ndarray) -> list[pa.Array | None]:
    """Those lists that take no more than their bound, a value's bytes shared among the lists it is in."""
    least = [0 if values is None else _CODE_BYTES * len(values) for values in lists]
    held = _within(lists, least, bounds)
    for _ in range(_ROUNDS_MAX):
        sizes = _list_bytes(coded_lists(held, type_))
        if (sizes <= bounds).all():
            return held
        # What shared its values with one that is left out takes more now.
        held = _within(held, sizes, bounds)
    alone = [
        0 if values is None else _CODE_BYTES * len(values) + value_sizes(values).sum() for values in held
    ]
    return _within(held, alone, bounds)


def _within(
    lists: Sequence[pa.Array | None], sizes: Sequence[float] | np.ndarray, bounds: np.ndarray
) -> list[pa.Array | None]:
    return [
        values if size <= bound else None for values, size, bound in zip(lists, sizes, bounds, strict=True)
    ]


def _list_bytes(coded: pa.ListArray) -> np.ndarray:
    """The bytes that each list takes."""
    codes, pool = coded.values.indices.to_numpy(), coded.values.dictionary
    holders = np.bincount(codes, minlength=len(pool))
    entries = _CODE_BYTES + (value_sizes(pool) / np.maximum(holders, 1))[codes]
    ends = np.concatenate([[0.0], np.cumsum(entries)])
    sizes: np.ndarray = np.diff(ends[coded.offsets.to_numpy()])
    return sizes


def _rare(
    lists: Sequence[pa.Array | None], type_: Type, bounds: np.ndarray
) -> tuple[pa.ListArray | None, pa.Array | None]:
    """The rare values of each block, and the frequent ones of all."""
    told = np.array([values is not None for values in lists], bool)
    longest = max((value_sizes(values).sum() for values in lists if values is not None), default=0)
    # Each value of the longest list is kept once at least, as a rare one or as a frequent one.
    if not bounds[told].any() or longest > bounds[told].sum():
        return None, None
    coded = coded_lists(lists, type_)
    codes, pool = coded.values.indices.to_numpy(), coded.values.dictionary
    split = postings.split(codes, value_sizes(pool), _CODE_BYTES, bytes_max=int(bounds[told].sum()))
    if split is None:
        return None, None
    stream = postings.frequent_stream(pool.filter(pa.array(split.frequent)))
    offsets = coded.offsets.to_numpy()
    rare = [
        None if values is None else pool.take(pa.array(codes[start:end][split.kept[start:end]]))
        for values, start, end in zip(lists, offsets[:-1], offsets[1:], strict=True)
    ]
    # The frequent values are kept once, for all blocks that are told of.
    rare = _affordable(rare, type_, bounds - len(stream) / told.sum())
    listed = coded_lists(rare, type_)
    share = len(stream) / max(1, len(rare) - listed.null_count)
    if not (_list_bytes(listed) + share <= bounds).all(where=_valid(listed)):
        return None, None
    streams = pa.array([None if values is None else stream for values in rare], pa.large_binary())
    return listed, streams.dictionary_encode()


def _valid(lanes: pa.Array) -> np.ndarray:
    valid: np.ndarray = lanes.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _struct(
    type_: Type,
    *,
    filters: Sequence[Filter | None],
    dictionary: pa.ListArray | None = None,
    rare: pa.ListArray | None = None,
    frequent: pa.Array | None = None,
    bucket: list[int | None] | None = None,
    modulus: list[int | None] | None = None,
) -> pa.StructArray:
    struct = membership_fields(type_)
    lanes = {
        "dictionary": dictionary,
        "filter": [None if one is None else one.bits for one in filters],
        "filter_of": [None if one is None else one.encoding.name for one in filters],
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
