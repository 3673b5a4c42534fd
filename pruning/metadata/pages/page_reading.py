"""Reading of page indexes: of the row groups that are left and of the columns that are named alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.names import top_column
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.locations import NoFileSystem, is_on_local_disk, locate
from pruning.metadata.footers.evidence import Provenance
from pruning.metadata.footers.footer import (
    ByteRange,
    Chunk,
    Footer,
    RowGroup,
    parse_footer,
    read_footer_bytes,
)
from pruning.metadata.footers.frames import FrameColumn, frame_of
from pruning.metadata.pages.measured_pages import MeasuredFiles, MeasuredPages, pages_of_shards, with_measured
from pruning.metadata.pages.page_beliefs import (
    ColumnPages,
    PageEvidence,
    PagePlaces,
    believed_pages,
    believed_places,
)
from pruning.metadata.pages.page_facts import PageFacts, read_page_facts
from pruning.metadata.store.measured_packs import MEASURED_PAGES, measured_packs, measured_shards

# Threads overlap the waiting for storage.
_THREADS = 8
# The believed pages of the columns of one row group, by the columns' names in block metadata.
GroupPages = Mapping[str, ColumnPages]
_NO_PAGES: GroupPages = {}


class PageFiles(Protocol):
    """Files, some of whose bytes are read."""

    def footers(self, files: Sequence[str]) -> Sequence[bytes | None]:
        """Return the bytes of the footer of each file; None for a file that is not read here.

        Raises:
            InputError: a file cannot be read, is encrypted, or is no Parquet file.
        """

    def ranges(self, places: Sequence[tuple[str, ByteRange]]) -> Sequence[bytes]:
        """Return so many bytes of files at these places, or fewer at the end of a file.

        Raises:
            InputError: a file cannot be read.
        """

    def measured_pages(self, files: Sequence[str], columns: Collection[str]) -> MeasuredFiles:
        """Return what `pruning.backfill` measured of the pages of columns."""


@dataclass(frozen=True, slots=True)
class ArrowFiles:
    """Files that Arrow's file systems read: local ones, and those of stores that Arrow knows.

    Attributes:
        cache: Whether what is kept beside the files is used.
    """

    cache: bool = True

    def footers(self, files: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of the footers; None for a file of a store that Arrow does not know."""

        def footer(file: str) -> bytes | None:
            try:
                return read_footer_bytes(file)
            except NoFileSystem:
                return None

        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(footer, files))

    def ranges(self, places: Sequence[tuple[str, ByteRange]]) -> list[bytes]:
        """Return the bytes at these places; each file is opened once."""
        of_files: dict[str, list[ByteRange]] = {}
        for file, place in places:
            of_files.setdefault(file, []).append(place)

        def read(file: str) -> list[bytes]:
            try:
                system, path = locate(file)
                with system.open_input_file(path) as handle:
                    return [handle.read_at(place.size, place.offset) for place in of_files[file]]
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"{file}: cannot be read ({error}); check the path and its permissions"
                ) from error

        with ThreadPoolExecutor(_THREADS) as pool:
            parts = {file: iter(part) for file, part in zip(of_files, pool.map(read, of_files), strict=True)}
        return [next(parts[file]) for file, _ in places]

    def measured_pages(self, files: Sequence[str], columns: Collection[str]) -> MeasuredFiles:
        """Return what was measured of local files that are unchanged."""
        if not files or not self.cache or not all(map(is_on_local_disk, files)):
            return {}
        listing = list_files(files, patterns=False)
        packs = measured_packs(listing, MEASURED_PAGES)
        return pages_of_shards(measured_shards(packs, listing, {top_column(name) for name in columns}))


def read_pages(
    metadata: pa.Table, columns: Collection[str], source: PageFiles | None = None
) -> list[GroupPages]:
    """Return what is known of the pages of some columns of each row group; empty without page indexes.

    The footer of each file is read again, because it has the places of the indexes. A row group that is not
    there any more has no pages.

    Args:
        metadata: Block metadata of row groups of Parquet files.
        columns: The names of columns in it; those of elements of arrays never have pages.
        source: Reads the files; None is `ArrowFiles`.
    Raises:
        InputError: a file cannot be read or is damaged.
    """
    pages = [_NO_PAGES] * len(metadata)
    if not columns:
        return pages
    source = source or ArrowFiles()
    rows_by_file: dict[str, list[int]] = {}
    locators = metadata.select(["file", "row_group", "row_count", "byte_offset"]).to_pylist()
    for row, locator in enumerate(locators):
        rows_by_file.setdefault(locator["file"], []).append(row)
    raw = source.footers(list(rows_by_file))
    footers = {
        file: parse_footer(file, data)
        for file, data in zip(rows_by_file, raw, strict=True)
        if data is not None
    }
    groups_of_files = {
        file: _PagedFile.of(
            footer, [_row_group(footer, locators[row]) for row in rows_by_file[file]], columns
        )
        for file, footer in footers.items()
    }
    facts = read_page_facts({file: paged.chunks for file, paged in groups_of_files.items()}, source.ranges)
    measured = source.measured_pages(list(groups_of_files), columns)
    for file, paged in groups_of_files.items():
        of_groups = paged.pages(facts[file], measured.get(file, {}))
        for row, of_group in zip(rows_by_file[file], of_groups, strict=True):
            pages[row] = of_group
    return pages


