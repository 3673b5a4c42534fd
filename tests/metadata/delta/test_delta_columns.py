"""Columns of tables of Delta Lake: names in files, metadata for Spark, and partition values."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_logs import WrittenLog, add, column, metadata, protocol, struct_of

from mutants.metadata.delta_columns import MUTANTS
from pruning.errors import InputError
from pruning.metadata.delta import opening
from pruning.metadata.versioned.table_version import TableVersion

MAPPED = {"delta.columnMapping.mode": "name"}


def array_of(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def open_table(root: Path, *actions: dict[str, Any], **options: Any) -> TableVersion:
    return opening.open_delta_version(str(WrittenLog(root / "t").commit(*actions).root), **options)


def schemas(root: Path, *fields: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    """Return the fields for users and those in files."""
    table = open_table(root, protocol(2), metadata(*fields, **options))
    (layout,) = table.layouts
    return json.loads(table.schema)["fields"], json.loads(layout)["fields"]


def names(fields: Any) -> Any:
    """Return the names of fields, and of those inside."""
    if isinstance(fields, list):
        return [
            (field["name"], names(field["type"])) if names(field["type"]) else field["name"]
            for field in fields
        ]
    if isinstance(fields, dict):
        inside = [
            names(fields[part])
            for part in ("fields", "elementType", "keyType", "valueType")
            if part in fields
        ]
        return [name for part in inside for name in part] if any(inside) else []
    return []


NESTED = (
    column("a", struct_of(column("b", physical="c2", id=2)), physical="c1", id=1),
    column("l", array_of(struct_of(column("m", physical="c4", id=4))), physical="c3", id=3),
    column(
        "k",
        map_of(struct_of(column("x", physical="c6", id=6)), struct_of(column("y", physical="c7", id=7))),
        physical="c5",
        id=5,
    ),
    column("p", physical="c8", id=8),
)


def test_columns_in_files_have_their_physical_names_at_any_depth(tmp_path: Path) -> None:
    user, layout = schemas(tmp_path, *NESTED, partitions=["p"], configuration=MAPPED)
    assert names(user) == [("a", ["b"]), ("l", ["m"]), ("k", ["x", "y"]), "p"]
    assert names(layout) == [("c1", ["c2"]), ("c3", ["c4"]), ("c5", ["c6", "c7"])]


def test_names_are_not_mapped_where_the_protocol_does_not_say_so(tmp_path: Path) -> None:
    table = open_table(tmp_path, protocol(1), metadata(*NESTED, configuration=MAPPED))
    assert names(json.loads(table.layouts[0])["fields"]) == [
        ("a", ["b"]),
        ("l", ["m"]),
        ("k", ["x", "y"]),
        "p",
    ]


def test_a_column_without_a_physical_name_is_damage(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its schema in the log is damaged"):
        schemas(tmp_path, column("a"), configuration=MAPPED)


def test_users_see_comments_and_collations_and_nothing_of_delta(tmp_path: Path) -> None:
    collated = column("s", "string", physical="c1", id=1, comment="a name", __COLLATIONS={"s": "icu.UNICODE"})
    generated = column(
        "g", physical="c2", id=2, **{"delta.generationExpression": "1", "CURRENT_DEFAULT": "2"}
    )
    user, layout = schemas(tmp_path, collated, generated, configuration=MAPPED)
    assert [field["metadata"] for field in user] == [
        {"comment": "a name", "__COLLATIONS": {"s": "icu.UNICODE"}},
        {},
    ]
    assert [field["metadata"] for field in layout] == [{"__COLLATIONS": {"c1": "icu.UNICODE"}}, {}]


def test_collated_and_padded_texts_have_no_bounds(tmp_path: Path) -> None:
    collated = column("s", "string", __COLLATIONS={"s": "icu.UNICODE"})
    padded = column("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(3)")
    bounds = {"s": "a", "c": "a"}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds}
    table = open_table(tmp_path, protocol(), metadata(collated, padded), add("a", stats))
    (row,) = table.blocks(frozenset({"s", "c"}))["columns"].to_pylist()
    assert (list(row), row["c"]["min"]) == (["c"], None)


def test_statistics_and_partition_values_are_under_physical_names(tmp_path: Path) -> None:
    stats = {"numRecords": 1, "minValues": {"c1": {"c2": 5}, "a": {"b": 9}}, "nullCount": {"c1": {"c2": 0}}}
    file = add("a", stats, partitionValues={"c8": "3"})
    table = open_table(tmp_path, protocol(2), metadata(*NESTED, partitions=["p"], configuration=MAPPED), file)
    assert table.partition_columns == ("p",)
    assert table.files.partition_values.to_pylist() == [{"p": 3}]
    (row,) = table.blocks(frozenset({"a", "p"}))["columns"].to_pylist()
    assert (row["`a`.`b`"]["min"], row["p"]["max"]) == (5, 3)


#    from             to               read
CHANGES = [
    ("byte", "long", True),
    ("integer", "double", True),
    ("long", "decimal(22,2)", True),
    ("decimal(5,2)", "decimal(7,3)", True),
    ("date", "timestamp_ntz", True),
    ("long", "integer", False),
    ("long", "double", False),
    ("long", "decimal(20,2)", False),
    ("decimal(5,2)", "decimal(6,4)", False),
    ("integer", "string", False),
]


@pytest.mark.parametrize(("old", "new", "is_read"), CHANGES)
def test_types_that_were_widened_are_read_and_other_changes_refused(
    old: str, new: str, is_read: bool, tmp_path: Path
) -> None:
    changes = [{"fromType": old, "toType": new, "fieldPath": "element"}]
    fields = metadata(column("a", struct_of(column("l", array_of(new), changes=changes))))
    start = (protocol(3, "typeWidening"), fields)
    if is_read:
        assert json.loads(open_table(tmp_path, *start).schema)["fields"][0]["name"] == "a"
        return
    with pytest.raises(InputError, match="/t: the type of l was changed from"):
        open_table(tmp_path, *start)


def with_ids(name: str, id_: int | None, type_: pa.DataType | None = None) -> pa.Field:
    ids = None if id_ is None else {"PARQUET:field_id": str(id_)}
    return pa.field(name, type_ or pa.int64(), metadata=ids)


BY_ID = (
    column("a", physical="c1", id=1),
    column("l", array_of(struct_of(column("m", physical="c4", id=4))), physical="c3", id=3),
)
#    fields of a file                                                            refused
ID_FILES = [
    ([with_ids("c1", 1)], False),
    ([with_ids("c1", 1), with_ids("c3", 3, pa.list_(pa.struct([with_ids("c4", 4)])))], False),
    ([with_ids("other", 9)], False),
    ([with_ids("old", 1)], True),
    ([with_ids("C1", 9)], True),
    ([with_ids("c1", None)], True),
    ([with_ids("c3", 3, pa.list_(pa.struct([with_ids("old", 4)])))], True),
]


def id_table(root: Path, fields: list[pa.Field]) -> TableVersion:
    mapping = {"delta.columnMapping.mode": "id"}
    (root / "t").mkdir()
    pq.write_table(pa.schema(fields).empty_table(), root / "t" / "f")
    (root / "t").rename(root / "files")
    action = add(f"{root}/files/f")
    return open_table(root, protocol(2), metadata(*BY_ID, configuration=mapping), action)


@pytest.mark.parametrize(("fields", "is_refused"), ID_FILES)
def test_files_found_by_ids_have_the_names_of_the_log(
    fields: list[pa.Field], is_refused: bool, tmp_path: Path
) -> None:
    if not is_refused:
        assert id_table(tmp_path, fields).files.paths == (f"{tmp_path}/files/f",)
        return
    with pytest.raises(InputError, match=r"/files/f: has the column .* under the id"):
        id_table(tmp_path, fields)


#    type              text                                    value
VALUES = [
    ("long", "-5", -5),
    ("byte", "127", 127),
    ("double", "2.50", 2.5),
    ("double", "-1.0E-3", -0.001),
    ("float", "0.1", 0.10000000149011612),
    ("double", "-Infinity", float("-inf")),
    ("decimal(5,2)", "-1.5", Decimal("-1.50")),
    ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
    ("boolean", "true", True),
    ("boolean", "false", False),
    ("date", "0001-01-01", date(1, 1, 1)),
    ("string", "a b/é=%", "a b/é=%"),
    ("binary", "\x01é", b"\x01\xc3\xa9"),
    ("timestamp", "1970-01-01 00:00:01", 1_000_000),
    ("timestamp", "1970-01-01T00:00:00.000001Z", 1),
    ("timestamp", "1970-01-01T01:00:00+01:00", 0),
    ("timestamp_ntz", "1969-12-31 23:59:59.5", -500_000),
    ("long", "", None),
    ("string", "", None),
    ("string", None, None),
]


def partition(root: Path, type_: str, text: str | None, **options: Any) -> Any:
    table = open_table(
        root,
        protocol(3, "timestampNtz"),
        metadata(column("v"), column("p", type_), partitions=["p"]),
        add("a", partitionValues={"p": text}),
        **options,
    )
    (value,) = table.files.partition_values["p"]
    return value.value if pa.types.is_timestamp(value.type) else value.as_py()


@pytest.mark.parametrize(("type_", "text", "value"), VALUES)
def test_a_partition_value_is_the_one_that_spark_reads(
    type_: str, text: str | None, value: Any, tmp_path: Path
) -> None:
    assert partition(tmp_path, type_, text, zone="UTC") == value


NO_VALUES = [
    ("long", "1.5"), ("long", "١"), ("byte", "128"), ("double", "1f"), ("double", "nan"),
    ("decimal(5,2)", "1.555"), ("decimal(3,2)", "10"), ("boolean", "1"), ("date", "2024-02-30"),
    ("date", "20240201"), ("timestamp", "2024-02-01"), ("timestamp", "2024-02-01 00:00:00.0000001"),
    ("timestamp_ntz", "2024-02-01 00:00:00Z"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "text"), NO_VALUES)
def test_another_text_is_refused_with_file_and_column(type_: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/t/a: its partition value .* of the column p is no "):
        partition(tmp_path, type_, text, zone="UTC")


def test_times_without_a_zone_need_one(tmp_path: Path) -> None:
    text = "1970-01-01 00:00:00"
    assert partition(tmp_path / "a", "timestamp", text, zone="Asia/Tokyo") == -9 * 3_600_000_000
    with pytest.raises(
        InputError, match=r"/t/a: its partition value .* names no time zone: pass .* zone='UTC'$"
    ):
        partition(tmp_path / "b", "timestamp", text)
    with pytest.raises(InputError, match="is no time zone"):
        partition(tmp_path / "c", "timestamp", text, zone="Mars")


def test_a_partition_value_must_be_there(tmp_path: Path) -> None:
    fields = metadata(column("v"), column("p"), partitions=["p"])
    with pytest.raises(InputError, match="/t/b: the table's log has no partition value of the column p"):
        open_table(tmp_path, protocol(), fields, add("a", partitionValues={"p": None}), add("b"))


def test_a_partition_of_an_unknown_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is partitioned by p of the type variant"):
        open_table(tmp_path, protocol(), metadata(column("p", "variant"), partitions=["p"]))


def test_files_of_one_partition_have_one_number(tmp_path: Path) -> None:
    texts = [("1", "a"), ("1", None), ("2", "a"), ("1", "a"), ("1", "")]
    files = [add(str(place), partitionValues={"p": p, "q": q}) for place, (p, q) in enumerate(texts)]
    fields = metadata(column("p"), column("q", "string"), column("v"), partitions=["p", "q"])
    ids = open_table(tmp_path, protocol(), fields, *files).files.partition_ids.tolist()
    assert ids[0] == ids[3]
    assert ids[1] == ids[4]
    assert len(set(ids)) == 3


def test_constants_are_attained_where_a_row_is_left(tmp_path: Path) -> None:
    file = add("a", {"numRecords": 2}, partitionValues={"p": "3", "f": "NaN"})
    fields = metadata(column("p"), column("f", "double"), column("v"), partitions=["p", "f"])
    (row,) = (
        open_table(tmp_path, protocol(), fields, file).blocks(frozenset({"p", "f"}))["columns"].to_pylist()
    )
    assert (row["p"]["min"], row["p"]["max"], row["p"]["min_exact"]) == (3, 3, True)
    assert (row["f"]["min"], row["f"]["nan_count"], row["f"]["null_count"]) == (None, 2, 0)


def wrong_columns(root: Path) -> bool:
    """Tell whether mapped names, an id that moved or an empty partition value are read wrongly."""
    _, layout = schemas(root / "a", *NESTED, partitions=["p"], configuration=MAPPED)
    try:
        id_table(root / "b", [with_ids("C1", 9)])
    except InputError:
        return names(layout)[1] != ("c3", ["c4"]) or partition(root / "c", "string", "") is not None
    return True


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_reading_of_columns_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for part in ("right", "wrong"):
        for folder in "abc":
            (tmp_path / part / folder).mkdir(parents=True)
    assert not wrong_columns(tmp_path / "right")
    monkeypatch.setattr(*MUTANTS[name])
    assert wrong_columns(tmp_path / "wrong")
