"""The rows that reach Spark are those that were sent, and what it says of each block is counted right."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame, session
from oracles.answers.rows import bag
from oracles.answers.unpruned import (
    Counts,
    Raises,
    matches_per_block,
    matching_rows,
    needs_ansi,
    truths_per_row,
)
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Mode,
    Not,
    Operator,
)
from pruning.expressions.types import (
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
)
from strategies.base.tables import Table
from strategies.base.values import TYPES, decimal_of, to_float32, values

ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata")
# How Spark spells a value so that PySpark cannot change it on the way back; in a session in UTC.
SPELLINGS = {
    Kind.DECIMAL: "cast(v AS string)",
    Kind.DOUBLE: "cast(v AS string)",
    Kind.FLOAT: "cast(v AS string)",
    Kind.STRING: "hex(cast(v AS binary))",
    Kind.BINARY: "hex(v)",
    Kind.DATE: "unix_date(v)",
    Kind.TIMESTAMP: "unix_micros(v)",
    Kind.TIMESTAMP_NTZ: "unix_micros(cast(v AS timestamp))",
}
X = Column("x", INTEGER)
TABLE = Table((X,), (((1,), (5,), (None,)), (), ((1,), (1,)), ((None,),)))


def _held(type_: Type, spelling: object) -> object:
    """The value that a spelling stands for."""
    if spelling is None:
        return None
    if type_.floating:
        number = float(str(spelling))
        return to_float32(number) if type_.kind is Kind.FLOAT else number
    if type_.kind is Kind.DECIMAL:
        # Exactly, whatever the digits; PySpark has its own ways with the exponent.
        return decimal_of(int(Fraction(str(spelling)) * 10**type_.scale), type_.scale)
    return bytes.fromhex(str(spelling)) if type_.kind in BYTES else spelling


def _arrived(spark: SparkSession, type_: Type, cells: Sequence[Value | None], zone: str) -> list[object]:
    """The values after a round trip by way of a session in the zone."""
    table = Table((Column("v", type_),), (tuple((cell,) for cell in cells),))
    with session(spark, zone=zone):
        frame = rows_frame(spark, table)
    with session(spark, zone="UTC"):
        rows = frame.selectExpr(f"`{ROW_ORDINAL}`", SPELLINGS.get(type_.kind, "v")).collect()
    return [_held(type_, spelling) for _, spelling in sorted(rows, key=lambda row: row[0])]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@examples(0.12)
@given(data=st.data())
def test_rows_always_arrive_in_spark_as_they_were_sent(
    spark: SparkSession, type_: Type, data: st.DataObject
) -> None:
    cells = data.draw(st.lists(st.none() | values(type_, malformed_utf8=True), min_size=1, max_size=40))
    assert _same(_arrived(spark, type_, cells, data.draw(st.sampled_from(ZONES))), cells)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("type_", "cells"),
    [
        (DOUBLE, [math.nan, -0.0, 0.0, 5e-324, -math.inf]),
        (FLOAT, [math.nan, -0.0, 2.0**-149]),
        (STRING, [b"\xff\xfe", b"\xed\xa0\x80", b"\0\t", b""]),
        (DATE, [-719_162, -141_437, -141_428, -141_427, 2_932_896]),
        (TIMESTAMP, [-62_135_596_800_000_000, -12_219_292_800_000_001, -1, 253_402_300_799_999_999]),
        (TIMESTAMP_NTZ, [-62_135_596_800_000_000, -12_219_292_800_000_001, -1, 253_402_300_799_999_999]),
    ],
    ids=str,
)
def test_the_values_that_other_routes_change_arrive_as_they_were_sent(
    spark: SparkSession, type_: Type, cells: list[Value], zone: str
) -> None:
    assert _same(_arrived(spark, type_, cells, zone), cells)


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    # By their text: NaN is unlike itself, and minus zero equals zero.
    return list(map(repr, left)) == list(map(repr, right))


def test_rows_are_in_memory_only(spark: SparkSession) -> None:
    plan = rows_frame(spark, TABLE)._jdf.queryExecution().optimizedPlan().toString()
    assert plan.startswith("LocalRelation")


def _triples(counts: tuple[Counts, ...] | Raises) -> list[tuple[int, int, int]]:
    assert not isinstance(counts, Raises)
    return [(block.true, block.false, block.null) for block in counts]


def test_matches_are_counted_per_block_and_predicate(spark: SparkSession) -> None:
    is_one = Compare(Comparison.EQUAL, X, Literal(1, INTEGER))
    one, null = matches_per_block(spark, TABLE, [is_one, IsNull(X)])
    assert _triples(one) == [(1, 1, 1), (0, 0, 0), (2, 0, 0), (0, 0, 1)]
    assert _triples(null) == [(1, 2, 0), (0, 0, 0), (0, 2, 0), (1, 0, 0)]


def test_the_answer_is_the_rows_that_are_true_as_often_as_they_occur(spark: SparkSession) -> None:
    assert matching_rows(spark, TABLE, Compare(Comparison.EQUAL, X, Literal(1, INTEGER))) == bag(
        [(1,), (1,), (1,)]
    )


def _plus(left: Expression, right: int, mode: Mode) -> Expression:
    return Arithmetic(Operator.ADD, left, Literal(right, INTEGER), INTEGER, mode)


def test_a_raising_predicate_never_spoils_the_others_of_its_batch(spark: SparkSession) -> None:
    raising = IsNull(_plus(X, 2**31 - 1, Mode.ANSI))
    verdicts = truths_per_row(spark, TABLE, [IsNull(X), raising, Not(IsNull(X))])
    assert isinstance(verdicts[1], Raises)
    assert verdicts[0] == (False, False, True, False, False, True)
    assert verdicts[2] == (True, True, False, True, True, False)


def test_the_answer_of_a_raising_predicate_is_that_it_raises(spark: SparkSession) -> None:
    found = matching_rows(spark, TABLE, IsNull(_plus(X, 2**31 - 1, Mode.ANSI)))
    assert isinstance(found, Raises)
    assert "OVERFLOW" in found.error.upper()


def test_each_mode_of_arithmetic_has_its_own_meaning_in_one_call(spark: SparkSession) -> None:
    table = Table((X,), (((2**31 - 1,),),))
    wraps, is_null = (
        Compare(Comparison.NULL_SAFE_EQUAL, _plus(X, 1, mode), Literal(value, INTEGER))
        for mode, value in ((Mode.LEGACY, -(2**31)), (Mode.TRY, None))
    )
    assert truths_per_row(spark, table, [wraps, is_null]) == ((True,), (True,))


def test_a_predicate_of_two_modes_is_refused() -> None:
    both = And((IsNull(_plus(X, 1, Mode.ANSI)), IsNull(_plus(X, 1, Mode.LEGACY))))
    with pytest.raises(ValueError, match="no one session has"):
        needs_ansi(both)


def test_a_column_that_the_table_lacks_is_an_error_and_no_verdict(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException):
        truths_per_row(spark, TABLE, [IsNull(Column("y", INTEGER))])


def test_the_time_zone_decides_what_a_date_is_as_a_timestamp(spark: SparkSession) -> None:
    table = Table((Column("t", DATE),), (((0,),),))
    midnight = Compare(Comparison.EQUAL, Cast(Column("t", DATE), TIMESTAMP), Literal(0, TIMESTAMP))
    assert truths_per_row(spark, table, [midnight], zone="UTC") == ((True,),)
    assert truths_per_row(spark, table, [midnight], zone="Asia/Kolkata") == ((False,),)


def test_a_session_is_left_as_it_was(spark: SparkSession) -> None:
    keys = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.orc.aggregatePushdown")
    before = [spark.conf.get(key, None) for key in keys]
    with session(spark, zone="Asia/Kolkata", ansi=False):
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Kolkata"
    assert [spark.conf.get(key, None) for key in keys] == before
