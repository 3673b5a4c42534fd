"""Tables of Iceberg that cannot be read are refused in one sentence, and never with another error."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handmade_tables import HandmadeTable, column, vector_bytes
from version_rows import live_rows, problem_of_blocks

from pruning.errors import InputError
from pruning.metadata.iceberg.deleted_positions import read_vector
from pruning.metadata.iceberg.opening import open_iceberg_version

FIELDS = [column(1, "id", "long"), column(2, "x", "double")]
ROWS = [{"id": 1, "x": 1.0}, {"id": 2, "x": 2.0}]


@pytest.fixture
def table(tmp_path: Path) -> HandmadeTable:
    """A table with one data file of two rows."""
    table = HandmadeTable(tmp_path / "table", FIELDS, format_version=3)
    table.commit(table.data(ROWS))
    return table


def refusal(table: HandmadeTable, **options: Any) -> str:
    """Return the sentence with which a table is refused."""
    with pytest.raises(InputError) as raised:
        _read(table, options)
    sentence = str(raised.value)
    assert "\n" not in sentence
    return sentence


def _read(table: HandmadeTable, options: dict[str, Any]) -> None:
    version = open_iceberg_version(str(table.folder), **options)
    version.deleted_rows.positions(range(len(version.files.paths)))


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"format-version": 4}, "has format version 4"),
    ({"format-version": "2"}, "has format version '2'"),
    ({"encryption-keys": [{"key-id": "k"}]}, "is encrypted"),
    ({"properties": {"encryption.key-id": "k"}}, "is encrypted"),
    ({"location": None, "schemas": 5}, "no valid metadata"),
    ({"schemas": [], "current-schema-id": 0}, "no valid metadata"),
    ({"current-schema-id": 7}, "no valid metadata"),
    ({"schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1}]}]}, "no valid metadata"),
    ({"properties": {"schema.name-mapping.default": "[5]"}}, "no valid metadata"),
    ({"properties": {"schema.name-mapping.default": '[{"names": [1]}]'}}, "no valid metadata"),
    ({"partition-specs": [{"spec-id": 3, "fields": []}]}, "lacks the partition spec 0"),
    ({"partition-specs": [{"spec-id": 0, "fields": [{}]}]}, "no valid metadata"),
    ({"refs": 5}, "no valid metadata"),
    ({"snapshot-log": [{}]}, "no valid metadata"),
    ({"current-snapshot-id": 5}, "has no snapshot 5"),
    ({"snapshots": [{"snapshot-id": 1001, "manifests": []}]}, "has no manifest list"),
    (
        {"snapshots": [{"snapshot-id": 1001, "manifest-list": "/nowhere/l.avro"}]},
        "/nowhere/l.avro: cannot open",
    ),
    ({"snapshots": [{"snapshot-id": 1001, "manifest-list": "x", "key-id": "k"}]}, "is encrypted"),
]


@pytest.mark.parametrize(
    ("changes", "reason"), CHANGES, ids=lambda value: value if isinstance(value, str) else " "
)
def test_metadata_that_cannot_be_used_is_refused(
    table: HandmadeTable, changes: dict[str, Any], reason: str
) -> None:
    table.write_metadata(changes)
    assert reason in refusal(table)


@pytest.mark.parametrize(
    "type_", ["uuid", "time", "timestamp_ns", "timestamptz_ns", "variant", "unknown", "geometry(srid:0)"]
)
def test_types_that_spark_does_not_read_from_parquet_are_refused(table: HandmadeTable, type_: str) -> None:
    inner = {"type": "list", "element-id": 9, "element": type_, "element-required": False}
    for type_of_column in (type_, inner):
        fields = [*FIELDS, column(3, "odd", type_of_column)]
        table.write_metadata({"schemas": [{"type": "struct", "schema-id": 0, "fields": fields}]})
        assert f"the column 'odd' has Iceberg's type {type_!r}" in refusal(table)


@pytest.mark.parametrize("type_", ["binary", "fixed[1]", "decimal(19, 2)"])
def test_defaults_that_spark_does_not_give_are_refused(table: HandmadeTable, type_: str) -> None:
    fields = [*FIELDS, column(3, "late", type_, **{"initial-default": "00"})]
    table.write_metadata({"schemas": [{"type": "struct", "schema-id": 0, "fields": fields}]})
    assert f"the column 'late' has an initial default of Iceberg's type {type_!r}" in refusal(table)


def test_damaged_files_are_refused(table: HandmadeTable) -> None:
    newest = max((table.folder / "metadata").glob("*.json"), key=lambda path: path.stat().st_mtime)
    manifest_list = Path(json.loads(newest.read_text())["snapshots"][0]["manifest-list"])
    whole = manifest_list.read_bytes()
    manifest_list.write_bytes(whole[:-40])
    assert f"{manifest_list}: is no manifest" in refusal(table)
    manifest_list.write_bytes(b"no Avro")
    assert f"{manifest_list}: is no manifest" in refusal(table)
    newest.write_text("{")
    assert f"{newest}: is no valid metadata" in refusal(table)
    newest.write_bytes(b"\x1f\x8bno gzip")
    assert f"{newest}: cannot decompress" in refusal(table)


def test_a_folder_without_metadata_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no metadata of an Apache Iceberg table"):
        open_iceberg_version(str(tmp_path))


def test_two_files_of_the_greatest_number_are_refused(table: HandmadeTable) -> None:
    for name in ("00007-aaaa.metadata.json", "00007-bbbb.metadata.json"):
        (table.folder / "metadata" / name).write_text("{}")
    sentence = refusal(table)
    assert "00007-aaaa.metadata.json and 00007-bbbb.metadata.json" in sentence


def test_the_hint_of_a_version_is_followed_to_the_newest(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path / "t", FIELDS)
    folder = table.folder / "metadata"
    table.commit(table.data(ROWS))
    for path in folder.glob("*.metadata.json"):
        content = path.read_bytes()
        path.unlink()
    (folder / "v1.metadata.json").write_bytes(b"{}")
    (folder / "v2.gz.metadata.json").write_bytes(gzip.compress(content))
    # Left of an earlier table: its number does not follow.
    (folder / "v7.metadata.json").write_bytes(b"{}")
    (folder / "version-hint.text").write_text("1\n")
    assert len(live_rows(open_iceberg_version(str(table.folder)))) == 2


BAD_ARGUMENTS: list[dict[str, Any]] = [
    {"version": 1.5},
    {"version": True},
    {"version": [1]},
    {"timestamp_us": "2024"},
    {"timestamp_us": True},
    {"version": 1001, "timestamp_us": 1},
    {"version": ""},
    {"version": 2**70},
]


@pytest.mark.parametrize("options", BAD_ARGUMENTS, ids=str)
def test_what_names_no_version_is_refused(table: HandmadeTable, options: dict[str, Any]) -> None:
    assert refusal(table, **options)


def test_files_in_other_formats_are_refused(table: HandmadeTable) -> None:
    table.commit(replace(table.data(ROWS), format="ORC"))
    assert "is a data file in the format ORC" in refusal(table)


def test_a_file_that_was_added_twice_is_refused(table: HandmadeTable) -> None:
    table.commit(replace(table.live[0], sequence_number=None))
    assert f"{table.live[0].path}: this data file was added twice" in refusal(table)


def test_encrypted_files_are_refused(table: HandmadeTable) -> None:
    table.commit(replace(table.data(ROWS), key_metadata=b"k"))
    assert "names encrypted files" in refusal(table)


def _position_file(table: HandmadeTable) -> str:
    deletes = table.positions([(table.live[0].path, 0)])
    table.commit(replace(deletes, format="AVRO"))
    return "has deleted rows in the format AVRO"


def _far_position(table: HandmadeTable) -> str:
    table.commit(table.positions([(table.live[0].path, 2**31)]))
    return "deletes rows beyond the first 2^31"


def _no_position_file(table: HandmadeTable) -> str:
    deletes = table.data(ROWS)
    table.commit(replace(deletes, content=1, counts={}, bounds={}))
    return "is no file of deleted positions"


def _two_vectors(table: HandmadeTable) -> str:
    table.commit(table.vector(table.live[0], [0]), table.vector(table.live[0], [1]))
    return "has two deletion vectors"


def _vector_of_nothing(table: HandmadeTable) -> str:
    table.commit(replace(table.vector(table.live[0], [0]), reference=None))
    return "names no data file"


def _vector_without_a_place(table: HandmadeTable) -> str:
    table.commit(replace(table.vector(table.live[0], [0]), blob=None))
    return "the place of a deletion vector in it is unknown"


def _vector_with_another_count(table: HandmadeTable) -> str:
    table.commit(replace(table.vector(table.live[0], [0]), row_count=2))
    return "has 1 rows, and its manifest says 2"


def _values_of_no_field(table: HandmadeTable) -> str:
    table.commit(table.values([], ROWS[:1]))
    return "names no field"


def _values_in_another_format(table: HandmadeTable) -> str:
    table.commit(replace(table.values([1], ROWS[:1]), format="AVRO"))
    return "is in the format AVRO"


def _values_of_a_dropped_field(table: HandmadeTable) -> str:
    table.commit(table.values([2], ROWS[:1]))
    table.evolve(FIELDS[:1])
    table.write_metadata({})
    return "deleted by values of the field 2"


def _zero(table: HandmadeTable) -> str:
    table.commit(table.values([2], [{"x": -0.0}]))
    return "by a zero with a sign"


def _values_that_lack_a_field(table: HandmadeTable) -> str:
    table.commit(replace(table.values([1], ROWS[:1]), equality_ids=(2,)))
    return "lacks the field 2"


WRONG_DELETES: list[Callable[[HandmadeTable], str]] = [
    _position_file,
    _far_position,
    _no_position_file,
    _two_vectors,
    _vector_of_nothing,
    _vector_without_a_place,
    _vector_with_another_count,
    _values_of_no_field,
    _values_in_another_format,
    _values_of_a_dropped_field,
    _values_that_lack_a_field,
    _zero,
]


@pytest.mark.parametrize("delete", WRONG_DELETES, ids=lambda delete: delete.__name__)
def test_deletes_that_cannot_be_read_are_refused(
    table: HandmadeTable, delete: Callable[[HandmadeTable], str]
) -> None:
    reason = delete(table)
    assert reason in refusal(table)


def test_a_damaged_vector_is_refused() -> None:
    blob = vector_bytes([1, 5])
    assert list(read_vector(blob, "f")) == [1, 5]
    assert list(read_vector(vector_bytes([]), "f")) == []
    for place in range(len(blob)):
        damaged = bytearray(blob)
        damaged[place] ^= 1
        with pytest.raises(InputError, match="f: "):
            read_vector(bytes(damaged), "f")
    for length in range(len(blob)):
        with pytest.raises(InputError, match="f: "):
            read_vector(blob[:length], "f")


def test_a_default_is_the_value_in_files_that_lack_the_column(tmp_path: Path) -> None:
    table = HandmadeTable(tmp_path / "t", FIELDS, format_version=3)
    table.commit(table.data(ROWS))
    late = column(3, "late", "long", **{"initial-default": 7, "write-default": 8})
    table.evolve([*FIELDS, late])
    table.commit(table.data([{"id": 3, "late": None}]))
    version = open_iceberg_version(str(table.folder))
    assert sorted(row["late"] or 0 for row in live_rows(version)) == [0, 7, 7]
    # A renamed column leads to footers, and the default stays.
    table.evolve([column(1, "number", "long"), FIELDS[1], late])
    table.write_metadata({})
    version = open_iceberg_version(str(table.folder))
    assert sorted(row["late"] or 0 for row in live_rows(version)) == [0, 7, 7]
    assert len(version.layouts) == 2


def migrated_table(folder: Path) -> HandmadeTable:
    """Return a table whose first file lacks the partition column, as files of migrated tables do."""
    fields = [column(1, "id", "long"), column(2, "s", "string")]
    table = HandmadeTable(folder, fields, specs=(((2, "identity"),), ()))
    table.properties["schema.name-mapping.default"] = json.dumps(
        [{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["s"]}]
    )
    table.commit(table.data([{"id": 1}], fields=fields[:1], partition=("a",)))
    return table


def test_a_partition_column_is_read_from_the_manifest(tmp_path: Path) -> None:
    table = migrated_table(tmp_path / "t")
    table.commit(table.data([{"id": 2, "s": "b"}], partition=("b",)))
    version = open_iceberg_version(str(table.folder))
    assert version.partition_columns == ("s",)
    assert sorted(row["s"] for row in live_rows(version)) == ["a", "b"]
    assert problem_of_blocks(version, ("id", "s")) is None


def test_a_column_that_only_partitions_have_is_refused(tmp_path: Path) -> None:
    table = migrated_table(tmp_path / "t")
    table.commit(table.data([{"id": 2, "s": "b"}], spec_id=1))
    assert "lacks the partition column 's', which other data files have" in refusal(table)


def test_a_position_file_for_a_removed_data_file_deletes_nothing(table: HandmadeTable) -> None:
    path = table.live[0].path
    table.commit(table.positions([(path, 0)]), table.data([{"id": 9}]), removed=[path])
    version = open_iceberg_version(str(table.folder))
    assert [row["id"] for row in live_rows(version)] == [9]
    assert not version.deleted_rows.mask.any()


def test_the_second_call_reads_no_manifest(table: HandmadeTable) -> None:
    table.commit(table.values([1], ROWS[:1]))
    first = open_iceberg_version(str(table.folder))
    for path in (*table.folder.glob("metadata/*.avro"), *table.folder.glob("data/*")):
        path.unlink()
    second = open_iceberg_version(str(table.folder))
    assert second.files.paths == first.files.paths
    assert second.equality_deletes == first.equality_deletes
    assert second.notes == ()
    assert second.blocks(frozenset({"id"})).equals(first.blocks(frozenset({"id"})))


@pytest.mark.parametrize("path", ["", 5, None, "a\0b", "\ud800", "nowhere", "s3x://a/b"])
def test_what_is_no_path_of_a_table_is_refused(path: Any) -> None:
    with pytest.raises(InputError):
        open_iceberg_version(path)
