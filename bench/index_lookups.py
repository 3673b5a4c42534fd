"""Measure lookups of values in the memberships of millions of blocks, compared with other ways.

    python bench/index_lookups.py [--blocks N] [--rounds N]

Of each block there is a dictionary of one to seven of a thousand strings, a filter of 64 bytes, and a
bucket. Each figure is the median processor time over rounds in which every contestant runs once, in
turn, on one thread:

- skipproof, as `classify_blocks` asks, in whichever order and from the predicate's program on;
- the lookup alone, of all blocks at once;
- numpy by hand: codes and offsets, a matrix of words, arrays of buckets;
- DuckDB's SQL by hand, over a list of strings, a column per word, columns of buckets.

All must name the same blocks.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table
from timing import medians

from pruning.expressions.trees import Column, In, Literal
from pruning.expressions.types import STRING
from pruning.metadata.index import bloom, buckets
from pruning.metadata.index.encodings import own_encoding
from pruning.metadata.index.membership_query import MembershipIndex
from pruning.metadata.table.memberships import FIELD, indexed_columns, membership_fields
from pruning.metadata.table.schema import block_schema
from pruning.rules.analysis.evaluation import ExtraMetadata
from pruning.rules.sets import cuts
from pruning.verdicts.classification import classify_blocks, compile_predicate

DISTINCT, VALUES_MAX, FILTER_WORDS, MODULUS = 1_000, 7, 16, 64
ASKED = {"one value": 1, "ten values": 10}
SOURCES = ("dictionary", "filter", "bucket")


@dataclass(frozen=True, slots=True)
class Blocks:
    """The same blocks as plain arrays."""

    offsets: np.ndarray
    codes: np.ndarray
    words: np.ndarray
    buckets: np.ndarray


def values() -> list[bytes]:
    return [b"value %04d" % number for number in range(DISTINCT)]


def blocks(count: int, seed: int = 11) -> Blocks:
    """Return blocks with values drawn at random, a filter that is a third full, and any bucket."""
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(random.integers(1, VALUES_MAX + 1, count))]).astype(np.int32)
    codes = random.integers(0, DISTINCT, offsets[-1], dtype=np.int32)
    words = random.integers(0, 2**32, (count, FILTER_WORDS), dtype=np.uint32)
    words |= random.integers(0, 2**32, (count, FILTER_WORDS), dtype=np.uint32)
    words &= random.integers(0, 2**32, (count, FILTER_WORDS), dtype=np.uint32)
    return Blocks(offsets, codes, words, random.integers(0, MODULUS, count))


def metadata(known: Blocks, source: str) -> pa.Table:
    """Return block metadata without bounds, with one part of the index."""
    count = len(known.buckets)
    pool = pa.array([value.decode() for value in values()])
    lists = pa.ListArray.from_arrays(
        pa.array(known.offsets), pa.DictionaryArray.from_arrays(pa.array(known.codes), pool)
    )
    ends = np.arange(count + 1, dtype=np.int64) * 4 * FILTER_WORDS
    filters = pa.Array.from_buffers(
        pa.large_binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(known.words))]
    )
    encoding = own_encoding(STRING)
    assert encoding is not None
    named = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([encoding.name]))
    told = {
        "dictionary": {"dictionary": lists},
        "filter": {"filter": filters, "filter_of": named},
        "bucket": {
            "bucket": pa.array(known.buckets),
            "modulus": pa.repeat(pa.scalar(MODULUS, pa.int64()), count),
        },
    }[source]
    fields = membership_fields(STRING)
    lanes = [told.get(field.name, pa.nulls(count, field.type)) for field in fields]
    held = pa.StructArray.from_arrays(lanes, fields=list(fields))
    schema = block_schema({"x": STRING})
    column = schema.field("columns").type
    nothing = [pa.nulls(count, field.type) for field in column.field("x").type]
    unknown = pa.StructArray.from_arrays(nothing, fields=list(column.field("x").type))
    ordinal = pa.array(np.arange(count))
    table = pa.table(
        [
            pa.repeat("file", count),
            ordinal.cast(pa.int32()),
            ordinal,
            ordinal,
            ordinal,
            pa.repeat(pa.scalar(1_000, pa.int64()), count),
            pa.StructArray.from_arrays([unknown], fields=list(column)),
        ],
        schema=schema,
    )
    return table.append_column(FIELD, pa.StructArray.from_arrays([held], names=["x"]))


def by_numpy(known: Blocks, source: str, asked: list[int]) -> np.ndarray:
    """Return the blocks that may hold one of the values, as one would write it."""
    encoded = [values()[code] for code in asked]
    if source == "dictionary":
        wanted = np.zeros(DISTINCT, bool)
        wanted[asked] = True
        return np.logical_or.reduceat(wanted[known.codes], known.offsets[:-1])
    if source == "bucket":
        hashes = np.array(buckets.hashes_of(encoded, STRING)) % MODULUS
        return np.isin(known.buckets, hashes)
    found = np.zeros(len(known.buckets), bool)
    for hash_ in bloom.hashes_of(encoded):
        start = _start(int(hash_))
        masks = np.array([mask[0] for mask in bloom.masks(np.array([hash_], np.uint64))])
        found |= ((known.words[:, start : start + 8] & masks) == masks).all(axis=1)
    return found


def _start(hash_: int) -> int:
    """Return the first word of a hash's block."""
    return ((hash_ >> 32) * (FILTER_WORDS // 8) >> 32) * 8


def in_duckdb(known: Blocks, source: str) -> duckdb.DuckDBPyConnection:
    """Load one part of the index as a table `m` of DuckDB, on one thread."""
    if source == "dictionary":
        pool = pa.array([value.decode() for value in values()])
        lists = pa.ListArray.from_arrays(pa.array(known.offsets), pool.take(pa.array(known.codes)))
        columns: dict[str, object] = {"held": lists}
    elif source == "bucket":
        columns = {"bucket": pa.array(known.buckets), "modulus": pa.repeat(MODULUS, len(known.buckets))}
    else:
        columns = {
            f"w{place}": pa.array(np.ascontiguousarray(known.words[:, place]))
            for place in range(FILTER_WORDS)
        }
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("arrow", pa.table({"ordinal": pa.array(np.arange(len(known.buckets))), **columns}))
    connection.execute("CREATE TABLE m AS SELECT * FROM arrow")
    return connection


def sql(source: str, asked: list[int]) -> str:
    encoded = [values()[code] for code in asked]
    if source == "dictionary":
        any_of = " OR ".join(f"list_contains(held, '{value.decode()}')" for value in encoded)
    elif source == "bucket":
        hashes = buckets.hashes_of(encoded, STRING)
        any_of = " OR ".join(f"(({hash_} % modulus) + modulus) % modulus = bucket" for hash_ in hashes)
    else:
        each = []
        for hash_ in bloom.hashes_of(encoded):
            masks = [int(mask[0]) for mask in bloom.masks(np.array([hash_], np.uint64))]
            start = _start(int(hash_))
            each.append(" AND ".join(f"w{start + word} & {mask} <> 0" for word, mask in enumerate(masks)))
        any_of = " OR ".join(f"({probe})" for probe in each)
    return f"SELECT ordinal FROM m WHERE {any_of}"


def compare(known: Blocks, source: str, asked: list[int], rounds: int) -> list[str]:
    """Return one line: medians in milliseconds, and how many times as long the others take."""
    table = metadata(known, source)
    connection = in_duckdb(known, source)
    members = tuple(Literal(values()[code], STRING) for code in asked)
    program = compile_predicate(
        In(Column("x", STRING), members), beyond=ExtraMetadata(indexed=indexed_columns(table))
    )
    wanted = cuts.of_values([values()[code] for code in asked], STRING)
    whole = table.column(FIELD).combine_chunks()
    query = sql(source, asked)
    contestants: dict[str, Callable[[], object]] = {
        "skipproof": lambda: classify_blocks(program, table),
        "lookup": lambda: MembershipIndex(whole).may_hold("x", STRING, wanted, 0, len(whole)),
        "numpy": lambda: by_numpy(known, source, asked),
        "duckdb": lambda: connection.sql(query).to_arrow_table(),
    }
    found = np.flatnonzero(classify_blocks(program, table).to_numpy())
    assert np.array_equal(found, np.flatnonzero(by_numpy(known, source, asked)))
    ordinals = connection.sql(query).to_arrow_table().column("ordinal")
    assert np.array_equal(found, np.sort(pc.cast(ordinals, pa.int64()).to_numpy()))
    taken = medians(contestants, rounds)
    return [
        f"{1 - len(found) / len(table):.1%}",
        *(f"{1_000 * seconds:,.0f}" for seconds in taken.values()),
        *(f"{taken[name] / taken['skipproof']:.2f}" for name in ("numpy", "duckdb")),
    ]


def main() -> None:
    """Make the blocks, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=3_000_000, help="how many (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    known = blocks(arguments.blocks)
    table = Table(title=f"{arguments.blocks:,} blocks, medians of {arguments.rounds} in ms of processor time")
    others = ("numpy", "DuckDB")
    figures = ("skipped", "skipproof", "lookup", *others, *(f"{other} / ours" for other in others))
    headings = ("source", "asked for", *figures)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in figures else "left")
    for source in SOURCES:
        for name, count in ASKED.items():
            asked = list(range(5, DISTINCT, DISTINCT // count))[:count]
            table.add_row(source, name, *compare(known, source, asked, arguments.rounds))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
