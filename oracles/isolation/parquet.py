"""Histories as a table of integers, for histories of millions of transactions.

A row is an operation, an order, a predicate or a name; `docs/reference/histories.md` lists the columns of
each. The histories of one file have different numbers in the column `history`, and the rows of each are
adjacent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oracles.isolation.columns import Columns, Kind, Rows
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.lists import Flags, Ints, Lists, distinct

ORDER, PREDICATE, HISTORY_NAME, OBJECT_NAME, VERSION_NAME, PREDICATE_NAME = range(7, 13)

_LIST = pa.list_(pa.int64())
SCHEMA = pa.schema(
    {
        "history": pa.int64(),
        "kind": pa.int8(),
        "transaction": pa.int64(),
        "object": pa.int64(),
        "version": pa.int64(),
        "predicate": pa.int64(),
        "versions": _LIST,
        "objects": _LIST,
        "name": pa.string(),
    }
)
_REQUIRED = ("kind", "transaction", "version")
_NUMBERS = ("kind", "transaction", "object", "version", "predicate")

# The columns that a row of each kind must have; others are ignored.
_NEEDS: Mapping[int, tuple[str, ...]] = {
    Kind.BEGIN: ("transaction",),
    Kind.COMMIT: ("transaction",),
    Kind.ABORT: ("transaction",),
    Kind.READ: ("transaction", "version"),
    Kind.WRITE: ("transaction", "object", "version"),
    Kind.DERIVE: ("transaction", "object", "version", "versions"),
    Kind.PREDICATE_READ: ("transaction", "predicate", "versions"),
    ORDER: ("object", "versions"),
    PREDICATE: ("predicate", "objects", "versions"),
    HISTORY_NAME: ("name",),
    OBJECT_NAME: ("object", "name"),
    VERSION_NAME: ("version", "name"),
    PREDICATE_NAME: ("predicate", "name"),
}


def normalize(table: pa.Table) -> pa.Table:
    """Return the table with all columns and their types, without columns of other names.

    Raises:
        UnusableHistory: A column is missing or has another type.
    """
    columns = []
    for field in SCHEMA:
        if field.name not in table.column_names:
            if field.name in _REQUIRED:
                raise UnusableHistory(f"it has no column {field.name!r}")
            filled = 0 if field.name == "history" else None
            columns.append(pa.repeat(pa.scalar(filled, field.type), len(table)))
            continue
        column = table.column(field.name)
        try:
            columns.append(pc.cast(column, field.type).combine_chunks())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise UnusableHistory(f"its column {field.name!r} is no {field.type}: {error}") from None
    return pa.Table.from_arrays(columns, schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one history, from row `first` of a file on; `together` if they are its first rows."""

    number: int
    first: int
    table: pa.Table
    together: bool


def history_parts(table: pa.Table) -> Iterator[Part]:
    """Yield the histories of a normalized table, in the order of the file."""
    numbers = pc.fill_null(table.column("history"), -1).to_numpy()
    changes = np.flatnonzero(np.diff(numbers)) + 1
    numbers_so_far: set[int] = set()
    for start, stop in pairwise([0, *changes.tolist(), len(numbers)] if len(numbers) else []):
        number = int(numbers[start])
        yield Part(number, start, table.slice(start, stop - start), number not in numbers_so_far)
        numbers_so_far.add(number)


def columns_of_part(part: Part) -> Columns:
    """Return the history in the rows of a part.

    Raises:
        UnusableHistory: The rows are no history; `row` counts from the beginning of the file.
    """
    if part.number < 0:
        raise UnusableHistory("its history is no number from 0 on", row=part.first)
    if not part.together:
        raise UnusableHistory(f"history {part.number} has other rows before those between", row=part.first)
    try:
        return _HistoryRows(part.table).columns(part.number, part.first)
    except UnusableHistory as error:
        raise UnusableHistory(str(error), row=None if error.row is None else error.row + part.first) from None


