"""Tables that others write and that have a key: a row is the same as long as its key is."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

# It is in the extra `delta`.
pytest.importorskip("deltalake")
pytest.importorskip("pyroaring")
from deltalake import DeltaTable, write_deltalake
from warehouse_worlds import WarehouseWorld

from dynamic_tables.warehouse import attached_tables, keyed_rows
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.keyed_rows import KeyedRows
from pruning.errors import InputError


def rows(*pairs: tuple[Any, ...]) -> pa.Table:
    names = ("k", "part", "v")
    types = (pa.int64(), pa.string(), pa.int64())
    cells = zip(*pairs, strict=True) if pairs else [()] * 3
    arrays = [pa.array(values, type_) for values, type_ in zip(cells, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=names)


def world_of(tmp_path: Path, *pairs: tuple[Any, ...]) -> tuple[WarehouseWorld, Path]:
    """A warehouse that follows a table of Delta Lake with the key k, part."""
    place = tmp_path / "lake"
    write_deltalake(place, rows(*pairs))
    world = WarehouseWorld(tmp_path / "w")
    world.warehouse.attach("a", place, key=["k", "part"])
    world.sql("CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT k, v * 2 AS w FROM a WHERE v > 0")
    return world, place


def test_an_updated_row_stays_the_same_row(tmp_path: Path) -> None:
    """Its id is its key, of which NULL is a value; a changed key is another row."""
    world, place = world_of(tmp_path, (1, "x", 5), (None, "x", 6), (2, None, 7))
    before = world.warehouse.contents("d")
    DeltaTable(place).update(updates={"v": "v + 1"}, predicate="k IS NULL OR k = 1")
    DeltaTable(place).update(updates={"k": "9"}, predicate="k = 2")
    world.drive(60)
    after = world.warehouse.contents("d")
    assert sorted(after.values(), key=repr) == [(1, 12), (9, 14), (None, 14)]
    assert len(before.keys() & after.keys()) == 2
    assert not world.wrong_tables()


@pytest.mark.parametrize("rows_max", [1_000, 2])
def test_keyed_tables_follow_what_others_write(tmp_path: Path, monkeypatch: Any, rows_max: int) -> None:
    """ATTACH-2. By changed rows, or by all of them where they are too many to be compared."""
    monkeypatch.setattr(attached_tables, "COMPARED_MAX", rows_max)
    world, place = world_of(tmp_path, (0, "x", 1))
    random = Random(2)
    for number in range(1, 12):
        table = DeltaTable(place)
        match random.randrange(5):
            case 0 | 1:
                write_deltalake(place, rows((number, None, number), (number, "y", 0)), mode="append")
            case 2:
                table.delete(f"k = {random.randrange(number)}")
            case 3:
                table.update(updates={"v": "v + 1"}, predicate=f"k < {random.randrange(number)}")
            case _:
                table.restore(random.randrange(table.version() + 1))
        world.drive(60)
        there = DeltaTable(place).to_pyarrow_table().to_pylist()
        assert world.rows("a") == sorted([tuple(row.values()) for row in there], key=repr)
        assert len(world.warehouse.contents("a")) == len({(row["k"], row["part"]) for row in there})
        assert not world.wrong_tables()


@pytest.mark.parametrize("rows_max", [1_000, 2])
@pytest.mark.parametrize("together", [True, False])
def test_two_rows_with_one_key_fail_refreshes(
    tmp_path: Path, monkeypatch: Any, rows_max: int, together: bool
) -> None:
    """In one file, or in two; none of the rows vanishes unnoticed, and the table recovers."""
    monkeypatch.setattr(attached_tables, "COMPARED_MAX", rows_max)
    world, place = world_of(tmp_path, (1, None, 5), (2, "x", 6))
    new = rows((3, None, 8), (3, None, 9)) if together else rows((1, None, 8))
    write_deltalake(place, new, mode="append")
    world.drive(60)
    assert world.rows("d") == [(1, 10), (2, 12)]
    (message,) = {event.body["message"] for event in world.events(EventKind.UNREADABLE)}
    assert f"two rows have the key k, part = {3 if together else 1}, None: " in message
    DeltaTable(place).restore(0)
    world.drive(120)
    assert world.rows("a") == [(1, None, 5), (2, "x", 6)]
    assert not world.wrong_tables()
    assert {state.state for state in world.warehouse.status()} == {"ok"}


def test_keys_that_are_not_compared_would_be_found_out(tmp_path: Path, monkeypatch: Any) -> None:
    """The test before can fail."""
    monkeypatch.setattr(KeyedRows, "held_rows", lambda rows, delta: {})
    with pytest.raises((AssertionError, ValueError)):
        test_two_rows_with_one_key_fail_refreshes(tmp_path, monkeypatch, 1_000, together=False)


def test_many_changed_rows_are_compared_with_all(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(keyed_rows, "KEYS_MAX", 1)
    world, place = world_of(tmp_path, (1, None, 5), (2, "x", 6))
    DeltaTable(place).update(updates={"v": "v + 1"})
    world.drive(60)
    assert world.rows("d") == [(1, 12), (2, 14)]
    assert not world.wrong_tables()


def test_bad_keys_get_one_sentence(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "lake", rows((1, "x", 5), (1, "x", 6)))
    world = WarehouseWorld(tmp_path / "w")
    with pytest.raises(InputError, match="has no column z for a key; it has k, part, v"):
        world.warehouse.attach("a", tmp_path / "lake", key=["z"])
    with pytest.raises(InputError, match="two rows have the key k = 1: attach it without this key"):
        world.warehouse.attach("a", tmp_path / "lake", key=["k"])
    world.warehouse.attach("a", tmp_path / "lake")
    assert len(world.rows("a")) == 2


def test_the_key_outlives_the_process(tmp_path: Path) -> None:
    world, place = world_of(tmp_path, (1, None, 5))
    world.reopen()
    DeltaTable(place).update(updates={"v": "v + 1"})
    assert list(world.warehouse.contents("a")) == ["g:n1;~"]
    world.drive(60)
    assert list(world.warehouse.contents("a")) == ["g:n1;~"]
