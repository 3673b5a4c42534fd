"""Files of histories, in both forms: what is written is read again, and what is wrong has its place."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from histories_known import KNOWN

from oracles import isolation
from oracles.isolation import columns_of, history_of
from oracles.isolation.files import Entry, UnusableFile, convert_histories, entries
from oracles.isolation.notation import dumps, loads
from oracles.isolation.parquet import ORDER, PREDICATE, SCHEMA, columns_of_part, history_parts
from oracles.isolation.parquet_rows import table_of
from strategies.histories.histories import History

HISTORIES = {name: known.history for name, known in KNOWN.items()}


def same(one: History, other: History) -> bool:
    """Whether two histories are the same; an order that holds nothing may be there or not."""
    orders = [{name: order for name, order in each.orders.items() if order} for each in (one, other)]
    return (one.operations, one.predicates, orders[0]) == (other.operations, other.predicates, orders[1])


def lines(path: Path, histories: dict[str, History]) -> Path:
    """A file of the histories, under their names."""
    with path.open("w", encoding="utf-8") as file:
        for name, one in histories.items():
            named = History(id=name, operations=one.operations, orders=one.orders, predicates=one.predicates)
            file.write(dumps(named) + "\n")
    return path


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_is_the_same_after_each_form(name: str) -> None:
    given = HISTORIES[name]
    assert loads(dumps(given)) == given
    assert same(history_of(columns_of(given)), given)


def test_files_convert_both_ways(tmp_path: Path) -> None:
    first = lines(tmp_path / "first.jsonl", HISTORIES)
    assert convert_histories(first, tmp_path / "second.parquet") == len(HISTORIES)
    assert convert_histories(tmp_path / "second.parquet", tmp_path / "third.jsonl") == len(HISTORIES)
    assert convert_histories(tmp_path / "third.jsonl", tmp_path / "fourth.parquet") == len(HISTORIES)
    read = [list(entries(tmp_path / name)) for name in ("second.parquet", "third.jsonl", "fourth.parquet")]
    for name, *found in zip(HISTORIES, *read, strict=True):
        expected = isolation.check(HISTORIES[name])
        for entry in found:
            assert entry.columns is not None
            assert entry.columns.id == name
            assert same(history_of(entry.columns), HISTORIES[name])
            result = isolation.check(entry.columns)
            assert (result.phenomena, result.strongest) == (expected.phenomena, expected.strongest)
            assert result.edges() == expected.edges()


def test_names_that_are_no_ascii_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "größe", "ops": [["w", 1, "m@é.org@1"], ["c", 1]], "vo": {"m@é.org": ["m@é.org@1"]}}\n',
        encoding="utf-8",
    )
    convert_histories(tmp_path / "a.jsonl", tmp_path / "b.parquet")
    convert_histories(tmp_path / "b.parquet", tmp_path / "c.jsonl")
    assert loads((tmp_path / "c.jsonl").read_text("utf-8")) == loads(
        (tmp_path / "a.jsonl").read_text("utf-8")
    )


def test_nothing_is_left_of_a_conversion_that_fails(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{dumps(HISTORIES['adya-H1'])}\nnothing\n", encoding="utf-8")
    for target in ("b.parquet", "b.jsonl"):
        with pytest.raises(UnusableFile, match="line 2: it is not JSON"):
            convert_histories(tmp_path / "a.jsonl", tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_lines_are_counted_with_those_that_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "histories.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf\n{"ops": [], "vo": {}}\n\n\xff\n{}\n{"id": "p", "ops": [["p", 1, "P", []]], "vo": {}}'
    )
    found = list(entries(path))
    assert [(entry.place, entry.id, entry.problem) for entry in found] == [
        ("line 2", "line 2", None),
        ("line 4", "line 4", "byte 1 is not UTF-8"),
        ("line 5", "line 5", "it has no field 'ops'"),
        ("line 6", "p", "a transaction reads by P, which no predicate is called"),
    ]


ROW: dict[str, Any] = dict.fromkeys(SCHEMA.names)
READ, WRITE, DERIVE, BY_PREDICATE, COMMIT = 3, 4, 5, 6, 1


def rows(*given: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{**ROW, "history": 0, **row} for row in given], schema=SCHEMA)


def read(path: Path, table: pa.Table) -> list[Entry]:
    pq.write_table(table, path / "histories.parquet")
    return list(entries(path / "histories.parquet"))


WRITES = {"kind": WRITE, "transaction": 1, "object": 10, "version": 100}
COMMITS = {"kind": COMMIT, "transaction": 1}
ORDERS = {"kind": ORDER, "object": 10, "versions": [99, 100]}
DEFINES = {"kind": PREDICATE, "predicate": 5, "objects": [10], "versions": [100]}


def test_numbers_are_names_where_there_are_no_others(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, rows(WRITES, COMMITS, ORDERS, DEFINES).select(SCHEMA.names[1:]))
    assert entry.columns is not None
    assert dumps(history_of(entry.columns)) == (
        '{"id": "0", "ops": [["w", 1, "10@100"], ["c", 1]], "vo": {"10": ["10@99", "10@100"]}, '
        '"pred": {"5": {"dom": ["10"], "match": ["10@100"]}}}'
    )


# Rows, and what is said of them where.
WRONG: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "kind": ([{"kind": 99}], "row 1", "its kind is 99, not of 0 to 12"),
    "no kind": ([COMMITS, {"transaction": 1}], "row 2", "its kind is -1, not of 0 to 12"),
    "no transaction": ([{"kind": COMMIT}], "row 1", "its kind is 1, but it has no transaction from 0 on"),
    "no version": (
        [{"kind": READ, "transaction": 1}], "row 1", "its kind is 3, but it has no version from 0 on"
    ),
    "no object": (
        [{"kind": WRITE, "transaction": 1, "version": 2}],
        "row 1", "its kind is 4, but it has no object from 0 on",
    ),
    "no sources": (
        [{"kind": DERIVE, "transaction": 1, "object": 1, "version": 2}],
        "row 1", "its kind is 5, but it has no versions from 0 on",
    ),
    "negative version": (
        [{"kind": READ, "transaction": 1, "version": -7}],
        "row 1", "its kind is 3, but it has no version from 0 on",
    ),
    "negative in a list": (
        [{**ORDERS, "versions": [-1]}], "row 1", "its versions are not all numbers from 0 on"
    ),
    "null in a list": (
        [{**ORDERS, "versions": [None]}], "row 1", "its versions are not all numbers from 0 on"
    ),
    "two orders": ([WRITES, COMMITS, ORDERS, ORDERS], "row 4", "it has two orders for object 10"),
    "two definitions": ([DEFINES, DEFINES], "row 2", "it has two definitions of predicate 5"),
    "unknown version": (
        [{"kind": READ, "transaction": 1, "version": 7}],
        "row 1", "T1 reads version 7, which nobody writes or derives and no order has",
    ),
    "unknown source": (
        [{"kind": DERIVE, "transaction": 1, "object": 1, "version": 2, "versions": [7]}],
        "row 1", "T1 has version 7, which nobody writes or derives and no order has",
    ),
    "unknown match": (
        [WRITES, COMMITS, ORDERS, {**DEFINES, "versions": [7]}],
        "row 4", "a predicate matches version 7, which nobody writes or derives and no order has",
    ),
    "undefined predicate": (
        [{"kind": BY_PREDICATE, "transaction": 1, "predicate": 5, "versions": []}],
        "row 1", "T1 reads by predicate 5, which is not defined",
    ),
    "name of nothing": (
        [{"kind": 10, "object": 3, "name": "x"}], "row 1", "it names object 3 'x', which is no object"
    ),
    "history apart": (
        [COMMITS, {**COMMITS, "history": 1}, COMMITS],
        "row 3", "history 0 has other rows before those between",
    ),
    "negative history": ([{**COMMITS, "history": -1}], "row 1", "its history is no number from 0 on"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_row_is_named(tmp_path: Path, case: str) -> None:
    given, place, problem = WRONG[case]
    last = read(tmp_path, rows(*given))[-1]
    assert (last.columns, last.place, last.problem) == (None, place, problem)


def test_what_is_found_wrong_later_has_its_row_too(tmp_path: Path) -> None:
    """The second history of a file: an operation, an order and a predicate that do not fit."""
    first = [WRITES, COMMITS, ORDERS]
    cases = [
        ([*first, {"kind": READ, "transaction": 1, "version": 100}], 3),
        ([*first, {**ORDERS, "object": 11, "versions": [98, 97]}], 3),
        ([*first, {**DEFINES, "objects": [12]}], 3),
    ]
    for given, row in cases:
        table = rows(*first, *({**one, "history": 1} for one in given))
        whole, broken = read(tmp_path, table)
        assert whole.columns is not None
        assert isolation.check(whole.columns).problem is None
        assert broken.columns is not None
        assert isolation.check(broken.columns).row == len(first) + row


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.table({"kind": [1]}), "it has no column 'transaction'"),
        (
            pa.table({"kind": ["begin"], "transaction": [1], "version": [1]}),
            "its column 'kind' is no int8",
        ),
    ],
)
def test_a_table_without_the_columns_is_refused(tmp_path: Path, table: pa.Table, problem: str) -> None:
    with pytest.raises(UnusableFile, match=problem):
        read(tmp_path, table)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnusableFile, match=r"^it is not Parquet that can be read: [^\n]+$"):
        list(entries(tmp_path / "cut.parquet"))


def test_a_column_that_is_there_twice_is_refused_in_one_line(tmp_path: Path) -> None:
    numbers = pa.array([1])
    table = pa.Table.from_arrays([numbers] * 4, names=["kind", "kind", "transaction", "version"])
    with pytest.raises(UnusableFile, match=r"^it is not Parquet that can be read: [^\n]*kind[^\n]*$"):
        read(tmp_path, table)


def test_a_file_whose_pages_are_damaged_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    pq.write_table(rows(WRITES, COMMITS, ORDERS), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 40 + whole[44:])
    with pytest.raises(UnusableFile, match=r"^it cannot be read: [^\n]+$"):
        list(entries(path))


def test_a_file_without_rows_holds_no_history(tmp_path: Path) -> None:
    with pytest.raises(UnusableFile, match="it holds no history"):
        read(tmp_path, rows())
    with pytest.raises(UnusableFile, match="it holds no history"):
        convert_histories(tmp_path / "histories.parquet", tmp_path / "histories.jsonl")
    assert not (tmp_path / "histories.jsonl").exists()


def test_a_history_without_a_name_is_called_by_its_place_in_either_form(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"ops": [], "vo": {}}\n' * 2, encoding="utf-8")
    convert_histories(tmp_path / "a.jsonl", tmp_path / "b.parquet")
    assert [entry.id for entry in entries(tmp_path / "a.jsonl")] == ["line 1", "line 2"]
    assert [entry.id for entry in entries(tmp_path / "b.parquet")] == ["row 1", "row 2"]


def test_numbers_of_any_size_are_ids() -> None:
    """Ids are far apart, and none is the index of anything."""
    given = columns_of(HISTORIES["figure-2"])
    table = table_of(given)
    scattered = table
    for name in ("object", "version", "transaction"):
        column = table.column(name).to_numpy(zero_copy_only=False)
        ids = [None if np.isnan(number) else int(number) * 10**12 + 17 for number in column]
        scattered = scattered.set_column(SCHEMA.get_field_index(name), name, pa.array(ids, pa.int64()))
    listed = [
        None if one is None else [number * 10**12 + 17 for number in one]
        for one in table.column("versions").to_pylist()
    ]
    index = SCHEMA.get_field_index("versions")
    scattered = scattered.set_column(index, SCHEMA.field(index), pa.array(listed, SCHEMA.field(index).type))
    (part,) = history_parts(scattered)
    assert isolation.check(columns_of_part(part)).phenomena == isolation.check(given).phenomena
