"""Membership indexes that lose a value of a block, each by one mistake."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions import types
from pruning.expressions.types import Type
from pruning.metadata.footers.physical_types import Physical
from pruning.metadata.index import (
    block_values,
    bloom,
    buckets,
    encodings,
    membership_budget,
    membership_query,
    own_filters,
    postings,
)

_distinct_values, _bucket_of = block_values.distinct_values, buckets.bucket_of
_split_by_frequency, _hashes = postings.split_by_frequency, own_filters.hashes


def _lists_within(
    lists: Sequence[pa.Array | None], sizes: Sequence[float], bounds: Sequence[float]
) -> list[Any]:
    return [
        None if values is None else values.slice(0, len(values) if size <= bound else len(values) // 2)
        for values, size, bound in zip(lists, sizes, bounds, strict=True)
    ]


def _first_half(column: pa.ChunkedArray, type_: Type) -> pa.Array:
    return _distinct_values(column.slice(0, -(-len(column) // 2)), type_)


def _without_frequent(
    codes: np.ndarray, sizes: np.ndarray, code_bytes: int, *, bytes_max: int
) -> postings.FrequencySplit | None:
    split = _split_by_frequency(codes, sizes, code_bytes, bytes_max=bytes_max)
    return None if split is None else postings.FrequencySplit(np.zeros_like(split.frequent), split.kept)


def _doubled_modulus(values: pa.Array, type_: Type) -> buckets.Bucket:
    bucket = _bucket_of(values, type_)
    return buckets.Bucket(1, 64) if bucket is None else buckets.Bucket(bucket.bucket, 2 * bucket.modulus)


def _wider_hashes(values: pa.Array, type_: Type, encoding: encodings.Encoding) -> np.ndarray:
    """Insert integers of 32 bits as 64."""
    if type_ != types.INTEGER:
        return _hashes(values, type_, encoding)
    return _hashes(values.cast(pa.int64()), types.LONG, encodings.Encoding(physical=Physical.INT64))


# Of what is kept.
MUTANTS: Mapping[str, Replacement] = {
    "a list is cut to its budget": Replacement(membership_budget, "_lists_within", _lists_within),
    "only the first pages are looked at": Replacement(block_values, "distinct_values", _first_half),
    "frequent values are forgotten": Replacement(postings, "split_by_frequency", _without_frequent),
    "a modulus is doubled": Replacement(block_values, "bucket_of", _doubled_modulus),
    "values are inserted as wider ones": Replacement(own_filters, "hashes", _wider_hashes),
}


def _hold_nothing(filters: pa.Array, lanes: np.ndarray, hash_: int) -> np.ndarray:
    return np.zeros(len(lanes), bool)


# Of what is read: lists, filters or buckets hold no value.
LISTS_FORGET = Replacement(
    membership_query._MembershipQuery, "_in_set", lambda query, values: np.zeros(len(values), bool)
)
FILTERS_FORGET = Replacement(bloom, "may_contain", _hold_nothing)
BUCKETS_FORGET = Replacement(buckets, "hashes_of", lambda values, type_: [-1])
