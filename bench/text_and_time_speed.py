"""Measure LIKE, functions of text and date_trunc over millions of blocks.

    python bench/text_and_time_speed.py [--blocks N] [--rounds N]

Each figure is the median processor time over rounds in which every contestant runs once, in turn, on
one thread. skipproof tells NONE, SOME and ALL; numpy and DuckDB by hand tell the blocks that may match,
by what one would write without it: the interval that a predicate on times stands for, worked out
beforehand; of a pattern that no interval stands for, the pattern itself where a block has one value, and
nothing elsewhere. *kept* are the blocks that each cannot skip.
"""

import argparse
import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from timing import medians

from pruning.expressions.trees import (
    Call,
    Column,
    Compare,
    Comparison,
    Contains,
    Expression,
    Function,
    Like,
    Literal,
)
from pruning.expressions.types import INTEGER, STRING, TIMESTAMP
from pruning.metadata.table.schema import block_schema
from pruning.verdicts.classification import classify_blocks, compile_predicate

S, T = Column("s", STRING), Column("t", TIMESTAMP)
ZONE = "America/New_York"
HOUR = 3_600_000_000
SINGLE_SHARE = 0.5  # of the blocks, those with one text
Arrays = dict[str, np.ndarray]


def instant(*parts: int) -> int:
    """Return a local time in New York as microseconds since 1970."""
    return int(datetime.datetime(*parts, tzinfo=ZoneInfo(ZONE)).timestamp()) * 1_000_000


START, SPAN = instant(2015, 1, 1), instant(2025, 1, 1) - instant(2015, 1, 1)
MONTH = instant(2020, 3, 1), instant(2020, 4, 1)
DAY = instant(2020, 3, 8), instant(2020, 3, 9)  # of 23 hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One predicate for skipproof, and by hand the blocks that may match."""

    name: str
    predicate: Expression
    numpy: Callable[[Arrays], np.ndarray]
    sql: str


def block_metadata(blocks: int, seed: int = 17) -> pa.Table:
    """Return blocks of texts of ten hexadecimal digits, half with a single text, and an hour of ten years."""
    random = np.random.default_rng(seed)
    digits = np.frombuffer(b"0123456789abcdef", "S1")
    text = random.choice(digits, (blocks, 10)).view("S10").ravel()
    least = pa.array(text.tolist(), pa.binary()).cast(pa.string())
    single = random.random(blocks) < SINGLE_SHARE
    beyond = pc.binary_join_element_wise(pc.utf8_slice_codeunits(least, 0, 4), "z", "")
    greatest = pc.if_else(pa.array(single), least, beyond)
    time = np.sort(random.integers(START, START + SPAN, blocks))
    bounds = {
        "s": (least, greatest),
        "t": tuple(
            pa.array(side, pa.int64()).cast(pa.timestamp("us", "UTC")) for side in (time, time + HOUR)
        ),
    }
    schema = block_schema({column.name: column.type for column in (S, T)})
    fields = schema.field("columns").type
    zeros, ordinal = pa.array(np.zeros(blocks, np.int64)), pa.array(np.arange(blocks))
    structs = []
    for name, (lower, upper) in bounds.items():
        known = {"null_count": zeros, "min": lower, "max": upper}
        parts = [known.get(field.name, pa.nulls(blocks, field.type)) for field in fields.field(name).type]
        structs.append(pa.StructArray.from_arrays(parts, fields=list(fields.field(name).type)))
    locators = [pa.repeat("file", blocks), ordinal.cast(pa.int32()), ordinal, ordinal, ordinal]
    rows = pa.repeat(1_000, blocks).cast(pa.int64())
    columns = pa.StructArray.from_arrays(structs, fields=list(fields))
    return pa.table([*locators, rows, columns], schema=schema)


def by_hand(metadata: pa.Table) -> Arrays:
    """Return the bounds as numpy arrays; texts as fixed-width bytes, times as integers."""
    structs = metadata.column("columns").chunk(0)
    texts = {
        f"s_{side}": structs.field("s").field(side).to_numpy(zero_copy_only=False).astype("S10")
        for side in ("min", "max")
    }
    times = {
        f"t_{side}": structs.field("t").field(side).cast(pa.int64()).to_numpy() for side in ("min", "max")
    }
    return texts | times


def in_duckdb(metadata: pa.Table) -> duckdb.DuckDBPyConnection:
    """Return the bounds as a table `m` of DuckDB, on one thread; times as integers."""
    structs = metadata.column("columns").chunk(0)
    flat = {f"s_{side}": structs.field("s").field(side) for side in ("min", "max")}
    flat |= {f"t_{side}": structs.field("t").field(side).cast(pa.int64()) for side in ("min", "max")}
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("arrow", pa.table({**flat, "ordinal": pa.array(np.arange(len(structs)))}))
    connection.execute("CREATE TABLE m AS SELECT * FROM arrow")
    return connection


def _prefix(prefix: str) -> Question:
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return Question(
        name=f"s LIKE '{prefix}%'",
        predicate=Like(S, f"{prefix}%".encode()),
        numpy=lambda m: (m["s_max"] >= prefix.encode()) & (m["s_min"] < after.encode()),
        sql=f"s_max >= '{prefix}' AND s_min < '{after}'",
    )


