"""What no rule knows, evaluated by Spark on the one value of a block."""

import datetime
import functools
import math
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions

import pruning
from mutants.metadata.constant_blocks import MUTANTS
from oracles.answers.frames import arrow_frame, settings
from pruning.expressions import types
from pruning.spark.drive import filter_technique

NONE, SOME, ALL = 0, 1, 2
TYPES = {
    "s": types.STRING,
    "t": types.STRING,
    "day": types.DATE,
    "x": types.LONG,
    "d": types.DOUBLE,
    "at": types.TIMESTAMP,
    "block": types.INTEGER,
}
SCHEMA = pa.schema(
    {
        "s": pa.string(),
        "t": pa.string(),
        "day": pa.date32(),
        "x": pa.int64(),
        "d": pa.float64(),
        "at": pa.timestamp("us", tz="UTC"),
        "block": pa.int32(),
    }
)
MONDAY = datetime.date(2024, 1, 1)
AT = datetime.datetime(2024, 1, 1, 23, 30, tzinfo=datetime.UTC)

# The values that the rows of a block take in turn, column by column.
BLOCKS = (
    {"s": ["a"], "t": ["x"], "day": [MONDAY], "x": [7], "d": [1.0], "at": [AT]},
    {"s": ["B"], "t": ["x"], "day": [MONDAY + datetime.timedelta(1)], "x": [8], "d": [0.0, -0.0], "at": [AT]},
    {"s": [None], "t": [None], "day": [None], "x": [None], "d": [None], "at": [None]},
    {"s": ["a", None], "t": ["y"], "day": [MONDAY, None], "x": [7, None], "d": [1.0, None], "at": [AT]},
    {"s": ["abc"], "t": ["y", None], "day": [MONDAY], "x": [-3], "d": [2.0, math.nan], "at": [AT, None]},
    {"s": ["", ""], "t": ["z"], "day": [MONDAY], "x": [0], "d": [-0.0], "at": [AT]},
    {"s": ["a", "b"], "t": ["x", "y"], "day": [MONDAY], "x": [1, 2], "d": [1.0, 2.0], "at": [AT]},
)
ROWS = 4

#             of columns without floats: exactly what the rows of single-valued blocks are
EXACT = (
    "upper(s) = 'A'",
    "length(s) > 2",
    "s RLIKE '^[ab]'",
    "s LIKE '%b%'",
    "date_format(day, 'E') = 'Mon'",
    "sha2(s, 256) LIKE 'ca9%'",
    "hex(x % 2) = '1'",
    "concat(s, t) = 'ax'",
    "concat_ws('-', s, t) IN ('a-x', 'y', '')",
    "CAST(x AS STRING) = '7'",
    "IF(upper(s) = 'A', length(t), -length(s)) > 0",
    "lower(s) = 'b' AND x < 100 OR NOT (reverse(s) <= 'cba')",
    "coalesce(upper(s), 'none') = 'none'",
    "crc32(s) IS NULL",
    "initcap(t) <=> NULL",
    "hour(at) = 23",
    "CAST(at AS STRING) < '2024-01-02'",
    "exists(array(s, t), v -> v = 'x')",
    "split(s, '')[0] = 'a'",
    "pmod(x, 4) BETWEEN 1 AND 3 AND soundex(s) IS NOT NULL",
)
# Whose metadata never excludes NaN, and whose zeros have no sign.
FLOATING = (
    "CAST(d AS STRING) = '0.0'",
    "CAST(d AS STRING) = '-0.0'",
    "CAST(d AS STRING) <> 'NaN'",
    "hypot(d, 0.0D) < 2",
    "hex(CAST(d AS STRING)) LIKE '3%'",
    "atan2(d, -1.0D) > 0",
    "concat(CAST(d AS STRING), s) = '1.0a'",
)


def block(number: int) -> pa.Table:
    values = BLOCKS[number]
    cells = {name: [these[row % len(these)] for row in range(ROWS)] for name, these in values.items()}
    return pa.table({**cells, "block": [number] * ROWS}, SCHEMA)


@pytest.fixture(scope="module")
def blocks(spark, tmp_path_factory):
    """A file of one row group for each of `BLOCKS`."""
    path = tmp_path_factory.mktemp("single valued") / "0.parquet"
    table = pa.concat_tables(block(number) for number in range(len(BLOCKS)))
    pq.write_table(table, path, row_group_size=ROWS)
    return str(path)


@pytest.fixture(scope="module")
def in_memory(spark):
    """The same rows where there is nothing to skip."""
    table = pa.concat_tables(block(number) for number in range(len(BLOCKS)))
    return arrow_frame(spark, table, TYPES)


def truths(frame, predicate) -> list[set[bool | None]]:
    """The truth values of the rows of each block."""
    found: list[set[bool | None]] = [set() for _ in BLOCKS]
    for row in frame.selectExpr("block", f"{predicate} AS truth").collect():
        found[row.block].add(row.truth)
    return found


def verdict(those: set[bool | None]) -> int:
    return ALL if those == {True} else SOME if True in those else NONE


