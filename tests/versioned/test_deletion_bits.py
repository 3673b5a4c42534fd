"""Deleted rows as bits: a row is looked up as the filter of Spark does it."""

import struct

from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from pruning.spark.versioned.deletion_bits import GROUP_BITS, deletion_bits

LAST_ROW = (1 << 31) - 1


def is_deleted(content: bytes, row: int) -> bool:
    """Look a row up by the form that the module describes."""
    group, in_group = row >> GROUP_BITS, row & ((1 << GROUP_BITS) - 1)
    if group >= struct.unpack_from(">i", content, 0)[0]:
        return False
    (start,) = struct.unpack_from(">i", content, 4 * (group + 1))
    return bool(content[start + (in_group >> 3)] >> (row & 7) & 1)


@given(st.sets(st.integers(0, 5_000), min_size=1))
@example({0})
@example({511, 512})
@example(set(range(1_024)))
@example({4_096 + row for row in range(0, 512, 3)} | set(range(0, 512, 3)))
def test_the_bits_are_those_of_the_deleted_rows(deleted: set[int]) -> None:
    content = deletion_bits(BitMap(deleted))
    assert {row for row in range(6_000) if is_deleted(content, row)} == deleted


def test_rows_beyond_the_last_deleted_one_need_no_bits() -> None:
    content = deletion_bits(BitMap([3]))
    assert len(content) == 4 + 4 + 2 * 64
    assert is_deleted(content, 3)
    assert not is_deleted(content, LAST_ROW)


def test_groups_with_the_same_bits_share_them() -> None:
    every_second = deletion_bits(BitMap(range(0, 1 << 20, 2)))
    assert len(every_second) == 4 + 4 * 2048 + 2 * 64
