"""A table as its store last saw it, opened without a list of its files in memory ([M] 5.1).

A version of a store's log names the files of each pack in a section of its own. A snapshot knows the packs
alone; the files of a pack are read when they are needed. So a table of millions of files is searched in the
time that the search of its packs takes.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import DamagedMetadataWarning
from pruning.metadata.files.object_stores import Status, listing_once
from pruning.metadata.files.places import Place
from pruning.metadata.store.log import FILES, FORMAT, record_in, version_path, versions_of
from pruning.metadata.store.packs import Missing, Pack, from_bytes, open_pack
from pruning.metadata.store.searching import ExcludedFiles, PacksToSearch, Question, search_packs
from pruning.metadata.store.store import PackFiles, add_packs
from pruning.metadata.table.blocks import Shard, rename


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPack:
    """A pack of blocks, and those of its files that a snapshot has.

    Attributes:
        name: The pack's name.
        version: The version of the log that names the files.
        section: The number of the section of that version that has them.
        first: The first of their paths.
        directories: The directories that they are in, relative to the table's.
        rows: Their rows in the pack; shape (files,).
    """

    name: str
    version: Pack
    section: int
    first: str
    directories: tuple[str, ...]
    rows: np.ndarray

    def files(self) -> pa.Table:
        """Return the files, as `pruning.metadata.store.log.FILES` describes.

        Raises:
            Damaged: the version is not as it was written, or has been deleted.
        """
        (data,) = self.version.sections([str(self.section)])
        table = from_bytes(data)
        if len(table) == len(self.rows):
            return table
        return table.filter(pc.is_in(table["row"], value_set=pa.array(self.rows, pa.int32())))


class FilesLeft(NamedTuple):
    """The files of a snapshot that may hold a needed row.

    Attributes:
        snapshot: The snapshot of these files alone.
        files: The files, as `pruning.metadata.store.log.FILES` describes, in the order of their paths; the
            row of a file is its place in that order.
        shards: Their block metadata, as far as it is kept; a file's name is its place in decimal digits.
        excluded: The other files that were searched.
        unsearched: The number of the files that were excluded before the search.
        groups_read, groups_total: As in `SearchResult`.
    """

    snapshot: "Snapshot"
    files: pa.Table
    shards: list[Shard]
    excluded: list[ExcludedFiles]
    unsearched: int
    groups_read: int
    groups_total: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """The files that a table held when it was listed last.

    Attributes:
        place: Where the store is.
        packs: The packs that have their metadata.
        file_count: The number of files.
        size_bytes: Their bytes together.
        looked_us: When the table was listed, in microseconds since 1970.
        is_whole: True if all of the table was listed then.
    """

    place: Place
    packs: tuple[SnapshotPack, ...]
    file_count: int
    size_bytes: int
    looked_us: int
    is_whole: bool

    @property
    def first(self) -> str:
        """The first path of a file, relative to the table's directory."""
        return min(pack.first for pack in self.packs)

    @property
    def directories(self) -> list[str]:
        """The directories that files are in, relative to the table's, sorted."""
        return sorted({directory for pack in self.packs for directory in pack.directories})

    def files(self) -> pa.Table:
        """Return all files, as `pruning.metadata.store.log.FILES` describes.

        Raises:
            Damaged: a version is not as it was written, or has been deleted.
        """
        return _in_order(pa.concat_tables([FILES.empty_table(), *(pack.files() for pack in self.packs)]))

    def search(
        self,
        columns: Collection[str] | None,
        question: Question,
        *,
        directories: AbstractSet[str] | None = None,
        spark: Any = None,
    ) -> FilesLeft:
        """Search the snapshot for the files that may hold a needed row.

        Args:
            columns: The top-level columns to read; None for all.
            question: Marks the blocks that may hold a needed row.
            directories: The directories to search, relative to the table's; None is all of them.
            spark: As for `search_packs`.
        Raises:
            Damaged: a version, or the metadata of a pack, is not as it was written or has been deleted.
        """
        packs = [pack for pack in (_within(pack, directories) for pack in self.packs) if len(pack.rows)]
        table = PacksToSearch([])
        files_by_pack = {
            pack.name: PackFiles(pack.rows, _Keys(number, pack.rows)) for number, pack in enumerate(packs)
        }
        add_packs(table, self.place, files_by_pack)
        searched = search_packs(table, columns, question, spark=spark)
        for sentence in searched.damaged:
            warnings.warn(f"{sentence}; its files are not excluded", DamagedMetadataWarning, stacklevel=2)
        keys = [key for shard in searched.shards for key in shard.files]
        if searched.damaged:
            keys += _unknown_keys(packs, keys, searched.excluded)
        left = _packs_of_keys(packs, keys)
        files, places = _files_and_places(left)
        return FilesLeft(
            replace(self, packs=tuple(left.values()), file_count=len(files)),
            files,
            [rename(shard, {key: places[key] for key in shard.files}) for shard in searched.shards],
            searched.excluded,
            self.file_count - sum(len(pack.rows) for pack in packs),
            searched.groups_read,
            searched.groups_total,
        )


def open_snapshot(place: Place) -> Snapshot | None:
    """Return the newest snapshot of a place's store; None if it has none.

    Raises:
        Damaged: a version is not as it was written.
    """
    with listing_once():
        return _open_snapshot(place)