def unsound(found: list[int], those: list[set[bool | None]]) -> list[int]:
    """The blocks whose verdict their rows belie."""
    return [
        number
        for number, (claimed, seen) in enumerate(zip(found, those, strict=True))
        if (claimed == NONE and True in seen) or (claimed == ALL and seen != {True})
    ]


@pytest.mark.parametrize("predicate", EXACT)
def test_each_single_valued_block_gets_exactly_what_its_rows_are(spark, blocks, in_memory, predicate):
    """DERIVED-2."""
    found, those = pruning.classify(predicate, blocks).to_pylist(), truths(in_memory, predicate)
    assert unsound(found, those) == []
    assert found[:-1] == [verdict(seen) for seen in those[:-1]]


@pytest.mark.parametrize("predicate", FLOATING)
def test_nan_and_signed_zeros_are_never_forgotten(spark, blocks, in_memory, predicate):
    """DERIVED-2. Blocks without values are known exactly."""
    found, those = pruning.classify(predicate, blocks).to_pylist(), truths(in_memory, predicate)
    assert unsound(found, those) == []
    assert found[2] == verdict(those[2])


@pytest.mark.parametrize("predicate", [*EXACT, *FLOATING])
def test_a_pruned_query_gives_the_rows_of_spark(spark, blocks, in_memory, predicate):
    """DERIVED-3."""
    pruned = pruning.prune(spark.read.parquet(blocks).filter(predicate))
    assert Counter(map(str, pruned.collect())) == Counter(map(str, in_memory.filter(predicate).collect()))


TEXTS = st.sampled_from(
    ("upper(s)", "concat(s, t)", "concat_ws('', t, s)", "CAST(d AS STRING)", "date_format(day, 'E')",
     "CAST(x AS STRING)", "reverse(t)", "IF(length(s) > 1, s, t)", "sha1(s)", "coalesce(lower(s), t, 'NaN')")
)  # fmt: skip
VALUES = st.sampled_from(
    ("'A'", "'ax'", "'xa'", "'NaN'", "'-0.0'", "'1.0'", "'7'", "'x'", "'Mon'", "''", "NULL")
)


@functools.cache
def comparisons() -> st.SearchStrategy[str]:
    operators = st.sampled_from(("=", "<", ">=", "<=>", "<>", "LIKE"))
    compared = st.builds("({} {} {})".format, TEXTS, operators, TEXTS | VALUES)
    return st.recursive(
        compared | st.builds("({} IS NULL)".format, TEXTS),
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from(("AND", "OR")), inner)
            | st.builds("(NOT {})".format, inner)
            | st.builds("IF({}, {}, {})".format, inner, inner, inner)
        ),
        max_leaves=4,
    )


@examples(0.6)
@given(predicate=comparisons())
def test_verdicts_are_never_belied_by_spark(spark, blocks, in_memory, predicate):
    """DERIVED-2, for expressions of any shape."""
    found, those = pruning.classify(predicate, blocks).to_pylist(), truths(in_memory, predicate)
    event(f"{sum(claimed != SOME for claimed in found)} blocks told")
    assert unsound(found, those) == []


# For each alternative of a block that is forgotten, a predicate whose verdict that spoils.
SPOILED = {
    "NULL forgotten": "concat_ws('-', s) = 'a'",
    "-0.0 forgotten": "reverse(CAST(d AS STRING)) = '0.0'",
    "NaN forgotten": "CAST(d AS STRING) = '2.0'",
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_that_forgets_an_alternative_is_belied(spark, blocks, in_memory, mutant, monkeypatch):
    predicate = SPOILED[mutant]
    those = truths(in_memory, predicate)
    assert unsound(pruning.classify(predicate, blocks).to_pylist(), those) == []
    monkeypatch.setattr(*MUTANTS[mutant])
    assert unsound(pruning.classify(predicate, blocks).to_pylist(), those) != []


def test_a_value_that_raises_leaves_only_its_own_blocks_unknown(spark, blocks, ansi):
    """The text of the last block is no number either; only '7', '8', '-3' and '0' are."""
    found = pruning.classify("CAST(concat(CAST(x AS STRING), '') AS INT) > 0", blocks).to_pylist()
    assert found == [ALL, ALL, NONE, SOME, NONE, NONE, SOME]
    found = pruning.classify("CAST(s AS INT) IS NULL", blocks).to_pylist()
    assert found == [SOME, SOME, ALL, SOME, SOME, SOME, SOME]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "+05:30", "America/New_York"])
def test_the_sessions_zone_is_that_of_the_query(spark, blocks, in_memory, zone):
    instant = "at + make_dt_interval(1) = TIMESTAMP'2024-01-02 23:30:00Z'"
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        for predicate in (instant, "date_format(at, 'E') = 'Mon'", "CAST(at AS STRING) < '2024-01-02'"):
            found = pruning.classify(predicate, blocks).to_pylist()
            assert found[:-1] == [verdict(seen) for seen in truths(in_memory, predicate)[:-1]]


