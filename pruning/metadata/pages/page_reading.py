"""Reading of page indexes: of the row groups that are left and of the columns that are named alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.locations import NoFileSystem, locate
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
from pruning.metadata.pages.page_beliefs import ColumnPages, PageEvidence, believed_pages
from pruning.metadata.pages.page_facts import PageFacts, read_page_facts

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


class ArrowFiles:
    """Files that Arrow's file systems read: local ones, and those of stores that Arrow knows."""

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


def read_pages(
    metadata: pa.Table, columns: Collection[str], source: PageFiles | None = None
) -> list[GroupPages]:
    """Return the believed pages of some columns of each row group; empty for one without page indexes.

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
    groups_of_files = {
        file: _PagedFile.of(
            parse_footer(file, footer), [locators[row] for row in rows_by_file[file]], columns
        )
        for file, footer in zip(rows_by_file, raw, strict=True)
        if footer is not None
    }
    facts = read_page_facts({file: paged.chunks for file, paged in groups_of_files.items()}, source.ranges)
    for file, paged in groups_of_files.items():
        for row, of_group in zip(rows_by_file[file], paged.pages(facts[file]), strict=True):
            pages[row] = of_group
    return pages


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
    """A file some of whose row groups are cut at pages; None stands for one that is not there any more."""

    footer: Footer
    source: Provenance
    columns: Sequence[FrameColumn]
    groups: Sequence[RowGroup | None]

    @classmethod
    def of(
        cls, footer: Footer, locators: Sequence[Mapping[str, int]], columns: Collection[str]
    ) -> "_PagedFile":
        """Return the columns of these names, and the row groups at these places."""
        frame = frame_of(footer)
        chosen = [column for column in frame.columns if column.name in columns]
        return cls(footer, frame.source, chosen, [_row_group(footer, locator) for locator in locators])

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks of the columns, row group by row group."""
        return [
            group.chunks[column.chunk]
            for group in self.groups
            if group is not None
            for column in self.columns
        ]

    def pages(self, facts: Sequence[PageFacts]) -> Iterator[GroupPages]:
        """Yield the believed pages of each row group, by the facts about its chunks."""
        # An index that two chunks name is believed of neither.
        indexes = Counter(
            index for group in self.footer.row_groups for chunk in group.chunks for index in chunk.indexes
        )
        of_chunks = iter(facts)
        for group in self.groups:
            if group is None:
                yield _NO_PAGES
                continue
            of_group = [next(of_chunks) for _ in self.columns]
            yield _group_pages(group, self.columns, of_group, indexes, self.source)


def _group_pages(
    group: RowGroup,
    columns: Sequence[FrameColumn],
    facts: Sequence[PageFacts],
    indexes: Counter[ByteRange],
    source: Provenance,
) -> GroupPages:
    """Return the believed pages of columns of a row group; `indexes` counts who names which index."""
    pages: dict[str, ColumnPages] = {}
    for column, facts_of_column in zip(columns, facts, strict=True):
        chunk = group.chunks[column.chunk]
        evidence = PageEvidence(
            traits=column.traits,
            chunk=chunk,
            rows=group.row_count,
            facts=facts_of_column,
            shared=any(indexes[index] > 1 for index in chunk.indexes),
        )
        believed = believed_pages(evidence, source)
        if believed is not None:
            pages[column.name] = believed
    return pages


def _row_group(footer: Footer, locator: Mapping[str, int]) -> RowGroup | None:
    """Return the row group at a locator; None if the footer has another one there, or none."""
    if locator["row_group"] >= len(footer.row_groups):
        return None
    group = footer.row_groups[locator["row_group"]]
    offsets = [chunk.byte_offset for chunk in group.chunks if chunk.byte_offset is not None]
    first = min(offsets, default=None) if len(offsets) == len(group.chunks) else None
    is_same = group.row_count == locator["row_count"] and first == locator["byte_offset"]
    return group if is_same else None
