"""Maps in files: what footers say of keys and values holds, and mutants of how they are read are caught."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from test_nested_leaves import SCHEMAS, _names

from mutants.metadata.map_leaves import MUTANTS
from oracles.answers.frames import settings as spark_settings
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.schema import column_types
from pruning.metadata.views.verifying import check_file

OF_INTS = pa.map_(pa.string(), pa.int32())
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
MAPS = st.lists(
    st.none() | st.lists(st.tuples(st.text(max_size=2), st.none() | st.integers(-9, 9)), max_size=3),
    min_size=1,
    max_size=6,
)


def facts_of(path: Path) -> dict[str, dict[str, Any]]:
    """Return the metadata of the columns of the only block."""
    (block,) = collect(path, cache=False).to_pylist()
    columns: dict[str, dict[str, Any]] = block["columns"]
    return columns


@pytest.mark.parametrize("dictionary", [True, False])
@examples(6)
@given(maps=MAPS)
def test_what_is_known_of_maps_encloses_their_keys_and_values(
    tmp_path_factory: pytest.TempPathFactory, dictionary: bool, maps: list[Any]
) -> None:
    """Bounds enclose each key and each value but NULL; counts do not count rows."""
    path = tmp_path_factory.getbasetemp() / "maps.parquet"
    structs = pa.array([{"m": cell} for cell in maps], pa.struct([("m", OF_INTS)]))
    table = pa.table({"m": pa.array(maps, OF_INTS), "r": structs})
    pq.write_table(table, path, use_dictionary=dictionary)
    entries = [entry for cell in maps for entry in cell or ()]
    held = {
        f"{column}{part}": [entry[place] for entry in entries if entry[place] is not None]
        for column in ("`m`", "`r`.`m`")
        for place, part in enumerate(("{key}", "{value}"))
    }
    facts = facts_of(path)
    assert facts.keys() == held.keys()
    for name, values in held.items():
        lower, upper = facts[name]["min"], facts[name]["max"]
        assert all((lower is None or lower <= item) and (upper is None or item <= upper) for item in values)
        assert facts[name]["null_count"] is None
    check = check_file(str(path))
    assert (check.lies, check.problems) == ((), ())


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_maps_that_spark_wrote_have_names_and_bounds(spark: Any, tmp_path: Path, legacy: str) -> None:
    """In the forms of today and of old; maps and arrays in maps have keys alone."""
    path = str(tmp_path / "spark")
    with spark_settings(spark, {"spark.sql.parquet.writeLegacyFormat": legacy}):
        spark.sql(
            "SELECT map('k', id, 'l', CAST(NULL AS bigint)) m, map(id, named_struct('p', -id)) s, "
            "named_struct('m', map(DATE'2024-01-01', id)) r, map('x', array(id)) a, "
            "map('y', map('z', id)) mm FROM range(3)"
        ).coalesce(1).write.parquet(path)
    facts = {name: (str(item["min"]), str(item["max"])) for name, item in facts_of(Path(path)).items()}
    assert facts == {
        "`m`{key}": ("k", "l"),
        "`m`{value}": ("0", "2"),
        "`s`{key}": ("0", "2"),
        "`s`{value}.`p`": ("-2", "0"),
        "`r`.`m`{key}": ("2024-01-01", "2024-01-01"),
        "`r`.`m`{value}": ("0", "2"),
        "`a`{key}": ("x", "x"),
        "`mm`{key}": ("y", "y"),
    }


def test_leaves_of_other_types_of_one_name_stay_apart(tmp_path: Path) -> None:
    """An array of structs of key and value has other leaves than a map, though Parquet stores them alike."""
    columns = [
        pa.array([[("k", 3)]], OF_INTS),
        pa.array([[{"key": "k", "value": 5}]], PAIRS),
        pa.array([3], pa.int32()),
    ]
    for place, column in enumerate(columns):
        pq.write_table(pa.table({"m": column}), tmp_path / f"{place}.parquet")
    types = column_types(collect(tmp_path, cache=False))
    assert set(types) == {"`m`{key}", "`m`{value}", "`m`[].`key`", "`m`[].`value`", "m"}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_about_maps_gives_other_leaves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert any(_names(*schema) != names for _, schema, names in SCHEMAS)