def test_the_report_says_what_was_evaluated(spark, blocks):
    df = spark.read.parquet(blocks).filter("initcap(s) = 'A' AND initcap(s) LIKE '%A'")
    (scan,) = pruning.explain(df).scans
    assert "initcap(s) evaluated on 5 single-valued combinations by Spark" in scan.notes
    assert scan.blocks_kept == 3
    assert pruning.explain(df).to_dict()["scans"][0]["notes"]


UNTOUCHED = {
    "no single-valued column": "upper(concat(s, CAST(block AS STRING))) = 'A' AND block = 6",
    "not deterministic, whatever Spark says": "aes_encrypt(s, '0000111122223333') IS NOT NULL",
    "decided by the rules": "upper(s) = 'A' AND block > 100",
    "nothing unknown": "x > 7 AND s = 'a'",
}


@pytest.mark.parametrize("why", UNTOUCHED)
def test_spark_is_asked_only_where_it_can_matter(spark, blocks, why, monkeypatch):
    def refuse(*arguments):
        raise AssertionError(arguments)

    monkeypatch.setattr(filter_technique, "evaluate", refuse)
    pruning.classify(UNTOUCHED[why], blocks)


def test_users_code_is_not_run_to_prune(spark, blocks):
    def unlike(text):
        raise AssertionError(text)

    df = spark.read.parquet(blocks).filter(functions.udf(unlike, "boolean")("s"))
    assert pruning.prune(df) is df
    assert not [note for note in pruning.explain(df).scans[0].notes if "evaluated" in note]


def test_values_that_cannot_be_told_leave_the_query_as_it_is(spark, blocks, monkeypatch):
    monkeypatch.setattr(filter_technique, "evaluate", lambda *arguments: None)
    df = spark.read.parquet(blocks).filter("upper(s) = 'A'")
    assert pruning.explain(df).scans[0].notes == ()
    assert len(pruning.prune(df).collect()) == 2 * ROWS


def test_expressions_that_only_look_alike_are_not_taken_for_one_another(spark, blocks, ansi):
    """One wraps around and one raises, and both print as they do."""
    df = spark.read.parquet(blocks)
    with settings(spark, {"spark.sql.ansi.enabled": "false"}):
        df = df.filter("x IS NULL OR hex(x + 9223372036854775807) LIKE '8%'")
        df.count()
    both = df.filter("x IS NULL OR hex(x + 9223372036854775807) NOT LIKE '8%' OR x = 7")
    (scan,) = pruning.explain(both).scans
    # The first is evaluated, and the other one is not, for it would have had to be by itself.
    assert len([note for note in scan.notes if note.startswith("hex")]) == 1
    assert outcome(pruning.prune(both)) == outcome(both)


def outcome(df):
    """The rows, or that the query raises."""
    try:
        return sorted(df.collect(), key=str)
    except (PySparkException, Py4JJavaError) as error:  # which of them differs from release to release
        return type(error).__name__


PARTITION_FILTERS = {
    "upper(text) = 'A/B C%=É'": 1 / 4,
    "length(text) = 2 AND date_format(day, 'MMM') = 'Jan'": 1 / 8,
    "concat_ws('-', text, CAST(year AS STRING)) IN ('12-2013', '-5')": 1 / 6,
    "text LIKE '%b%' AND hex(year) = 'FFFFFFFFFFFFFFFB'": 1 / 12,
}


@pytest.mark.parametrize("predicate", PARTITION_FILTERS)
def test_any_predicate_on_partition_columns_is_exact(spark, partitioned, predicate):
    df = spark.read.parquet(partitioned).filter(predicate)
    rows = df.collect()
    assert len(rows) == round(120 * PARTITION_FILTERS[predicate])
    (scan,) = pruning.explain(df).scans
    assert scan.files_kept == round(24 * PARTITION_FILTERS[predicate])
    assert sorted(pruning.prune(df).collect(), key=str) == sorted(rows, key=str)


def test_a_column_is_known_under_its_new_name(spark, blocks):
    df = (
        spark.read.parquet(blocks)
        .selectExpr("s AS renamed", "x")
        .filter("upper(renamed) = 'A'")
        .filter("x > 0")
    )
    assert len(pruning.prune(df).collect()) == 8
    assert pruning.explain(df).scans[0].blocks_kept == 3


def test_names_that_look_like_an_expression_are_no_harm(spark, tmp_path):
    """The new column takes another name than that of a column of the table."""
    table = pa.table({"s": ["a", "a", "b", "b"], "upper(s)": ["x", "x", "A", "A"]})
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=2)
    found = pruning.classify("upper(s) = 'A' AND `upper(s)` = 'x'", str(tmp_path)).to_pylist()
    assert found == [ALL, NONE]


#               verdict of the block where s is 'a' or NULL: only the whole predicate sees that parts agree
WHOLE = {
    "concat_ws('', s) = '' OR upper(s) = 'A'": ALL,
    "concat_ws('', s) = '' AND upper(s) = 'A'": NONE,
    "concat_ws('', s, s) = 'a'": NONE,
}


@pytest.mark.parametrize("predicate", WHOLE)
def test_the_whole_predicate_is_evaluated_where_all_its_columns_have_one_value(spark, blocks, predicate):
    assert pruning.classify(predicate, blocks)[3].as_py() == WHOLE[predicate]