def _open_snapshot(place: Place) -> Snapshot | None:
    versions = versions_of(place)
    newest = max(versions, default=0)
    if newest == 0:
        return None
    last = _open_version(place, versions, newest)
    if last.notes["format"] != FORMAT:
        return None
    replaced: dict[str, list[int]] = {}
    packs: dict[str, SnapshotPack] = {}
    record: dict[str, Any] = {}
    for number in range(last.notes["base"], newest + 1):
        version = last if number == newest else _open_version(place, versions, number)
        record = record_in(version)
        for name, rows in record.get("replaced", {}).items():
            replaced.setdefault(name, []).extend(rows)
        for section, (name, described) in enumerate(zip(record["packs"], record["described"], strict=True)):
            packs[name] = SnapshotPack(
                name=name,
                version=version,
                section=section,
                first=described["first"],
                directories=tuple(described["directories"]),
                rows=_rows(described["rows"]),
            )
    file_count, size_bytes = last.notes["totals"]
    left = (_without(pack, replaced.get(name, ())) for name, pack in packs.items())
    return Snapshot(
        place=place,
        packs=tuple(pack for pack in left if len(pack.rows)),
        file_count=file_count,
        size_bytes=size_bytes,
        looked_us=record["looked_us"],
        is_whole=last.notes["whole"],
    )


def _open_version(place: Place, versions: Mapping[int, Callable[[], Status]], number: int) -> Pack:
    """Open a version of the log.

    Raises:
        Damaged: it is not as it was written, or has been deleted.
    """
    try:
        identity = versions[number]().identity
    except (KeyError, OSError) as error:
        raise Missing(f"{place.folder}: version {number} is missing") from error
    return open_pack(version_path(place, number), identity)


def _rows(described: int | list[int]) -> np.ndarray:
    """Return the rows of a pack that a version describes: all of so many, or these."""
    return np.arange(described) if isinstance(described, int) else np.array(described, np.int64)


def _without(pack: SnapshotPack, rows: Collection[int]) -> SnapshotPack:
    """Return a pack without some of its files."""
    if not rows:
        return pack
    left = replace(pack, rows=np.setdiff1d(pack.rows, np.array(sorted(rows), np.int64)))
    paths = paths_of(left.files())
    return replace(
        left,
        first=min(paths, default=""),
        directories=tuple(sorted({_directory(path) for path in paths})),
    )


def _within(pack: SnapshotPack, directories: AbstractSet[str] | None) -> SnapshotPack:
    """Return a pack with those of its files that are in some directories."""
    if directories is None or directories >= set(pack.directories):
        return pack
    if directories.isdisjoint(pack.directories):
        return replace(pack, rows=np.zeros(0, np.int64))
    files = pack.files()
    inside = np.array([_directory(path) in directories for path in paths_of(files)], bool)
    return replace(pack, rows=files["row"].to_numpy()[inside].astype(np.int64))


def paths_of(files: pa.Table) -> list[str]:
    """Return the paths of files, relative to the table's directory."""
    return [path.decode("utf-8", "surrogateescape") for path in files["path"].to_pylist()]


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _in_order(files: pa.Table) -> pa.Table:
    """Return files in the order of their paths; the row of a file is its place in that order."""
    files = files.sort_by("path").combine_chunks()
    place = FILES.get_field_index("row")
    return files.set_column(place, FILES.field(place), pa.array(range(len(files)), pa.int32()))


@dataclass(frozen=True, slots=True)
class _Keys:
    """Gives the files of a pack keys: the number of the pack and the row, as `number/row`."""

    number: int
    rows: np.ndarray

    def __call__(self, rows: Sequence[int]) -> "_KeysOfRows":
        """Return the keys of files by their rows; "" for one that is not asked for."""
        return _KeysOfRows(self, np.array(rows, np.int64))


@dataclass(frozen=True, slots=True)
class _KeysOfRows(Sequence[str]):
    """The keys of some files, which are spelled when they are read."""

    keys: _Keys
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> "_KeysOfRows": ...

    def __getitem__(self, place: int | slice) -> "str | _KeysOfRows":
        if isinstance(place, slice):
            return _KeysOfRows(self.keys, self.rows[place])
        return next(iter(self[place : place + 1 or None]))

    def __iter__(self) -> Iterator[str]:
        is_asked_for = np.isin(self.rows, self.keys.rows)
        for row, asked_for in zip(self.rows.tolist(), is_asked_for.tolist(), strict=True):
            yield f"{self.keys.number}/{row}" if asked_for else ""


def _unknown_keys(
    packs: Sequence[SnapshotPack], keys: Iterable[str], excluded: Iterable[ExcludedFiles]
) -> list[str]:
    """Return the keys of the files of which a search has told nothing."""
    searched = {*keys, *chain.from_iterable(part.files for part in excluded)}
    all_keys = (
        key for number, pack in enumerate(packs) for key in _Keys(number, pack.rows)(pack.rows.tolist())
    )
    return [key for key in all_keys if key not in searched]


def _packs_of_keys(packs: Sequence[SnapshotPack], keys: Iterable[str]) -> dict[int, SnapshotPack]:
    """Return the packs with the files that have some keys alone, by their numbers."""
    rows_of: dict[int, list[int]] = {}
    for key in keys:
        number, _, row = key.partition("/")
        rows_of.setdefault(int(number), []).append(int(row))
    return {number: replace(packs[number], rows=np.sort(rows)) for number, rows in rows_of.items()}


def _files_and_places(packs: Mapping[int, SnapshotPack]) -> tuple[pa.Table, dict[str, str]]:
    """Return the files of packs, in the order of their paths, and their places in it by their keys.

    Raises:
        Damaged: a version is not as it was written, or has been deleted.
    """
    parts = [pack.files() for pack in packs.values()]
    numbers = [number for number, part in zip(packs, parts, strict=True) for _ in range(len(part))]
    files = pa.concat_tables([FILES.empty_table(), *parts])
    keys = [f"{number}/{row}" for number, row in zip(numbers, files["row"].to_pylist(), strict=True)]
    order = pc.sort_indices(files["path"]).to_pylist()
    return _in_order(files), {keys[at]: str(place) for place, at in enumerate(order)}
