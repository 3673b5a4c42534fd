"""Filters that are not believed, values as files store them, and mutants that lose one."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from filtered_files import GROUP_ROWS, filtered, metadata_of, sample, written
from looking_up import denied_in_files
from rewriting import CHUNKS, I64, META, ROW_GROUPS, rewrite

from mutants.file_filters import ONE_ZERO, SIGNED_FOR_UNSIGNED, WIDER_TYPE, always_at
from pruning.expressions import types
from pruning.expressions.types import Type, Value
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.footers.physical_types import Physical
from pruning.metadata.index import file_filters
from pruning.metadata.index.block_values import indexable_columns
from pruning.metadata.index.encodings import Encoding, encoding_of, own_encoding, parse_encoding
from pruning.metadata.index.file_filters import DOUBTS
from pruning.metadata.table.memberships import FIELD

FILTER_OFFSET = 14


def _evidence(path: Path, **changes: Any) -> file_filters.FilterEvidence:
    """What speaks for a sound filter, but for the changes."""
    footer = read_footer(str(path))
    column = indexable_columns(footer, None)["x"]
    offset = footer.row_groups[0].chunks[0].filter_offset
    with open(path, "rb") as data, pa.PythonFile(data) as handle:
        header, bits = file_filters._read_filter(handle, offset)
    sound = {
        "column": column, "bounded": True, "shared": False, "header": header, "bits": bits, "values": 50,
        "encoding": encoding_of(column.leaf.element, column.storage, rebased=False),
    }  # fmt: skip
    return file_filters.FilterEvidence(**{**sound, **changes})


class _Header:
    """A header with other contents."""

    def __init__(self, header: Any, **changes: Any) -> None:
        for name in ("numBytes", "algorithm", "hash", "compression"):
            setattr(self, name, changes.get(name, getattr(header, name)))


def doubted(name: str, path: Path) -> file_filters.FilterEvidence:
    """Evidence that only the doubt of this name speaks against."""
    header = _evidence(path).header
    narrow = indexable_columns(
        read_footer(str(written(path.with_name("narrow.parquet"), sample("int8", 0)))), None
    )["x"]
    changes: dict[str, dict[str, Any]] = {
        "no header": {"header": None},
        "another algorithm": {"header": _Header(header, hash=None)},
        "not whole": {"bits": b"\1" * 16},
        "no one encoding": {"encoding": None},
        "shared filter": {"shared": True},
        "empty filter": {"bits": bytes(header.numBytes)},
        "numbers outside of the type": {"column": narrow, "bounded": False},
    }
    return _evidence(path, **changes[name])


@pytest.mark.parametrize("name", [doubt.name for doubt in DOUBTS])
def test_each_doubt_takes_a_filter_away(name: str, tmp_path: Path) -> None:
    """Alone, so that each is needed."""
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    assert file_filters.believed_filter(_evidence(path)) is not None
    evidence = doubted(name, path)
    assert [doubt.name for doubt in DOUBTS if doubt.applies(evidence)] == [name]
    assert file_filters.believed_filter(evidence) is None


def _chunk(footer: dict[int, Any], row_group: int) -> dict[int, Any]:
    return footer[ROW_GROUPS][1][1][row_group][CHUNKS][1][1][0][META][1]


@pytest.mark.parametrize("offset", [4, 10**6, 2**62, 0, -5])
def test_an_offset_that_leads_to_no_filter_denies_nothing(offset: int, tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    rewrite(path, lambda footer: _chunk(footer, 0).__setitem__(FILTER_OFFSET, (I64, offset)))
    assert filtered(metadata_of(path)) == [False]


def test_a_filter_that_two_row_groups_claim_is_believed_of_neither(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    first = read_footer(str(path)).row_groups[0].chunks[0].filter_offset
    rewrite(path, lambda footer: _chunk(footer, 1).__setitem__(FILTER_OFFSET, (I64, first)))
    assert filtered(metadata_of(path)) == [False, False]


def test_the_length_that_a_footer_gives_is_not_looked_at(tmp_path: Path) -> None:
    """Some writers count the filter's header, some do not."""
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    for length in (0, 1, 10**9):
        rewrite(path, lambda footer, length=length: _chunk(footer, 0).__setitem__(15, (5, length)))
        assert filtered(metadata_of(path)) == [True, True]
        assert denied_in_files(metadata_of(path), "x") == []