def _where_single(
    name: str, predicate: Expression, found: Callable[[np.ndarray], np.ndarray], sql: str
) -> Question:
    def numpy(m: Arrays) -> np.ndarray:
        return (m["s_min"] != m["s_max"]) | found(m["s_min"])

    return Question(name=name, predicate=predicate, numpy=numpy, sql=f"s_min <> s_max OR {sql}")


def _during(name: str, predicate: Expression, span: tuple[int, int]) -> Question:
    start, end = span
    return Question(
        name=name,
        predicate=predicate,
        numpy=lambda m: (m["t_max"] >= start) & (m["t_min"] < end),
        sql=f"t_max >= {start} AND t_min < {end}",
    )


def _equals_truncated(unit: bytes, at: int) -> Expression:
    call = Call(Function.DATE_TRUNC, (Literal(unit, STRING), T), TIMESTAMP, zone=ZONE)
    return Compare(Comparison.EQUAL, call, Literal(at, TIMESTAMP))


UPPER = Compare(Comparison.EQUAL, Call(Function.UPPER, (S,), STRING), Literal(b"00FFAA0011", STRING))
HOUR_OF_DAY = Compare(Comparison.EQUAL, Call(Function.HOUR, (T,), INTEGER, zone=ZONE), Literal(3, INTEGER))


def _hour(m: Arrays) -> np.ndarray:
    """Tell for each block whether it may hold 3 o'clock in New York, by the hours in UTC."""
    hours = (m["t_min"] // HOUR)[:, None] + np.arange(2)
    return np.isin(hours % 24, (7, 8)).any(axis=1)  # 3 o'clock in New York is 7 or 8 in UTC


def _matches(texts: np.ndarray) -> np.ndarray:
    found = re.compile(rb"0.*f.1.*").fullmatch
    return np.fromiter((found(text) is not None for text in texts.tolist()), bool, len(texts))


QUESTIONS = (
    _prefix("00f"),
    _where_single(
        "s LIKE '%f0%'",
        Contains(S, b"f0"),
        lambda texts: np.char.find(texts, b"f0") >= 0,
        "contains(s_min, 'f0')",
    ),
    _where_single("s LIKE '0%f_1%'", Like(S, b"0%f_1%"), _matches, "s_min LIKE '0%f_1%'"),
    _where_single(
        "upper(s) = '00FFAA0011'",
        UPPER,
        lambda texts: np.char.upper(texts) == b"00FFAA0011",
        "upper(s_min) = '00FFAA0011'",
    ),
    _during("date_trunc('MONTH', t) = c", _equals_truncated(b"MONTH", MONTH[0]), MONTH),
    _during("date_trunc('DAY', t) = c", _equals_truncated(b"DAY", DAY[0]), DAY),
    Question(
        name="hour(t) = 3",
        predicate=HOUR_OF_DAY,
        numpy=_hour,
        sql=f"(t_min // {HOUR}) % 24 IN (6, 7, 8)",
    ),
)


def check(question: Question, kept: np.ndarray, by_numpy: np.ndarray, by_sql: np.ndarray) -> None:
    """Check that the hand-written checks agree, and that skipproof skips all blocks that they skip."""
    assert not (kept & ~by_numpy).any(), f"{question.name}: a block is kept that numpy skips"
    assert not (kept & ~by_sql).any(), f"{question.name}: a block is kept that DuckDB skips"


def compare(metadata: pa.Table, rounds: int, console: Console) -> None:
    """Run every question on every contestant."""
    arrays, sql = by_hand(metadata), in_duckdb(metadata)
    table = Table(title=f"{metadata.num_rows:,} blocks, median ms of one processor; blocks kept")
    headings = (
        "",
        "compile",
        "skipproof",
        "numpy",
        "DuckDB",
        "/ numpy",
        "/ DuckDB",
        "kept",
        "numpy",
        "DuckDB",
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for question in QUESTIONS:
        program = compile_predicate(question.predicate)
        statement = f"SELECT ordinal FROM m WHERE {question.sql}"
        contestants: dict[str, Callable[[], object]] = {
            "compile": lambda q=question: compile_predicate(q.predicate),
            "skipproof": lambda p=program: classify_blocks(p, metadata),
            "numpy": lambda q=question: q.numpy(arrays),
            "duckdb": lambda text=statement: sql.sql(text).to_arrow_table(),
        }
        kept = classify_blocks(program, metadata).to_numpy() > 0
        by_numpy = question.numpy(arrays)
        by_sql = np.zeros(len(kept), bool)
        by_sql[sql.sql(statement).to_arrow_table().column(0).to_numpy()] = True
        check(question, kept, by_numpy, by_sql)
        taken = medians(contestants, rounds)
        own = taken["skipproof"]
        counts = (f"{found.sum():,}" for found in (kept, by_numpy, by_sql))
        milliseconds = (f"{taken[name] * 1e3:,.1f}" for name in contestants)
        ratios = (f"{own / taken[name]:.2f}" for name in ("numpy", "duckdb"))
        table.add_row(question.name, *milliseconds, *ratios, *counts)
    console.print(table)


def main() -> None:
    """Compare over as many blocks and rounds as asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=3_000_000, help="blocks (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    compare(block_metadata(arguments.blocks), arguments.rounds, Console(width=140))


if __name__ == "__main__":
    main()
