"""Membership queries: may a block hold any value of a set, by all parts of the index together?

Claim     A block called False has no row whose value is in the set.
Premises  The memberships are true of the block. The set has neither NULL nor NaN.
Proof     (1) Every value of the block is in its dictionary, so if no entry is in the set, no value is.
          (2) A value that was inserted into a filter is found there, however it was encoded.
          (3) Equal values have equal hashes, and those of the block are `bucket` modulo `modulus`.
          (4) Every value of the block is rare or frequent, and none of either is in the set.
          (5) A set whose values cannot all be listed is compared by (1) and (4) alone.
"""

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.index import bloom, buckets, postings
from pruning.metadata.index.encodings import parse_encoding
from pruning.metadata.table.memberships import is_compatible, value_type
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.sets import primitives
from pruning.rules.sets.cuts import Cut, Cuts
from pruning.rules.sets.decimals import decimal_from_units
from pruning.rules.sets.languages import Language

# The most values to probe filters with: one with 1 % false positives would then hold some in most blocks.
PROBES_MAX = 100


@dataclass(frozen=True, slots=True)
class MembershipIndex:
    """The memberships of some blocks, with a cache of the results that all blocks share."""

    memberships: pa.StructArray
    _members: dict[Hashable, np.ndarray] = field(default_factory=dict, compare=False, repr=False)

    def may_hold(
        self, column: str, type_: Type, value_set: Hashable | None, start: int, size: int
    ) -> pa.BooleanArray:
        """Tell whether each of `size` blocks from `start` on may hold a value of the set.

        Args:
            column: The column's exact name.
            type_: The type of the set's values.
            value_set: `Cuts`, or a `Language` of a string's bytes; anything else excludes nothing.
            start, size: The range of blocks.
        """
        may = np.ones(size, bool)
        place = self.memberships.type.get_field_index(column)
        if place >= 0 and isinstance(value_set, Cuts | Language):
            stored = value_type(self.memberships.type.field(place).type)
            if is_compatible(stored, type_):
                _MembershipQuery(self, column, stored, type_, value_set, start, size).exclude(may)
        return pa.array(may)


def may_hold(
    memberships: pa.StructArray, column: str, type_: Type, value_set: Hashable | None
) -> pa.BooleanArray:
    """Tell whether each block may hold a value of the set, as `MembershipIndex.may_hold` does."""
    return MembershipIndex(memberships).may_hold(column, type_, value_set, 0, len(memberships))


@functools.lru_cache(maxsize=64)
def listed_values(value_set: Cuts | Language, type_: Type) -> tuple[Value, ...] | None:
    """Return the values of a set; None if they are too many to look for one by one."""
    if isinstance(value_set, Language):
        return value_set.members(PROBES_MAX)
    values: list[Value] = []
    for start, end in value_set.intervals():
        for value in _values_between(start, end, type_):
            if value is None or len(values) == PROBES_MAX:
                return None
            values.append(value)
    return tuple(values)


def _values_between(start: Cut | None, end: Cut | None, type_: Type) -> Iterator[Value | None]:
    """Yield the values between two cuts; then None, if there are more that cannot be listed."""
    value, after = (_least_value(type_), False) if start is None else start
    if after:
        yield None
        return
    while end is None or (value, False) < end:
        yield value
        following = _next_value(value, type_)
        if following is None:
            if end != (value, True) and (end is not None or not _is_greatest_value(value, type_)):
                yield None
            return
        value = following


def _least_value(type_: Type) -> Value:
    if type_.kind is Kind.BOOLEAN:
        return False
    if type_.kind is Kind.DECIMAL:
        return decimal_from_units(1 - 10**type_.precision, type_.scale)
    if type_.integer_range is not None:
        return type_.integer_range[0]
    return float("-inf") if type_.floating else b""


def _next_value(value: Value, type_: Type) -> Value | None:
    if type_.kind is Kind.BOOLEAN:
        return None if value else True
    if isinstance(value, bytes):
        return value + b"\0"
    return primitives.step(value, type_, sign=1)


def _is_greatest_value(value: Value, type_: Type) -> bool:
    """Tell whether a value without a successor is the type's greatest."""
    return value == float("inf") if type_.floating else True


