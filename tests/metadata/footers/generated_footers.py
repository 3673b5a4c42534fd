"""Footers of files that do not exist, drawn from a seed: many writers, types and wrong statistics."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from typing import Any

from reference_beliefs import (
    CONVERTED,
    LOGICAL,
    MAX,
    MAX_EXACT,
    MAX_VALUE,
    MIN,
    MIN_EXACT,
    MIN_VALUE,
    NULL_COUNT,
    PRECISION,
    SCALE,
    SchemaColumn,
)

from oracles.files.footers import (
    BINARY,
    BYTE,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    Field,
    InChunk,
    InElement,
    InFile,
    InGroup,
    InMeta,
    Struct,
    encode_struct,
)
from pruning.expressions.names import field_name, leaf_name

WRITERS: tuple[bytes | None, ...] = (
    b"parquet-mr version 1.8.1 (build 4aba4da)",
    b"parquet-mr version 1.10.0 (build 031a665)",
    b"parquet-mr version 1.10.0-SNAPSHOT",
    b"parquet-mr version 1.13.1 (build db41831)",
    b"parquet-mr",
    b"parquet-cpp version 1.3.0",
    b"parquet-cpp version 1.5.1-SNAPSHOT",
    b"parquet-cpp-arrow version 5.0.0",
    b"parquet-cpp-arrow version 6.0.0-SNAPSHOT",
    b"parquet-cpp-arrow version 21.0.0",
    b"parquet-rs version 4.0.0",
    b"parquet-rs version 5.1.9",
    b"parquet-rs version 55.1.0",
    b"impala version 2.9.0 (build 2bb4e8c)",
    b"impala version 3.0.0",
    b"Polars",
    b"Arrow2 - Native Rust implementation of Arrow",
    b"hyparquet",
    b"DuckDB version v1.4.4 (build 6ddac802ff)",
    b"123",
    b"\xff",
    None,
)
_SPARK, _LEGACY = b"org.apache.spark.version", b"org.apache.spark.legacyDateTime"
KEYS: tuple[dict[bytes, bytes], ...] = (
    {},
    {b"ARROW:schema": b"x" * 40},
    {_SPARK: b"2.4.8"},
    {_SPARK: b"4.3.0"},
    {_SPARK: b"4.3.0", b"other": b""},
    {_SPARK: b"3.0.0", _LEGACY: b""},
)

_INT32S = [-(2**31), -200_000, -141_428, -141_427, -32_769, -129, -1, 0, 5, 127, 128, 256, 65_536, 2**31 - 1]
_OLD = -2_208_988_800_000_000
_INT64S = [
    -(2**63), -(2**63) // 1000, -(2**63) // 1000 + 1, 5 * _OLD, _OLD - 1, _OLD, _OLD + 86_400_000_000 - 1,
    _OLD + 86_400_000_000, _OLD // 1000 - 1, _OLD // 1000, -1, 0, 9, 10**18 - 1, 10**18, 2**63 // 1000,
    2**63 // 1000 + 1, 2**63 - 1,
]  # fmt: skip
_FLOATS = [float("-inf"), -2.5, -0.0, 0.0, 1.5, float("inf"), float("nan")]
_TEXTS = [
    b"", b"\0\0\0\0", b"\1\0\0\0a", b"a", b"aa", b"a" * 200, b"abcd", b"b", b"\x7f", b"\xc3\xa9",
    b"\xed\xa0\x80", b"\xff", b"\xff\xff\xff\xff\xff",
]  # fmt: skip
_UNSCALED = [
    -(10**38), 1 - 10**38, -(10**20), -(10**9), -1000, -1, 0, 1, 999, 1000, 10**9 - 1, 10**9, 10**10,
    10**38 - 1, 10**38,
]  # fmt: skip


def _fixed_size(numbers: list[int], size: int) -> list[bytes]:
    limit = 1 << (8 * size - 1)
    return [number.to_bytes(size, "big", signed=True) for number in numbers if -limit <= number < limit]


def _least_size(numbers: list[int]) -> list[bytes]:
    return [number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True) for number in numbers]


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """A type of columns: the fields of its schema element, and the bytes of bounds, mostly ascending."""

    element: Struct
    bounds: list[bytes]


def _kind(physical: int, bounds: list[bytes], length: int | None = None, **fields: Any) -> ColumnKind:
    element: Struct = {InElement.TYPE: (I32, physical)}
    if length is not None:
        element[InElement.LENGTH] = (I32, length)
    numbers = {"converted": CONVERTED, "scale": SCALE, "precision": PRECISION}
    element |= {numbers[name]: (I32, value) for name, value in fields.items() if name in numbers}
    if "logical" in fields:
        element[LOGICAL] = (STRUCT, fields["logical"])
    return ColumnKind(element, bounds)


def _logical_integer(bits: int, signed: bool) -> Struct:
    return {10: (STRUCT, {1: (BYTE, bytes([bits])), 2: (TRUE, signed)})}


def _logical_instant(unit: int, utc: bool) -> Struct:
    return {8: (STRUCT, {1: (TRUE, utc), 2: (STRUCT, {unit: (STRUCT, {})})})}


_4 = [struct.pack("<i", number) for number in _INT32S]
_8 = [struct.pack("<q", number) for number in _INT64S]
_DECIMAL: Struct = {5: (STRUCT, {1: (I32, 2), 2: (I32, 9)})}
KINDS: dict[str, ColumnKind] = {
    "boolean": _kind(0, [b"\0", b"\1", b"\2"]),
    "int8": _kind(1, _4, converted=15),
    "int16": _kind(1, _4, logical=_logical_integer(16, True)),
    "int32": _kind(1, _4),
    "uint8": _kind(1, _4, converted=11),
    "uint16": _kind(1, _4, logical=_logical_integer(16, False)),
    "uint32": _kind(1, _4, converted=13, logical=_logical_integer(32, False)),
    "date": _kind(1, _4, converted=6),
    "int64": _kind(2, _8),
    "uint64": _kind(2, _8, converted=14),
    "micros": _kind(2, _8, logical=_logical_instant(2, True)),
    "local micros": _kind(2, _8, logical=_logical_instant(2, False)),
    "millis": _kind(2, _8, converted=9),
    "nanos": _kind(2, _8, logical=_logical_instant(3, True)),
    "int96": _kind(3, [bytes(12), b"\1" * 12]),
    "float": _kind(4, [struct.pack("<f", number) for number in _FLOATS]),
    "double": _kind(5, [struct.pack("<d", number) for number in _FLOATS]),
    "bytes": _kind(6, _TEXTS),
    "text": _kind(6, _TEXTS, converted=0),
    "json": _kind(6, _TEXTS, logical={12: (STRUCT, {})}),
    "fixed": _kind(7, [b"\0\0\0\0\0", b"\1\0\0\0a", b"aaaaa", b"\xff" * 5], 5),
    "decimal of int32": _kind(1, _4, converted=5, scale=2, precision=9),
    "decimal of int64": _kind(2, _8, converted=5, precision=18),
    "decimal of 4": _kind(7, _fixed_size(_UNSCALED, 4), 4, logical=_DECIMAL),
    "decimal of 16": _kind(7, _fixed_size(_UNSCALED, 16), 16, converted=5, scale=10, precision=38),
    "decimal of 20": _kind(7, _fixed_size(_UNSCALED, 20), 20, converted=5, scale=0, precision=38),
    "decimal of bytes": _kind(6, _least_size(_UNSCALED), converted=5, scale=1, precision=10),
    "decimal too wide": _kind(1, _4, converted=5, scale=2, precision=12),
    "half": _kind(7, [b"\0\0"], 2, logical={15: (STRUCT, {})}),
}
_ODD_BYTES = [b"", b"\0", b"\1\0", b"\0\0\0", b"\xff" * 4, b"\xff" * 8, b"\x80" + bytes(15), b"\x7f" * 17]
_LAKE_FILES = 15
SHAPES = ("optional", "optional", "required", "field", "element")


@dataclass(frozen=True, slots=True)
class GeneratedFooter:
    """A footer: its columns, its structure, and its bytes."""

    columns: tuple[SchemaColumn, ...]
    struct: Struct
    raw: bytes


def generated_footers(seed: str, count: int) -> Iterator[GeneratedFooter]:
    """Draw footers; those of one lake share a few schemas and writers."""
    random = Random(seed)
    writers_in_turn = cycle(random.sample(WRITERS, len(WRITERS)))
    while count > 0:
        lake = [_schema(random) for _ in range(2)]
        writers, keys = list(islice(writers_in_turn, 3)), random.choice(KEYS)
        for _ in range(min(count, _LAKE_FILES)):
            yield _footer(random, random.choice(lake), random.choice(writers), keys)
        count -= _LAKE_FILES


def _schema(random: Random) -> list[tuple[str, str]]:
    """Draw the kinds and shapes of the columns of a file; none occurs twice."""
    count = random.choice((1, 2, 3, 4, 6, 18))
    columns = [(random.choice([*KINDS]), random.choice(SHAPES)) for _ in range(count)]
    return list(dict.fromkeys(columns))


def _footer(
    random: Random, schema: list[tuple[str, str]], writer: bytes | None, keys: dict[bytes, bytes]
) -> GeneratedFooter:
    orders = random.choice((*["all"] * 9, "none", "short", "other"))
    columns, elements = _columns(schema, ordered=orders == "all")
    groups = [_group(random, columns) for _ in range(random.choice((0, *[1, 2, 2] * 9, 3, 17)))]
    footer: Struct = {
        1: (I32, 2),
        InFile.SCHEMA: _structs(elements),
        InFile.ROWS: (I64, random.randrange(1 << 20)),
        InFile.ROW_GROUPS: _structs(groups),
    }
    if keys or random.random() < 0.5:
        entries = [{1: (BINARY, key), 2: (BINARY, value)} for key, value in keys.items()]
        footer[InFile.KEYS] = _structs(entries)
    if writer is not None:
        footer[InFile.CREATED_BY] = (BINARY, writer)
    if orders != "none":
        order = 1 if orders != "other" else 2
        count = len(columns) - (orders == "short")
        footer[InFile.COLUMN_ORDERS] = _structs([{order: (STRUCT, {})} for _ in range(count)])
    return GeneratedFooter(columns, footer, encode_struct(footer))


def _structs(structs: list[Struct]) -> Field:
    return LIST, (STRUCT, structs)


def _columns(
    schema: list[tuple[str, str]], *, ordered: bool
) -> tuple[tuple[SchemaColumn, ...], list[Struct]]:
    """Return the columns of a schema, and its elements."""
    elements: list[Struct] = [{InElement.NAME: (BINARY, b"root"), InElement.CHILDREN: (I32, len(schema))}]
    columns = []
    for chunk, (kind, shape) in enumerate(schema):
        top, element = f"{kind} {shape}", KINDS[kind].element
        path: tuple[str, ...] = (top,)
        if shape == "field":
            name, path = field_name((top, "y")), (top, "y")
            elements += [_inner(top, 1), _leaf(element, "y", 1)]
        elif shape == "element":
            name, path = leaf_name(top, ()), (top, "list", "element")
            elements += [_inner(top, 1, converted=3), _inner("list", 2), _leaf(element, "element", 1)]
        else:
            name = top
            elements.append(_leaf(element, top, 0 if shape == "required" else 1))
        columns.append(
            SchemaColumn(
                name=name,
                chunk=chunk,
                element=elements[-1],
                path=tuple(part.encode() for part in path),
                ordered=ordered,
                required=shape == "required",
                inherits=shape in ("field", "element"),
                repeated=shape == "element",
            )
        )
    return tuple(columns), elements


def _inner(name: str, repetition: int, converted: int | None = None) -> Struct:
    element: Struct = {
        InElement.REPETITION: (I32, repetition),
        InElement.NAME: (BINARY, name.encode()),
        InElement.CHILDREN: (I32, 1),
    }
    return element if converted is None else element | {CONVERTED: (I32, converted)}


def _leaf(element: Struct, name: str, repetition: int) -> Struct:
    return element | {InElement.REPETITION: (I32, repetition), InElement.NAME: (BINARY, name.encode())}


def _group(random: Random, columns: tuple[SchemaColumn, ...]) -> Struct:
    rows = random.choice((0, 1, 3, 3, 40, 1 << 33))
    group: Struct = {
        InGroup.CHUNKS: _structs([_chunk(random, column, rows) for column in columns]),
        InGroup.SIZE: (I64, random.randrange(1 << 30)),
        InGroup.ROWS: (I64, rows),
    }
    if random.random() < 0.3:
        group[InGroup.SORTING] = _structs([{1: (I32, 0), 2: (TRUE, True), 3: (TRUE, False)}])
    if random.random() < 0.5:
        group |= {InGroup.OFFSET: (I64, 4), InGroup.COMPRESSED: (I64, 1 << 20), 7: (4, 1)}
    return group


def _chunk(random: Random, column: SchemaColumn, rows: int) -> Struct:
    kind = KINDS[column.path[0].decode().rpartition(" ")[0]]
    path, type_ = list(column.path), column.element[InElement.TYPE]
    if len(path) > 1 and random.random() < 0.02:
        # A nested column that disagrees with the schema is left out.
        path, type_ = random.choice(((path[:1], type_), ([*path[:-1], b"z"], type_), (path, (I32, 3))))
    meta: Struct = {
        InMeta.TYPE: type_,
        2: (LIST, (I32, [0, 3, 8][: random.randrange(4)])),
        InMeta.PATH: (LIST, (BINARY, path)),
        4: (I32, 1),
        InMeta.VALUES: (I64, _mostly(random, rows, (rows + 1, max(0, rows - 1), 0, -1))),
        InMeta.UNCOMPRESSED: (I64, 1 << 20),
        InMeta.COMPRESSED: (I64, _mostly(random, random.randrange(1 << 21), (0, *[-5] * 30, 1 << 62))),
        InMeta.DATA_PAGE: (I64, _mostly(random, random.randrange(4, 1 << 34), (0, -1))),
    }
    if random.random() < 0.5:
        meta[InMeta.DICTIONARY_PAGE] = (I64, _mostly(random, random.randrange(4, 1 << 34), (0, -1)))
    if random.random() < 0.9:
        meta[InMeta.STATISTICS] = (STRUCT, _statistics(random, kind, rows))
    if random.random() < 0.5:
        meta[13] = _structs([{1: (I32, 0), 2: (I32, 3), 3: (I32, 1)}] * random.randrange(4))
    if random.random() < 0.2:
        meta[14] = (I64, 99)
    if random.random() < 0.3:
        meta[16] = (STRUCT, {1: (I64, 7), 2: (LIST, (I64, [3, 4])), 3: (LIST, (I64, [1, 2, 300]))})
    chunk: Struct = {InChunk.FILE_OFFSET: (I64, random.choice((0, 4, 1 << 30))), InChunk.META: (STRUCT, meta)}
    if random.random() < 0.3:
        chunk |= {4: (I64, 1 << 33), 5: (I32, 12), 6: (I64, 1 << 34), 7: (I32, 13)}
    if random.random() < 0.002:
        # A field of a later version of the format, whose number has a long header.
        chunk[40] = (BINARY, b"later")
    return chunk


def _mostly(random: Random, usual: int, others: tuple[int, ...]) -> int:
    return usual if random.random() < 0.95 else random.choice(others)


def _statistics(random: Random, kind: ColumnKind, rows: int) -> Struct:
    """Draw statistics: half of them as they should be, the others with any bounds and counts."""
    places = sorted(random.randrange(len(kind.bounds)) for _ in range(2))
    lower, upper = (kind.bounds[place] for place in places)
    stated: Struct = {
        NULL_COUNT: (I64, random.choice((0, 0, min(rows, 1)))),
        MIN_VALUE: (BINARY, lower),
        MAX_VALUE: (BINARY, upper),
    }
    if random.random() < 0.4:
        stated |= {MIN_EXACT: (TRUE, random.random() < 0.7), MAX_EXACT: (TRUE, random.random() < 0.7)}
    if random.random() < 0.3:
        stated |= {MIN: (BINARY, lower), MAX: (BINARY, upper)}
    if random.random() < 0.5:
        return stated
    for field in random.sample((MIN, MAX, MIN_VALUE, MAX_VALUE), 2):
        stated[field] = (BINARY, random.choice((*kind.bounds, *kind.bounds, *_ODD_BYTES)))
    for field in random.sample((*stated,), random.randrange(3)):
        del stated[field]
    if random.random() < 0.4:
        stated[NULL_COUNT] = (I64, random.choice((-1, 1, rows, rows, rows + 1)))
    if random.random() < 0.003:
        # So large a number is not of the form that is read at once.
        stated[NULL_COUNT] = (I64, random.choice((1 << 62, -(1 << 63))))
    return stated
