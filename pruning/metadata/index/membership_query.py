"""Whether blocks may hold one of some values: what the sources of "no" say together.

Claim     A block called False has no row whose value is in the set that is asked for.
Premises  What the memberships say is true of the block. The set has neither NULL nor NaN.
Proof     (1) Every value of the block is in its dictionary, so one of the two has none of the set.
          (2) A value that was inserted into a filter is found there, however it was encoded.
          (3) Equal values have equal hashes, and those of the block are `bucket` modulo `modulus`.
          (4) Every value of the block is rare or frequent, and the set has none of either.
          (5) A set of which not every value can be looked at is asked of (1) and (4) alone.
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
from pruning.metadata.index.encodings import parsed
from pruning.metadata.table.memberships import compatible, value_type
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.sets import primitives
from pruning.rules.sets.cuts import Cut, Cuts
from pruning.rules.sets.decimals import decimal_from_units
from pruning.rules.sets.languages import Language

# A program looks for no more values than this one by one.
POINTS_MAX = 1_000
# Of so many values, a filter that is wrong about one in a hundred finds some in most blocks.
PROBES_MAX = 100


@dataclass(frozen=True, slots=True)
class Holdings:
    """The memberships of some blocks, ready to be asked; what was asked of all is remembered."""

    memberships: pa.StructArray
    _members: dict[Hashable, np.ndarray] = field(default_factory=dict, compare=False, repr=False)

    def may_hold(
        self, column: str, type_: Type, asked: Hashable | None, start: int, size: int
    ) -> pa.BooleanArray:
        """Whether each of `size` blocks from `start` on may hold a value of the set.

        Args:
            column: The column's exact name.
            type_: The type of the values asked for.
            asked: `Cuts`, or a `Language` of a string's bytes; anything else asks nothing.
            start, size: Which blocks, of those that there are memberships of.
        """
        may = np.ones(size, bool)
        place = self.memberships.type.get_field_index(column)
        if place >= 0 and isinstance(asked, Cuts | Language):
            stored = value_type(self.memberships.type.field(place).type)
            if compatible(stored, type_):
                _Question(self, column, stored, type_, asked, start, size).narrow(may)
        return pa.array(may)


def may_hold(
    memberships: pa.StructArray, column: str, type_: Type, asked: Hashable | None
) -> pa.BooleanArray:
    """Whether each block may hold a value of the set, as `Holdings.may_hold` says."""
    return Holdings(memberships).may_hold(column, type_, asked, 0, len(memberships))


@functools.lru_cache(maxsize=64)
def points(asked: Cuts | Language, type_: Type) -> tuple[Value, ...] | None:
    """The values of a set, if they are few enough to be looked for one by one."""
    if isinstance(asked, Language):
        return asked.members(PROBES_MAX)
    found: list[Value] = []
    for start, end in asked.intervals():
        for value in _run(start, end, type_):
            if value is None or len(found) == POINTS_MAX:
                return None
            found.append(value)
    return tuple(found)


def _run(start: Cut | None, end: Cut | None, type_: Type) -> Iterator[Value | None]:
    """The values between two cuts; then None, if there are more that cannot be named."""
    value, after = (_least(type_), False) if start is None else start
    if after:
        yield None
        return
    while end is None or (value, False) < end:
        yield value
        following = _following(value, type_)
        if following is None:
            if end != (value, True) and (end is not None or not _is_greatest(value, type_)):
                yield None
            return
        value = following


def _least(type_: Type) -> Value:
    if type_.kind is Kind.BOOLEAN:
        return False
    if type_.kind is Kind.DECIMAL:
        return decimal_from_units(1 - 10**type_.precision, type_.scale)
    if type_.integer_range is not None:
        return type_.integer_range[0]
    return float("-inf") if type_.floating else b""


def _following(value: Value, type_: Type) -> Value | None:
    if type_.kind is Kind.BOOLEAN:
        return None if value else True
    if isinstance(value, bytes):
        return value + b"\0"
    return primitives.step(value, type_, sign=1)


def _is_greatest(value: Value, type_: Type) -> bool:
    """Whether a value that no other follows is the type's last."""
    return value == float("inf") if type_.floating else True