def read_places(file: str, columns: Collection[str]) -> list[dict[str, PagePlaces]]:
    """Return the places of the pages of columns in each row group of a file, as far as they are believed.

    Args:
        file: Its path or URI.
        columns: The columns by their names in block metadata.
    Raises:
        InputError: the file cannot be read or is damaged.
    """
    source = ArrowFiles()
    (raw,) = source.footers([file])
    if raw is None:
        return []
    footer = parse_footer(file, raw)
    paged = _PagedFile.of(footer, list(enumerate(footer.row_groups)), columns)
    facts = read_page_facts({file: paged.chunks}, source.ranges)[file]
    return [
        {
            name: places
            for name, evidence in of_group.items()
            if (places := believed_places(evidence)) is not None
        }
        for of_group in paged.evidence(facts)
    ]


def directory_names(files: Iterable[str]) -> frozenset[str]:
    """Return the names of columns that directories may give to the files below them, `day=2024-01-01`.

    Such a column hides one of the files with the same name. The letter case of names is folded.
    """
    # A URI may be escaped, and so may the name in it.
    spellings = {spelling for file in files for spelling in (file, unquote(file))}
    directories = {part for file in spellings for part in file.split("/")[:-1] if "=" in part}
    return frozenset(unquote(part.partition("=")[0]).casefold() for part in directories)


@dataclass(frozen=True, slots=True)
class _PagedFile:
    """A file some of whose row groups are cut at pages; None stands for one that is not there any more.

    Each row group has its ordinal beside it.
    """

    footer: Footer
    source: Provenance
    columns: Sequence[FrameColumn]
    groups: Sequence[tuple[int, RowGroup | None]]

    @classmethod
    def of(
        cls, footer: Footer, groups: Sequence[tuple[int, RowGroup | None]], columns: Collection[str]
    ) -> "_PagedFile":
        """Return the columns of these names, and some row groups."""
        frame = frame_of(footer)
        chosen = [column for column in frame.columns if column.name in columns]
        return cls(footer, frame.source, chosen, groups)

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of the columns, row group by row group."""
        return [
            group.chunks[column.chunk]
            for _, group in self.groups
            if group is not None
            for column in self.columns
        ]

    def evidence(self, facts: Sequence[PageFacts]) -> Iterator[dict[str, PageEvidence]]:
        """Yield the evidence about the columns of each row group, by the facts about their chunks."""
        # An index that two chunks name is believed of neither.
        indexes = Counter(
            index for group in self.footer.row_groups for chunk in group.chunks for index in chunk.indexes
        )
        of_chunks = iter(facts)
        for _, group in self.groups:
            of_group: dict[str, PageEvidence] = {}
            unplaced = group is not None and any(chunk.offset_index is None for chunk in group.chunks)
            for column in self.columns:
                if group is None:
                    break
                chunk = group.chunks[column.chunk]
                of_group[column.name] = PageEvidence(
                    traits=column.traits,
                    chunk=chunk,
                    rows=group.row_count,
                    facts=next(of_chunks),
                    shared=any(indexes[index] > 1 for index in chunk.indexes),
                    beside_unplaced=unplaced,
                )
            yield of_group

    def pages(
        self, facts: Sequence[PageFacts], measured: Mapping[tuple[int, str], MeasuredPages]
    ) -> Iterator[GroupPages]:
        """Yield what is known of the pages of each row group.

        Args:
            facts: The facts about their chunks.
            measured: What was measured of pages, by the row group and the name of the column.
        """
        for (ordinal, _), of_group in zip(self.groups, self.evidence(facts), strict=True):
            pages = {
                name: _column_pages(evidence, self.source, measured.get((ordinal, name)))
                for name, evidence in of_group.items()
            }
            yield {name: of_column for name, of_column in pages.items() if of_column is not None}


def _column_pages(
    evidence: PageEvidence, source: Provenance, measured: MeasuredPages | None
) -> ColumnPages | None:
    """Return what is known of the pages of a chunk; None if nothing is."""
    stated = believed_pages(evidence, source)
    places = None if measured is None else believed_places(evidence)
    if measured is None or places is None:
        return stated
    return with_measured(stated, places, measured, evidence.traits.storage.type)


def _row_group(footer: Footer, locator: Mapping[str, int]) -> tuple[int, RowGroup | None]:
    """Return the row group at a locator, with its ordinal; None if the footer has another one, or none."""
    ordinal = locator["row_group"]
    if ordinal >= len(footer.row_groups):
        return ordinal, None
    group = footer.row_groups[ordinal]
    offsets = [chunk.byte_offset for chunk in group.chunks if chunk.byte_offset is not None]
    first = min(offsets, default=None) if len(offsets) == len(group.chunks) else None
    is_same = group.row_count == locator["row_count"] and first == locator["byte_offset"]
    return ordinal, group if is_same else None