class _HistoryRows:
    """The rows of one history as arrays; a null is -1, a null list is empty."""

    def __init__(self, table: pa.Table) -> None:
        nulls = {name: _is_null(table, name) for name in SCHEMA.names}
        numbers = {
            name: pc.fill_null(table.column(name), -1).to_numpy().astype(np.int64, copy=False)
            for name in _NUMBERS
        }
        self.kind = numbers["kind"]
        self.transaction, self.object = numbers["transaction"], numbers["object"]
        self.version, self.predicate = numbers["version"], numbers["predicate"]
        self.versions, self.objects = _lists(table, "versions"), _lists(table, "objects")
        self.names = table.column("name")
        self._check(nulls, numbers)

    def _check(self, nulls: Mapping[str, Flags], numbers: Mapping[str, Ints]) -> None:
        strange = ~np.isin(self.kind, list(_NEEDS))
        if strange.any():
            row = int(np.argmax(strange))
            raise UnusableHistory(f"its kind is {self.kind[row]}, not of 0 to {PREDICATE_NAME}", row=row)
        for kind, needed in _NEEDS.items():
            here = self.kind == kind
            for name in needed:
                lacking = here & nulls[name]
                if name in numbers:
                    lacking |= here & (numbers[name] < 0)
                if lacking.any():
                    row = int(np.argmax(lacking))
                    raise UnusableHistory(f"its kind is {kind:d}, but it has no {name} from 0 on", row=row)
        for name, lists in (("versions", self.versions), ("objects", self.objects)):
            owners, values = lists.all()
            if values.min(initial=0) < 0:
                row = int(owners[np.argmax(values < 0)])
                raise UnusableHistory(f"its {name} are not all numbers from 0 on", row=row)

    def rows(self, kind: int) -> Ints:
        return np.flatnonzero(self.kind == kind)

    def columns(self, number: int, first: int) -> Columns:
        """Return the history; `first` is added to the row numbers that it keeps."""
        operations = np.flatnonzero(self.kind <= Kind.PREDICATE_READ)
        orders, predicates = self._once(ORDER, self.object), self._once(PREDICATE, self.predicate)
        creations = operations[np.isin(self.kind[operations], (Kind.WRITE, Kind.DERIVE))]
        order_owners, ordered = self.versions.expand(orders)
        domain_owners, domain = self.objects.expand(predicates)
        objects = _Ids(np.concatenate((self.object[creations], self.object[orders], domain)))
        versions = _Ids(np.concatenate((self.version[creations], ordered)))
        known_predicates = _Ids(self.predicate[predicates])

        object_of = np.zeros(len(versions.ids), np.int64)
        object_of[versions.of(ordered)] = objects.of(self.object[orders[order_owners]])
        object_of[versions.of(self.version[creations])] = objects.of(self.object[creations])
        places = objects.of(self.object[orders])
        defined = known_predicates.of(self.predicate[predicates])
        matching_owners, matching = self.versions.expand(predicates)
        return Columns(
            id=self._history_name(number),
            kind=self.kind[operations],
            transaction=self.transaction[operations],
            subject=self._subjects(operations, versions, known_predicates),
            lists=self._operation_lists(operations, versions),
            object_of=object_of,
            orders=Lists.by_owner(places[order_owners], versions.of(ordered), len(objects.ids)),
            domains=Lists.by_owner(defined[domain_owners], objects.of(domain), len(defined)),
            matching=Lists.by_owner(
                defined[matching_owners],
                self._indexes_of(versions, matching, predicates[matching_owners], "matches"),
                len(defined),
            ),
            objects=self._names_of(OBJECT_NAME, objects, self.object, "object"),
            tags=self._names_of(VERSION_NAME, versions, self.version, "version", object_of),
            predicates=self._names_of(PREDICATE_NAME, known_predicates, self.predicate, "predicate"),
            rows=Rows(
                operations + first,
                _scatter(places, orders + first),
                _scatter(defined, predicates + first),
            ),
        )

    def _once(self, kind: int, ids: Ints) -> Ints:
        """Return the rows of a kind of which each object or predicate may have only one."""
        rows = self.rows(kind)
        _, firsts = np.unique(ids[rows], return_index=True)
        again = np.setdiff1d(np.arange(len(rows)), firsts)
        if len(again):
            row = int(rows[again[0]])
            what = "orders for object" if kind == ORDER else "definitions of predicate"
            raise UnusableHistory(f"it has two {what} {ids[row]}", row=row)
        return rows

    def _indexes_of(self, ids: "_Ids", wanted: Ints, rows: Ints, verb: str) -> Ints:
        indexes = ids.of(wanted)
        if len(indexes) and indexes.min() < 0:
            first = int(np.argmin(indexes))
            row = int(rows[first])
            who = f"T{self.transaction[row]}" if self.kind[row] <= Kind.PREDICATE_READ else "a predicate"
            problem = f"{who} {verb} version {wanted[first]}, which nobody writes or derives and no order has"
            raise UnusableHistory(problem, row=row)
        return indexes

    def _subjects(self, operations: Ints, versions: "_Ids", predicates: "_Ids") -> Ints:
        kind = self.kind[operations]
        subject = np.full(len(operations), -1, np.int64)
        of_version = np.isin(kind, (Kind.READ, Kind.WRITE, Kind.DERIVE))
        rows = operations[of_version]
        subject[of_version] = self._indexes_of(versions, self.version[rows], rows, "reads")
        by_predicate = kind == Kind.PREDICATE_READ
        rows = operations[by_predicate]
        subject[by_predicate] = predicates.of(self.predicate[rows])
        undefined = by_predicate & (subject < 0)
        if undefined.any():
            row = int(operations[np.argmax(undefined)])
            problem = (
                f"T{self.transaction[row]} reads by predicate {self.predicate[row]}, which is not defined"
            )
            raise UnusableHistory(problem, row=row)
        return subject

    def _operation_lists(self, operations: Ints, versions: "_Ids") -> Lists:
        """Return the sources and version sets; lists of other operations are ignored."""
        listing = np.isin(self.kind[operations], (Kind.DERIVE, Kind.PREDICATE_READ))
        lengths = np.where(listing, self.versions.lengths[operations], 0)
        rows = operations[listing]
        owners, values = self.versions.expand(rows)
        return Lists.by_length(lengths, self._indexes_of(versions, values, rows[owners], "has"))

    def _history_name(self, number: int) -> str:
        rows = self.rows(HISTORY_NAME)
        if len(rows) > 1:
            raise UnusableHistory("it has two names", row=int(rows[1]))
        return str(self.names[int(rows[0])]) if len(rows) else str(number)

    def _names_of(
        self, kind: int, ids: "_Ids", column: Ints, what: str, within: Ints | None = None
    ) -> Sequence[object]:
        """Return the names that belong to the ids; without name rows, the ids themselves."""
        called: list[object] = ids.ids.tolist()
        rows = self.rows(kind)
        if not len(rows):
            return called
        texts = self.names.take(pa.array(rows)).to_pylist()
        for row, place, text in zip(rows.tolist(), ids.of(column[rows]).tolist(), texts, strict=True):
            if place < 0 or not text:
                raise UnusableHistory(f"it names {what} {column[row]} {text!r}, which is no {what}", row=row)
            called[place] = text
        groups = [0] * len(called) if within is None else within.tolist()
        if len(set(zip(groups, map(str, called), strict=True))) < len(called):
            raise UnusableHistory(f"it gives one name to several of its {what}s")
        return called