@dataclass(frozen=True, slots=True)
class _Question:
    """One set, asked of one column in a run of blocks."""

    holdings: Holdings
    column: str
    stored: Type
    type: Type
    asked: Cuts | Language
    start: int
    size: int

    def narrow(self, may: np.ndarray) -> None:
        """Clear the flags of those blocks that some source excludes."""
        if self.asked.full:
            return
        if self.asked.empty:
            may[:] = False
            return
        self._by_lists(may)
        values = points(self.asked, self.type)
        if values is not None and len(values) <= PROBES_MAX:
            self._by_buckets(may, values)
            self._by_filters(may, values)

    def _part(self, name: str) -> pa.Array:
        struct = self.holdings.memberships.slice(self.start, self.size)
        return field_of(field_of(struct, self.column), name)

    def _by_lists(self, may: np.ndarray) -> None:
        dictionary, rare = self._part("dictionary"), self._part("rare")
        if dictionary.null_count < self.size:
            may &= _nulls(dictionary) | self._holds_any("dictionary", dictionary)  # (1)
        if rare.null_count < self.size:
            frequent = self._among_frequent(self._part("frequent"))
            may &= _nulls(rare) | frequent | self._holds_any("rare", rare)  # (4)

    def _holds_any(self, part: str, lists: pa.ListArray) -> np.ndarray:
        """Per block, whether one of the values of its list is in the set."""
        coded = lists.values
        member = self._remembered(part, lambda: self._in_set(coded.dictionary))
        offsets = lists.offsets.to_numpy()
        codes = _integers(coded.indices)[offsets[0] : offsets[-1]]
        chosen = np.flatnonzero(member)
        if not len(chosen):
            return np.zeros(self.size, bool)
        hits = codes == chosen[0] if len(chosen) == 1 else member[codes]
        found = np.zeros(self.size, bool)
        found[np.searchsorted(offsets - offsets[0], np.flatnonzero(hits), side="right") - 1] = True
        return found

    def _among_frequent(self, frequent: pa.DictionaryArray) -> np.ndarray:
        """Per block, whether one of the values that many blocks hold is in the set."""

        def member() -> np.ndarray:
            streams = frequent.dictionary
            return np.array(
                [self._in_set(postings.frequent_values(stream.as_py())).any() for stream in streams], bool
            )

        told = _booleans(frequent.is_valid())
        if not told.any():
            return np.ones(self.size, bool)
        places = np.where(told, frequent.indices.fill_null(0).to_numpy(), 0)
        found: np.ndarray = self._remembered("frequent", member)[places] | ~told
        return found

    def _remembered(self, part: str, tell: Callable[[], np.ndarray]) -> np.ndarray:
        """What is the same for all runs of blocks, which share their coded values."""
        key = (part, self.column, self.type, self.asked)
        if key not in self.holdings._members:
            self.holdings._members[key] = tell()
        return self.holdings._members[key]

    def _in_set(self, values: pa.Array) -> np.ndarray:
        """Per value, whether it is in the set."""
        lanes = kernels.reinterpret(_as(values, self.type), lane_type(self.type))
        if isinstance(self.asked, Cuts) and len(lanes):
            return _booleans(kernels.maybe_meets(lanes, lanes, self.asked))
        return np.array([self.asked.holds(value) for value in lanes.to_pylist()], bool)

    def _by_buckets(self, may: np.ndarray, values: Sequence[Value]) -> None:
        bucket, modulus = self._part("bucket"), self._part("modulus")
        told = may & _booleans(bucket.is_valid()) & _booleans(pc.greater(modulus.fill_null(0), 0))
        lanes = np.flatnonzero(told)
        if not len(lanes):
            return
        wanted, moduli = _integers(bucket)[lanes], _integers(modulus)[lanes]
        found = np.zeros(len(lanes), bool)
        for hash_ in buckets.hashes_of(_within(values, self.stored), self.stored):
            found |= np.mod(np.int64(hash_), moduli) == wanted  # (3)
        may[lanes[~found]] = False

    def _by_filters(self, may: np.ndarray, values: Sequence[Value]) -> None:
        filters, encodings = self._part("filter"), self._part("filter_of")
        told = may & _booleans(filters.is_valid()) & _booleans(encodings.is_valid())
        if not told.any():
            return
        codes = _integers(encodings.indices)
        for code, name in enumerate(encodings.dictionary.to_pylist()):
            lanes = np.flatnonzero(told & (codes == code))
            hashes = _hashes(name, values, self.stored)
            if len(lanes) and hashes is not None:
                found = np.zeros(len(lanes), bool)
                for hash_ in hashes:
                    open_ = np.flatnonzero(~found)
                    found[open_] = bloom.may_contain(filters, lanes[open_], hash_)  # (2)
                may[lanes[~found]] = False


def _hashes(name: str, values: Sequence[Value], stored: Type) -> list[int] | None:
    """Every hash that a row equal to one of the values may have; None if that is not known."""
    encoding = parsed(name)
    if encoding is None:
        return None
    ways = [encoding.of(value, stored) for value in values]
    encoded = [way for told in ways if told is not None for way in told]
    return None if None in ways else bloom.hashes_of(encoded).tolist()


def _within(values: Sequence[Value], stored: Type) -> list[Value]:
    """Those values that the stored type has: a wider integer may be none of its."""
    limits = stored.integer_range
    return [value for value in values if limits is None or limits[0] <= int(value) <= limits[1]]


def _as(values: pa.Array, type_: Type) -> pa.Array:
    wanted = arrow_type(type_)
    return values if values.type == wanted else values.cast(wanted)


def _nulls(array: pa.Array) -> np.ndarray:
    return _booleans(array.is_null())


def _booleans(flags: pa.Array) -> np.ndarray:
    return cast(np.ndarray, flags.to_numpy(zero_copy_only=False))


def _integers(array: pa.Array) -> Any:
    """The integers of an array, anything where it is null; without a copy where it can be."""
    return (array.fill_null(0) if array.null_count else array).to_numpy()
