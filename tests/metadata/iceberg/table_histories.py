"""Histories of tables of Iceberg: appends and deletes, with a model that says which rows each version has."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handmade_tables import HandmadeTable, ListedFile, column
from hypothesis import strategies as st
from version_rows import problem_of_blocks, rows_by_file

from pruning.metadata.iceberg.opening import open_iceberg_version

ID, TEXT = 1, 2
FIELDS = (column(ID, "id", "long"), column(TEXT, "s", "string"))
# Without partitions, and with the text as the partition.
SPECS = ((), ((TEXT, "identity"),))
UNPARTITIONED, BY_TEXT = range(2)

ROWS = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 4), "s": st.sampled_from(("a", "b", None))}),
    min_size=1,
    max_size=4,
)
SMALL = st.integers(0, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit.

    Attributes:
        kind: "append", "positions", "vector" or "values".
        rows: The rows that are appended, or whose values are deleted.
        spec: The partition spec of new files.
        file: Chooses a data file.
        positions: Choose the deleted rows of it.
        scope: The way in which a file with positions says which data file it is for: "reference", "full" or
            "cut" bounds, or "none".
        ids: The fields whose values are compared.
        appended: The rows that the commit appends beside what it deletes.
    """

    kind: str
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    spec: int = UNPARTITIONED
    file: int = 0
    positions: tuple[int, ...] = ()
    scope: str = "none"
    ids: tuple[int, ...] = (ID,)
    appended: list[Mapping[str, Any]] = field(default_factory=list)


COMMITS = st.builds(
    Commit,
    kind=st.sampled_from(("append", "positions", "vector", "values")),
    rows=ROWS,
    spec=st.sampled_from((UNPARTITIONED, BY_TEXT)),
    file=SMALL,
    positions=st.lists(SMALL, min_size=1, max_size=3).map(tuple),
    scope=st.sampled_from(("reference", "full", "cut", "none")),
    ids=st.sampled_from(((ID,), (TEXT,), (ID, TEXT))),
    appended=st.just([]) | ROWS,
)
# Shrinks to one append of one row.
HISTORIES = st.lists(COMMITS, min_size=1, max_size=6)


@dataclass(kw_only=True)
class ModelFile:
    """A data file of the model, with the commit that added it, and its rows that are deleted since."""

    file: ListedFile
    rows: list[Mapping[str, Any]]
    number: int
    by_position: set[int] = field(default_factory=set)
    by_value: set[int] = field(default_factory=set)
    vector: ListedFile | None = None

    @property
    def live(self) -> list[Mapping[str, Any]]:
        """The rows that are left."""
        dead = self.by_position | self.by_value
        return [row for position, row in enumerate(self.rows) if position not in dead]

    @property
    def partition(self) -> tuple[int, tuple[Any, ...]]:
        return self.file.spec_id, self.file.partition


class ModelledTable:
    """A table and the model of its rows; `versions` has the live rows of each snapshot by their files."""

    def __init__(self, folder: Path) -> None:
        self.table = HandmadeTable(folder, FIELDS, format_version=3, specs=SPECS)
        self.files: list[ModelFile] = []
        self.versions: dict[int, dict[str, list[Mapping[str, Any]]]] = {}

    def commit(self, commit: Commit) -> None:
        """Make a commit; deletes of a table without files are appends."""
        number = len(self.versions) + 1
        kind = commit.kind if self.files else "append"
        added, removed = [], []
        # The rows that a commit adds may be deleted by their positions in the same commit.
        appended = commit.rows if kind == "append" else commit.appended
        new_files = list(self._new_files(appended, commit.spec, number))
        self.files += new_files
        added += [new.file for new in new_files]
        if kind == "positions":
            added += self._delete_positions(commit)
        elif kind == "vector":
            chosen = self.files[commit.file % len(self.files)]
            removed += [] if chosen.vector is None else [chosen.vector.path]
            chosen.by_position = {position % len(chosen.rows) for position in commit.positions}
            chosen.vector = self.table.vector(chosen.file, sorted(chosen.by_position))
            added.append(chosen.vector)
        elif kind == "values":
            added.append(self._delete_values(commit, number))
        id_ = self.table.commit(*added, removed=removed)
        self.versions[id_] = {model.file.path: model.live for model in self.files}

    def _new_files(self, rows: list[Mapping[str, Any]], spec: int, number: int) -> Iterable[ModelFile]:
        texts = list(dict.fromkeys(row["s"] for row in rows)) if spec == BY_TEXT else [None] if rows else []
        for text in texts:
            here = rows if spec == UNPARTITIONED else [row for row in rows if row["s"] == text]
            partition = () if spec == UNPARTITIONED else (text,)
            file = self.table.data(here, spec_id=spec, partition=partition)
            yield ModelFile(file=file, rows=here, number=number)

    def _delete_positions(self, commit: Commit) -> list[ListedFile]:
        first = self.files[commit.file % len(self.files)]
        is_alone = commit.scope in ("reference", "full")
        # A file with positions is for data files of one partition, and none of those with a vector.
        models = [
            model
            for model in ([first] if is_alone else self.files)
            if model.partition == first.partition and model.vector is None
        ]
        deleted = [(model, position % len(model.rows)) for model in models for position in commit.positions]
        if not deleted:
            return []
        for model, position in deleted:
            model.by_position.add(position)
        return [
            self.table.positions(
                [(model.file.path, position) for model, position in deleted],
                bounds="none" if commit.scope == "reference" else commit.scope,
                reference=first.file.path if commit.scope == "reference" else None,
                spec_id=first.file.spec_id,
                partition=first.file.partition,
            )
        ]

    def _delete_values(self, commit: Commit, number: int) -> ListedFile:
        partition = () if commit.spec == UNPARTITIONED else (commit.rows[0]["s"],)
        names = [item["name"] for item in FIELDS if item["id"] in commit.ids]
        values = {tuple(row[name] for name in names) for row in commit.rows}
        for model in self.files:
            applies = commit.spec == UNPARTITIONED or model.partition == (commit.spec, partition)
            if applies and model.number < number:
                model.by_value |= {
                    position
                    for position, row in enumerate(model.rows)
                    if tuple(row[name] for name in names) in values
                }
        return self.table.values(commit.ids, commit.rows, spec_id=commit.spec, partition=partition)


def problem_of_history(history: Iterable[Commit], folder: Path) -> str | None:
    """Return the first thing in which a version differs from the model; None if all versions agree."""
    modelled = ModelledTable(folder)
    for commit in history:
        modelled.commit(commit)
    for id_, expected in modelled.versions.items():
        version = open_iceberg_version(str(folder), version=id_)
        rows = rows_by_file(version)
        if rows.keys() != expected.keys():
            return f"{id_}: other files"
        for path, live in expected.items():
            if _bag(rows[path]) != _bag(live):
                return f"{id_}: {path} has {rows[path]} instead of {live}"
        wrong = problem_of_blocks(version, ("id", "s"))
        if wrong is not None:
            return f"{id_}: {wrong}"
    return None


def _bag(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row["id"], row["s"]) for row in rows)