class _Ids:
    """Arbitrary numbers of a file, renumbered from 0 in ascending order."""

    def __init__(self, ids: Ints) -> None:
        highest = int(ids.max(initial=-1))
        self._places: Ints | None = None
        if highest > 8 * len(ids) + 1024:
            self.ids = distinct(ids)
            return
        # A table of all numbers up to the highest is faster, and no larger than the rows.
        used = np.zeros(highest + 1, np.bool_)
        used[ids] = True
        self.ids = np.flatnonzero(used)
        self._places = np.where(used, np.cumsum(used) - 1, -1)

    def of(self, wanted: Ints) -> Ints:
        """Return the index of each number; -1 for one that does not occur."""
        if not len(self.ids):
            return np.full(len(wanted), -1, np.int64)
        if self._places is not None:
            places = self._places[np.minimum(wanted, len(self._places) - 1)]
            return np.where(wanted < len(self._places), places, -1)
        candidates = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[candidates] == wanted, candidates, -1)


def _scatter(places: Ints, values: Ints) -> Ints:
    scattered = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    scattered[places] = values
    return scattered


def _is_null(table: pa.Table, name: str) -> Flags:
    nulls: Flags = table.column(name).is_null().to_numpy()
    return nulls


def _lists(table: pa.Table, name: str) -> Lists:
    column = table.column(name).combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    values = pc.fill_null(column.flatten(), -1).to_numpy()
    return Lists.by_length(lengths, values)
