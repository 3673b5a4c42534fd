"""A footer is read exactly, or refused with one sentence that names the file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewriting import BINARY, CHUNKS, META, ROW_GROUPS, rewrite

from pruning.errors import InputError
from pruning.metadata.files.locations import locate, path_below
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.footers.thrift_layout import Malformed, parse
from pruning.metadata.store.collecting import collect, read_blocks


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five rows in three row groups, with a nested column between two flat ones."""
    path = tmp_path_factory.mktemp("data") / "some name.parquet"
    table = pa.table({"a": [1, 2, 3, 4, None], "n": [[1]] * 5, "s": ["v", "w", "x", "y", "z"]})
    pq.write_table(table, path, row_group_size=2)
    return path


def test_locators_agree_with_what_pyarrow_reads(file: Path) -> None:
    """Offsets, sizes and counts of each row group, whatever columns are left out."""
    footer = pq.read_metadata(file)
    groups = [footer.row_group(ordinal) for ordinal in range(3)]
    chunks = [[group.column(place) for place in range(3)] for group in groups]
    table = collect(file, cache=False)
    assert table["row_group"].to_pylist() == [0, 1, 2]
    assert table["row_offset"].to_pylist() == [0, 2, 4]
    assert table["row_count"].to_pylist() == [group.num_rows for group in groups]
    assert table["byte_count"].to_pylist() == [sum(c.total_compressed_size for c in cs) for cs in chunks]
    assert table["byte_offset"].to_pylist() == [
        min(c.dictionary_page_offset or c.data_page_offset for c in cs) for cs in chunks
    ]
    assert table["columns"].to_pylist()[2]["s"]["byte_count"] == chunks[2][2].total_compressed_size


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a complete Parquet file"),
        (b"PAR1", "not a complete Parquet file"),
        (b"id,name\n1,x\n", "not a complete Parquet file"),
        (b"PAR1" + b"\0" * 30 + (9).to_bytes(4, "little") + b"PARE", "encrypted"),
        (b"PAR1" + b"\0" * 30 + (2**31).to_bytes(4, "little") + b"PAR1", "claims a footer of"),
        (b"PAR1" + b"\0" * 30 + (9).to_bytes(4, "little") + b"PAR1", "damaged"),
    ],
)
def test_what_is_no_parquet_file_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    """One sentence: the file, what is wrong, what to do."""
    path = tmp_path / "odd.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as refused:
        read_footer(str(path))
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    """As read_footer sees them; collect says so earlier."""
    for path in (tmp_path / "absent.parquet", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_footer(str(path))


def test_a_truncated_file_is_refused(file: Path, tmp_path: Path) -> None:
    """Cut anywhere, it no longer ends as it must."""
    data = file.read_bytes()
    for size in range(0, len(data), 97):
        cut = tmp_path / "cut.parquet"
        cut.write_bytes(data[:size])
        with pytest.raises(InputError):
            read_footer(str(cut))


def test_chunks_kept_in_other_files_are_refused(file: Path, tmp_path: Path) -> None:
    """Statistics would be of data that is not here."""
    copy = tmp_path / "summary.parquet"
    copy.write_bytes(file.read_bytes())
    rewrite(
        copy,
        lambda footer: footer[ROW_GROUPS][1][1][0][CHUNKS][1][1][0].update({1: (BINARY, b"other.parquet")}),
    )
    with pytest.raises(InputError, match="in other files"):
        read_footer(str(copy))


def test_encrypted_columns_are_refused(file: Path, tmp_path: Path) -> None:
    """A readable footer may still hide a column's metadata."""
    copy = tmp_path / "hidden.parquet"
    copy.write_bytes(file.read_bytes())
    rewrite(copy, lambda footer: footer[ROW_GROUPS][1][1][0][CHUNKS][1][1][0].pop(META))
    with pytest.raises(InputError, match="encrypted columns"):
        read_footer(str(copy))


def test_a_footer_longer_than_one_request_is_read_whole(tmp_path: Path) -> None:
    """Wide and deep enough to exceed what is fetched first."""
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({f"c{n}": range(200) for n in range(10)}), path, row_group_size=1)
    assert pq.read_metadata(path).serialized_size > 64 * 1024
    assert len(collect(path, cache=False)) == 200


@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_damaged_footer_never_escapes_its_two_outcomes(
    tmp_path_factory: pytest.TempPathFactory, file: Path, place: float, byte: int
) -> None:
    """Any byte replaced by any other: a table that is valid, or one sentence."""
    data = bytearray(file.read_bytes())
    length = int.from_bytes(data[-8:-4], "little")
    data[len(data) - 8 - length + int(place * length)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.parquet"
    path.write_bytes(data)
    table, failures, _ = read_blocks([str(path)])
    table.validate(full=True)
    assert len(failures) == 1 or not failures


@pytest.mark.parametrize(
    "raw", [b"\x49\xfc" + b"\xff" * 8 + b"\x01", b"\x19\xf0" + b"\xff" * 8 + b"\x01", b"\xcb\xff\xff\x03\x00"]
)
def test_a_collection_longer_than_its_bytes_is_refused_at_once(raw: bytes) -> None:
    """Otherwise a length of 2**63 would be counted down."""
    with pytest.raises(Malformed):
        parse(raw)


def test_a_uri_leads_to_its_file_with_escapes_undone(file: Path) -> None:
    """As Spark and Hadoop print them, and as users type them."""
    escaped = str(file).replace(" ", "%20")
    for spelled in (f"file:{escaped}", f"file://{escaped}", f"file://localhost{escaped}", str(file)):
        table = collect(spelled, cache=False)
        assert table["file"].to_pylist() == [spelled] * 3


def test_a_plain_path_has_no_escapes(tmp_path: Path, file: Path) -> None:
    """A percent sign in a path is one."""
    odd = tmp_path / "a%20b.parquet"
    odd.write_bytes(file.read_bytes())
    assert len(collect(odd, cache=False)) == 3
    assert len(collect(f"file:{odd}".replace("%", "%25"), cache=False)) == 3


def test_an_address_that_no_file_system_serves_is_refused() -> None:
    """By the name the user gave."""
    with pytest.raises(InputError, match=r"^nowhere://host/x: no file system"):
        locate("nowhere://host/x")
    with pytest.raises(InputError, match=r"^file://host/x: names the host 'host'"):
        locate("file://host/x")


def test_an_s3_address_leads_to_its_bucket_and_key() -> None:
    """Hadoop's scheme too; the query goes to the client, and stays last in the files' names."""
    address = "s3a://bucket/some%20dir?region=eu-west-1"
    system, path = locate(address)
    assert (system.type_name, path) == ("s3", "bucket/some dir")
    assert path_below(address, "a b.parquet") == "s3a://bucket/some%20dir/a%20b.parquet?region=eu-west-1"