@dataclass(frozen=True, slots=True)
class _MembershipQuery:
    """A query for one set of values in one column of a range of blocks."""

    index: MembershipIndex
    column: str
    stored: Type
    type: Type
    value_set: Cuts | Language
    start: int
    size: int

    def exclude(self, may: np.ndarray) -> None:
        """Clear the flags of the blocks that some part of the index excludes."""
        if self.value_set.full:
            return
        if self.value_set.empty:
            may[:] = False
            return
        self._exclude_by_lists(may)
        values = listed_values(self.value_set, self.type)
        if values is not None:
            self._exclude_by_buckets(may, values)
            self._exclude_by_filters(may, values)

    def _part(self, name: str) -> pa.Array:
        struct = self.index.memberships.slice(self.start, self.size)
        return field_of(field_of(struct, self.column), name)

    def _exclude_by_lists(self, may: np.ndarray) -> None:
        dictionary, rare = self._part("dictionary"), self._part("rare")
        if dictionary.null_count < self.size:
            may &= _nulls(dictionary) | self._holds_any("dictionary", dictionary)  # (1)
        if rare.null_count < self.size:
            frequent = self._holds_any_frequent(self._part("frequent"))
            may &= _nulls(rare) | frequent | self._holds_any("rare", rare)  # (4)

    def _holds_any(self, part: str, lists: pa.ListArray) -> np.ndarray:
        """Tell for each block whether some value of its list is in the set."""
        coded = lists.values
        member = self._compute_once(part, lambda: self._in_set(coded.dictionary))
        offsets = lists.offsets.to_numpy()
        codes = _integers(coded.indices)[offsets[0] : offsets[-1]]
        chosen = np.flatnonzero(member)
        if not len(chosen):
            return np.zeros(self.size, bool)
        hits = codes == chosen[0] if len(chosen) == 1 else member[codes]
        holds = np.zeros(self.size, bool)
        holds[np.searchsorted(offsets - offsets[0], np.flatnonzero(hits), side="right") - 1] = True
        return holds

    def _holds_any_frequent(self, frequent: pa.DictionaryArray) -> np.ndarray:
        """Tell for each block whether some frequent value is in the set."""

        def frequent_flags() -> np.ndarray:
            streams = frequent.dictionary
            return np.array(
                [self._in_set(postings.frequent_values(stream.as_py())).any() for stream in streams], bool
            )

        has_frequent = _booleans(frequent.is_valid())
        if not has_frequent.any():
            return np.ones(self.size, bool)
        places = np.where(has_frequent, frequent.indices.fill_null(0).to_numpy(), 0)
        holds: np.ndarray = self._compute_once("frequent", frequent_flags)[places] | ~has_frequent
        return holds

    def _compute_once(self, part: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return a result that is the same for all ranges of blocks, computing it at the first use."""
        key = (part, self.column, self.type, self.value_set)
        if key not in self.index._members:
            self.index._members[key] = compute()
        return self.index._members[key]

    def _in_set(self, values: pa.Array) -> np.ndarray:
        """Tell for each value whether it is in the set."""
        lanes = kernels.reinterpret(_cast(values, self.type), lane_type(self.type))
        if isinstance(self.value_set, Cuts) and len(lanes):
            return _booleans(kernels.maybe_meets(lanes, lanes, self.value_set))
        return np.array([self.value_set.holds(value) for value in lanes.to_pylist()], bool)

    def _exclude_by_buckets(self, may: np.ndarray, values: Sequence[Value]) -> None:
        bucket, modulus = self._part("bucket"), self._part("modulus")
        has_bucket = may & _booleans(bucket.is_valid()) & _booleans(pc.greater(modulus.fill_null(0), 0))
        lanes = np.flatnonzero(has_bucket)
        if not len(lanes):
            return
        wanted, moduli = _integers(bucket)[lanes], _integers(modulus)[lanes]
        is_match = np.zeros(len(lanes), bool)
        for hash_ in buckets.hashes_of(_values_of_type(values, self.stored), self.stored):
            is_match |= np.mod(np.int64(hash_), moduli) == wanted  # (3)
        may[lanes[~is_match]] = False

    def _exclude_by_filters(self, may: np.ndarray, values: Sequence[Value]) -> None:
        filters, encodings = self._part("filter"), self._part("filter_of")
        has_filter = may & _booleans(filters.is_valid()) & _booleans(encodings.is_valid())
        if not has_filter.any():
            return
        codes = _integers(encodings.indices)
        for code, name in enumerate(encodings.dictionary.to_pylist()):
            lanes = np.flatnonzero(has_filter & (codes == code))
            hashes = _possible_hashes(name, values, self.stored)
            if len(lanes) and hashes is not None:
                is_match = np.zeros(len(lanes), bool)
                for hash_ in hashes:
                    open_ = np.flatnonzero(~is_match)
                    is_match[open_] = bloom.may_contain(filters, lanes[open_], hash_)  # (2)
                may[lanes[~is_match]] = False


def _possible_hashes(name: str, values: Sequence[Value], stored: Type) -> list[int] | None:
    """Return all hashes that a row equal to one of the values may have; None if they are unknown."""
    encoding = parse_encoding(name)
    if encoding is None:
        return None
    encodings_of_values = [encoding.of(value, stored) for value in values]
    encoded = [
        encoded_value
        for encodings in encodings_of_values
        if encodings is not None
        for encoded_value in encodings
    ]
    return None if None in encodings_of_values else bloom.hashes_of(encoded).tolist()


def _values_of_type(values: Sequence[Value], stored: Type) -> list[Value]:
    """Return the values that fit in the stored type; the set may be of a wider integer type."""
    limits = stored.integer_range
    return [value for value in values if limits is None or limits[0] <= int(value) <= limits[1]]


def _cast(values: pa.Array, type_: Type) -> pa.Array:
    wanted = arrow_type(type_)
    return values if values.type == wanted else values.cast(wanted)


def _nulls(array: pa.Array) -> np.ndarray:
    return _booleans(array.is_null())


def _booleans(flags: pa.Array) -> np.ndarray:
    return cast(np.ndarray, flags.to_numpy(zero_copy_only=False))


def _integers(array: pa.Array) -> Any:
    """Return the integers of an array, with arbitrary ones for nulls; without a copy if possible."""
    return (array.fill_null(0) if array.null_count else array).to_numpy()
