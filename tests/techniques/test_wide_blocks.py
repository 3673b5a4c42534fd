"""A side of a join that can exclude no block of an unsorted table is not run for that."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from mutants.joins.estimates import DENSITY_MUTANTS, WIDTH_MUTANTS
from pruning.expressions import types
from pruning.techniques.join import costs
from pruning.techniques.plan.keys import KeyBounds

INT, TEXT, DECIMAL, FLAG = pa.int32(), pa.binary(), pa.decimal128(5, 2), pa.bool_()
#       blocks                                                             type    wide
CASES = [
    ([(0, 99), (1, 100), (0, 100)],                                        INT,     "111"),
    ([(0, 9), (10, 19), (20, 29)],                                         INT,     "000"),
    ([(0, 49), (50, 100)],                                                 INT,     "00"),
    ([(0, 100), (50, 60)],                                                 INT,     "10"),
    ([(0, 100), (None, None), (None, 7), (1, 99)],                         INT,     "1001"),
    ([(0, 100)],                                                           INT,     "0"),
    ([(0, 100), (None, None)],                                             INT,     "00"),
    ([(7, 7), (7, 7)],                                                     INT,     "00"),
    ([],                                                                   INT,     ""),
    ([(None, None), (None, None)],                                         TEXT,    "00"),
    ([(b"AAAAAAAAAB", b"AAAAAAAAZ"), (b"AAAAAAAAAA", b"AAAAAAAAZZ")],      TEXT,    "11"),
    ([(b"AAAAAAAAA", b"AAAAAAAAM"), (b"AAAAAAAAN", b"AAAAAAAAZ")],         TEXT,    "00"),
    ([(b"", b"z"), (b"a", b"b\xff")],                                      TEXT,    "10"),
    ([(Decimal("0.00"), Decimal("9.99")), (Decimal("1.00"), Decimal("2"))], DECIMAL, "10"),
    ([(False, True), (True, True)],                                        FLAG,    "10"),
    ([(-float("inf"), float("inf")), (0.0, 1.0)],                          pa.float64(), "00"),
]  # fmt: skip


def key_bounds(blocks, type_) -> KeyBounds:
    count = len(blocks)
    lower, upper = (pa.array([block[end] for block in blocks], type_) for end in (0, 1))
    nothing, all_ = np.zeros(count, bool), np.ones(count, bool)
    return KeyBounds(
        type=types.INTEGER, lower=lower, upper=upper, may_null=nothing, may_nan=nothing, may_value=all_,
        lower_exact=all_, upper_exact=all_, null_counts=np.zeros(count), nan_counts=np.zeros(count),
    )  # fmt: skip


def wide(blocks, type_) -> str:
    """The blocks that are called wide, as digits."""
    return "".join(str(int(flag)) for flag in costs.wide_blocks(key_bounds(blocks, type_)))


@pytest.mark.parametrize(("blocks", "type_", "expected"), CASES)
def test_a_block_is_wide_if_nearly_all_keys_lie_in_its_range(blocks, type_, expected):
    assert wide(blocks, type_) == expected


@pytest.mark.parametrize("mutant", WIDTH_MUTANTS)
def test_each_mutant_of_wide_blocks_is_killed(mutant, monkeypatch):
    monkeypatch.setattr(*WIDTH_MUTANTS[mutant])
    assert any(wide(blocks, type_) != expected for blocks, type_, expected in CASES)


#        blocks                           type  kept        rows  dense
DENSE = [
    ([(0, 9), (10, 19)],                  INT,  [1, 1],     20,   True),
    ([(0, 9), (10, 19)],                  INT,  [1, 1],     19,   False),
    ([(0, 9), (10, 19)],                  INT,  [1, 1],     21,   False),
    ([(0, 9), (10, 19)],                  INT,  [0, 1],     10,   True),
    ([(0, 9), (10, 19)],                  INT,  [0, 1],     20,   False),
    ([(0, 9), (None, 19)],                INT,  [1, 1],     20,   False),
    ([(0, 9), (None, None)],              INT,  [1, 1],     10,   False),
    ([],                                  INT,  [],         0,    False),
    ([(Decimal("0"), Decimal("1"))],      DECIMAL, [1],     2,    False),
    ([(b"a", b"b")],                      TEXT, [1],        2,    False),
]  # fmt: skip


def is_dense(blocks, type_, kept, rows) -> bool:
    return costs.is_dense(key_bounds(blocks, type_), np.array(kept, bool), rows)


@pytest.mark.parametrize(("blocks", "type_", "kept", "rows", "expected"), DENSE)
def test_keys_are_dense_if_there_is_a_row_for_each_value(blocks, type_, kept, rows, expected):
    assert is_dense(blocks, type_, kept, rows) is expected


@pytest.mark.parametrize("mutant", DENSITY_MUTANTS)
def test_each_mutant_of_density_is_killed(mutant, monkeypatch):
    monkeypatch.setattr(*DENSITY_MUTANTS[mutant])
    assert any(is_dense(*case) is not expected for *case, expected in DENSE)
