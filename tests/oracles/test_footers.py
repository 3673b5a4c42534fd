"""A footer that is read and written keeps what nobody here knows; what is none is refused in a sentence."""

import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from known_files import facts, table, written
from needs import CORPUS, needs_corpus

from oracles.files import counterfactual_files, footers
from oracles.files.footers import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STRUCT,
    TRUE,
    UUID,
    InFile,
    Malformed,
)

FOREIGN = sorted(CORPUS.glob("*.par*"))


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return written(tmp_path / "original.parquet")


def test_kinds_that_older_readers_do_not_know_survive() -> None:
    strange: footers.Struct = {
        0: (I32, 5), 1: (UUID, bytes(range(16))), 2: (LIST, (UUID, [bytes(16)] * 20)),
        17: (LIST, (BYTE, [b"x"] * 14)), 33: (LIST, (BYTE, [b"x"] * 15)),
    }  # fmt: skip
    raw = footers.encode_struct(strange)
    assert footers.decode_struct(raw) == (strange, len(raw))


def test_unknown_fields_survive(original: Path, tmp_path: Path) -> None:
    unknown: footers.Struct = {
        100: (BYTE, b"\x80"), 101: (TRUE, True), 102: (FALSE, False), 103: (I32, -(2**31)),
        104: (I64, 2**63 - 1), 105: (DOUBLE, b"\0\0\0\0\0\0\xf8\xff"), 106: (BINARY, b"\xff" * 200),
        108: (LIST, (TRUE, [b"\1", b"\2"])),
        109: (LIST, (I32, list(range(-9, 9)))), 110: (SET, (BINARY, [b"x"])),
        111: (MAP, (BINARY, STRUCT, [(b"k", {1: (I64, 0)})])), 112: (MAP, (0, 0, [])),
        400: (LIST, (STRUCT, [{}])), 30_000: (STRUCT, {-1: (I64, -1)}),
    }  # fmt: skip
    body, footer = footers.read_footer(original)
    footer.update(unknown)
    for chunks in footers.chunks_of(footer):
        footers.meta_of(chunks[0]).update(unknown)
    path = tmp_path / "unknown.parquet"
    path.write_bytes(footers.join_file(body, footer))
    assert footers.read_footer(path) == (body, footer)
    assert pq.read_table(path).equals(table())
    assert facts(path) == facts(original)
    stripped = footers.read_footer(counterfactual_files.write_stripped(path, tmp_path / "stripped.parquet"))[
        1
    ]
    assert {field: stripped[field] for field in unknown} == unknown


@pytest.mark.parametrize("writer", ["pyarrow", "duckdb"])
def test_a_footer_is_written_as_it_was_read(original: Path, tmp_path: Path, writer: str) -> None:
    if writer == "duckdb":
        path = tmp_path / "duckdb.parquet"
        duckdb.sql(f"COPY (FROM '{original}') TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
        original = path
    data = original.read_bytes()
    assert footers.join_file(*footers.split_file(data)) == data


@needs_corpus
@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.name)
def test_a_foreign_footer_keeps_its_meaning(path: Path) -> None:
    body, footer = footers.read_footer(path)
    data = footers.join_file(body, footer)
    assert footers.split_file(data) == (body, footer)
    assert pq.read_metadata(pa.BufferReader(data)).equals(pq.read_metadata(path))


def _parts(path: Path) -> tuple[bytes, bytes]:
    """A file's bytes before its footer, and the footer's."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - size], data[-8 - size : -8]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: b"", "it is no Parquet file: it does not start with PAR1"),
        (lambda data: b"a,b\n1,2\n" * 9, "it is no Parquet file: it does not start with PAR1"),
        (lambda data: b"PAR1", "it is truncated: it starts with PAR1 but does not end with it"),
        (lambda data: data[:-1], "it is truncated: it starts with PAR1 but does not end with it"),
        (lambda data: data[:-4] + b"PARE", "the footer is encrypted"),
        (lambda data: data[:-8] + b"\xff\xff\xff\x7fPAR1", "it claims a footer of 2147483647 bytes"),
        (lambda data: data[:-8] + b"\x00\x00\x00\x00PAR1", "it ends early: 1 bytes are due at offset 0 of 0"),
        (lambda data: data[:4] + data[-8:], "it claims a footer of"),
        (lambda data: b"PAR1\x00\x00\x02\x00\x00\x00PAR1", "1 bytes stand between the footer and its length"),
    ],
)
def test_what_is_no_footer_is_refused_in_a_sentence(
    original: Path, tmp_path: Path, spoil: Callable[[bytes], bytes], sentence: str
) -> None:
    path = tmp_path / "spoilt.parquet"
    path.write_bytes(spoil(original.read_bytes()))
    with pytest.raises(Malformed) as caught:
        counterfactual_files.write_stripped(path, tmp_path / "stripped.parquet")
    assert str(caught.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(caught.value)


def test_encrypted_columns_are_refused(original: Path) -> None:
    body, footer = footers.read_footer(original)
    data = footers.join_file(body, {**footer, InFile.ENCRYPTION: (STRUCT, {})})
    with pytest.raises(Malformed, match="columns of it are encrypted"):
        footers.split_file(data)


def test_a_footer_that_ends_early_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path, store_schema=False)
    _, raw = _parts(path)
    for size in range(len(raw)):
        with pytest.raises(Malformed):
            footers.decode_struct(raw[:size])


def test_a_damaged_footer_is_read_or_refused(original: Path) -> None:
    _, raw = _parts(original)
    drawn, refused = random.Random("footers/damage"), 0
    for _ in range(500):
        damaged = bytearray(raw)
        damaged[drawn.randrange(len(raw))] = drawn.randrange(256)
        try:
            footers.encode_struct(footers.decode_struct(bytes(damaged))[0])
        except Malformed:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"\x1c" * 99_999, "lie over 64 deep"),
        (b"\x19" * 99_999, "lie over 64 deep"),
        (b"\x19\xfc\xff\xff\xff\xff\x0f", "ends early"),
        (b"\x19\xf0\xff\xff\xff\xff\x0f", "there is no kind 0"),
        (b"\x16" + b"\xff" * 20, "a number of over 10 bytes"),
        (b"\x16\x02\x06\x02\x04\x00", "field 1 stands twice"),
        (b"\x1e\x00", "there is no kind 14"),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused(raw: bytes, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        footers.decode_struct(raw)
