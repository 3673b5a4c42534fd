"""Histories of transactions from the commits of a table of Delta Lake or Apache Iceberg.

A row of the table is an object. A commit that takes it out writes a version that is *dead*; one that copies
it into another file, with the same values, writes no version. Where the table has key columns, the rows with
one key are one object instead, so that an update is one version after another.

A statement that says which version of the table it has read, and by which condition, has read by predicate;
it has also read the rows that satisfy the condition, one by one. It begins when that version was committed.
Of other commits only the writes are known.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from pruning.metadata.versioned.commits import TableCommit
from strategies.histories.histories import (
    Begin,
    Commit,
    History,
    Operation,
    Predicate,
    PredicateRead,
    Read,
    Version,
    Write,
)

# Gives all rows of a data file in their order there, under the table's names of columns.
RowsOf: TypeAlias = Callable[[str], pa.Table]
# Tells for conditions in Spark SQL on which rows they are TRUE; shape (conditions, rows).
MatchesOf: TypeAlias = Callable[[Sequence[str], pa.Table], np.ndarray]
# The place of a row: its file and its position there.
Place: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHistory:
    """The history of a table.

    Attributes:
        history: Its transactions, each with the number of the version that it has committed.
        unchecked: The versions of which it is not known what their statements had read.
    """

    history: History
    unchecked: tuple[int, ...]


def table_history(
    commits: Sequence[TableCommit],
    rows_of: RowsOf,
    matches_of: MatchesOf,
    *,
    name: str = "",
    keys: Sequence[str] = (),
) -> TableHistory:
    """Return the history of a table's commits.

    Args:
        commits: All commits since the table had no row, in the order of their versions.
        rows_of: Reads the rows of a data file.
        matches_of: Evaluates conditions.
        name: The history's name.
        keys: The columns that identify a row; without any, a row is the same as long as its values are.
    Raises:
        KeyError: a key is no column of the table.
    """
    objects = _Objects(rows_of, tuple(keys))
    for commit in commits:
        objects.apply(commit)
    is_match = objects.evaluate(matches_of, [commit.predicate for commit in commits])
    readers, unchecked = _readers(commits)
    operations: list[Operation] = []
    state: dict[str, Version] = {}
    predicates: dict[str, Predicate] = {}
    for commit in commits:
        writes = objects.writes[commit.version]
        operations += [Write(commit.version, version) for version in writes]
        operations.append(Commit(commit.version))
        state.update((version.object, version) for version in writes)
        for reader in readers[commit.version]:
            predicate = predicates.setdefault(reader.predicate or "", _predicate(reader, objects, is_match))
            operations += _reads(reader, predicate, state)
    return TableHistory(
        history=History(
            id=name, operations=tuple(operations), orders=objects.orders(), predicates=predicates
        ),
        unchecked=unchecked,
    )


def _readers(commits: Sequence[TableCommit]) -> tuple[dict[int, list[TableCommit]], tuple[int, ...]]:
    """Return the commits by the version that was read for them, and the versions of those without any."""
    readers: dict[int, list[TableCommit]] = {}
    unchecked = []
    for commit in commits:
        if commit.read_version in readers and commit.predicate is not None:
            readers[commit.read_version].append(commit)
        else:
            unchecked.append(commit.version)
        readers[commit.version] = []
    return readers, tuple(unchecked)


def _predicate(
    reader: TableCommit, objects: "_Objects", is_match: Mapping[str, Mapping[Version, bool]]
) -> Predicate:
    """Return a statement's condition, over the objects of which some version satisfies it.

    The other objects are left out, because no version of theirs changes what matches.
    """
    matching = frozenset(version for version, truth in is_match[reader.predicate or ""].items() if truth)
    return Predicate(frozenset(version.object for version in matching), matching)


def _reads(reader: TableCommit, predicate: Predicate, state: Mapping[str, Version]) -> Iterator[Operation]:
    """Yield the begin of a statement and its reads of the version that the table has then."""
    yield Begin(reader.version)
    versions = tuple(state[object_] for object_ in sorted(predicate.domain) if object_ in state)
    yield PredicateRead(reader.version, reader.predicate or "", versions)
    for version in versions:
        if version in predicate.matching:
            yield Read(reader.version, version)


@dataclass(slots=True)
class _Objects:
    """The objects of a table, and the versions that commits write of them.

    Attributes:
        writes: The versions that each commit writes, by the commit's version.
    """

    rows_of: RowsOf
    keys: tuple[str, ...]
    writes: dict[int, list[Version]] = field(default_factory=dict)
    _object_at: dict[Place, str] = field(default_factory=dict)
    _place_of: dict[Version, Place] = field(default_factory=dict)
    _tables: dict[str, pa.Table] = field(default_factory=dict)
    _texts: dict[str, list[str]] = field(default_factory=dict)

    def apply(self, commit: TableCommit) -> None:
        """Record the versions that a commit writes."""
        removed, added = _places(commit.removed), _places(commit.added)
        copies = self._copies(removed, added)
        self._object_at.update((copy, self._object_at[source]) for copy, source in copies.items())
        sources = set(copies.values())
        dead = [self._object_at[place] for place in removed if place not in sources]
        alive: dict[str, Place] = {}
        for place in added:
            if place not in copies:
                object_ = self._object_at[place] = self._name(place)
                alive[object_] = place
        versions = {object_: Version(object_, str(commit.version)) for object_ in (*dead, *alive)}
        self._place_of.update((versions[object_], place) for object_, place in alive.items())
        self.writes[commit.version] = list(versions.values())

    def evaluate(
        self, matches_of: MatchesOf, conditions: Iterable[str | None]
    ) -> dict[str, dict[Version, bool]]:
        """Return for each condition the versions on which it is TRUE; a dead version satisfies none."""
        texts = list(dict.fromkeys(text for text in conditions if text is not None))
        if not texts or not self._place_of:
            return {text: {} for text in texts}
        slices = [self._table(file).slice(position, 1) for file, position in self._place_of.values()]
        truths = matches_of(texts, pa.concat_tables(slices))
        return {
            text: dict(zip(self._place_of, of_versions.tolist(), strict=True))
            for text, of_versions in zip(texts, truths, strict=True)
        }

    def orders(self) -> dict[str, tuple[Version, ...]]:
        """Return the versions of each object in the order of their commits."""
        orders: dict[str, list[Version]] = defaultdict(list)
        for versions in self.writes.values():
            for version in versions:
                orders[version.object].append(version)
        return {object_: tuple(versions) for object_, versions in orders.items()}

    def _copies(self, removed: Sequence[Place], added: Sequence[Place]) -> dict[Place, Place]:
        """Return the added rows that have the values of removed ones, each with another of these."""
        by_text: dict[str, list[Place]] = defaultdict(list)
        for place in removed:
            by_text[self._text(place)].append(place)
        return {place: by_text[text].pop(0) for place in added if by_text[text := self._text(place)]}

    def _name(self, place: Place) -> str:
        """Return the name of a row that is new: its keys, or its place."""
        file, position = place
        if not self.keys:
            return f"{PurePath(file).name}[{position}]"
        values = self._table(file).select(self.keys).slice(position, 1).to_pylist()[0]
        return ", ".join(f"{key}={value!r}" for key, value in values.items())

    def _table(self, file: str) -> pa.Table:
        if file not in self._tables:
            self._tables[file] = self.rows_of(file)
        return self._tables[file]

    def _text(self, place: Place) -> str:
        """Return a text that equal rows have in common; NaN is the same as NaN in it, and -0.0 not as 0.0."""
        file, position = place
        if file not in self._texts:
            self._texts[file] = [repr(row) for row in self._table(file).to_pylist()]
        return self._texts[file][position]


def _places(rows: Mapping[str, BitMap]) -> list[Place]:
    return [(file, position) for file, positions in rows.items() for position in positions]