ENCODINGS: list[tuple[Encoding, Type, Value, Any]] = [
    (Encoding(physical=Physical.INT32), types.INTEGER, -1, (b"\xff\xff\xff\xff",)),
    (Encoding(physical=Physical.INT32), types.LONG, 2**32 - 1, (b"\xff\xff\xff\xff",)),
    (Encoding(physical=Physical.INT32), types.LONG, 2**32, ()),
    (Encoding(physical=Physical.INT64), types.decimal(20, 0), Decimal(2**64 - 1), (b"\xff" * 8,)),
    (Encoding(physical=Physical.INT64), types.decimal(20, 0), Decimal(2**64), ()),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, 5_000, (b"\5" + bytes(7),)),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, 5_001, ()),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, -1_000, (b"\xff" * 8,)),
    (Encoding(physical=Physical.INT32, rebased=True), types.DATE, -141_428, None),
    (Encoding(physical=Physical.INT32, rebased=True), types.DATE, 0, (bytes(4),)),
    (Encoding(physical=Physical.INT64, rebased=True), types.TIMESTAMP, -2_208_988_800_000_000, None),
    (
        Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2),
        types.decimal(4, 2),
        Decimal("-0.01"),
        (b"\xff\xff",),
    ),
    (
        Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=1),
        types.decimal(4, 2),
        Decimal("12.80"),
        (),
    ),
    (Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2), types.BINARY, b"abc", ()),
    (Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2), types.BINARY, b"ab", (b"ab",)),
    (Encoding(physical=Physical.FLOAT), types.FLOAT, -0.0, (bytes(4), b"\0\0\0\x80")),
    (Encoding(physical=Physical.BYTE_ARRAY), types.STRING, b"a", (b"a",)),
]


@pytest.mark.parametrize(("encoding", "type_", "value", "expected"), ENCODINGS)
def test_values_are_encoded_as_the_file_stores_them(
    encoding: Encoding, type_: Type, value: Value, expected: Any
) -> None:
    assert encoding.of(value, type_) == expected
    assert parse_encoding(encoding.name) == encoding


def test_the_name_of_an_encoding_that_is_not_known_names_none() -> None:
    assert own_encoding(types.BOOLEAN) is None
    for text in ("INT32", "INT31 0 1 0", "", "INT32 0 1 0 x"):
        assert parse_encoding(text) is None


def loses(path: Path) -> bool:
    metadata = metadata_of(path)
    return FIELD in metadata.schema.names and denied_in_files(metadata, "x") != []


def test_a_hash_of_the_widened_type_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    assert not loses(path)
    monkeypatch.setattr(*WIDER_TYPE)
    assert loses(path)


def test_the_filter_of_another_row_group_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    assert not loses(path)
    first = read_footer(str(path)).row_groups[0].chunks[0].filter_offset
    monkeypatch.setattr(*always_at(first))
    assert loses(path)


def test_probing_one_zero_only_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", pa.array([-0.0, 1.0]), pa.array([0.0, 2.0]))
    assert not loses(path)
    monkeypatch.setattr(*ONE_ZERO)
    assert loses(path)


def test_milliseconds_taken_for_microseconds_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "x.parquet", sample("ms", 0))
    assert not loses(path)
    monkeypatch.setattr(*WIDER_TYPE)
    assert loses(path)


def test_unsigned_numbers_taken_for_signed_ones_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "x.parquet", sample("uint32", 0))
    assert not loses(path)
    monkeypatch.setattr(*SIGNED_FOR_UNSIGNED)
    assert loses(path)
