"""Reading of page indexes: of the row groups that are left and of the columns that are named alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.locations import NoFileSystem, locate
from pruning.metadata.footers.evidence import Provenance
from pruning.metadata.footers.footer import ByteRange, Footer, RowGroup, read_footer
from pruning.metadata.footers.frames import FrameColumn, frame_of
from pruning.metadata.pages.page_beliefs import ColumnPages, PageEvidence, believed_pages
from pruning.metadata.pages.page_facts import PageFacts, read_page_facts

# Threads overlap the waiting for storage.
_THREADS = 8
# The believed pages of the columns of one row group, by the columns' names in block metadata.
GroupPages = Mapping[str, ColumnPages]
_NO_PAGES: GroupPages = {}


def read_pages(metadata: pa.Table, columns: Collection[str]) -> list[GroupPages]:
    """Return the believed pages of some columns of each row group; empty for one without page indexes.

    The footer of each file is read again, because it has the places of the indexes. A row group that is not
    there any more, or is in a file that only a session reads, has no pages.

    Args:
        metadata: Block metadata of row groups of Parquet files.
        columns: The names of columns in it; those of elements of arrays never have pages.
    Raises:
        InputError: a file cannot be read or is damaged.
    """
    rows_by_file: dict[str, list[int]] = {}
    locators = metadata.select(["file", "row_group", "row_count", "byte_offset"]).to_pylist()
    for row, locator in enumerate(locators):
        rows_by_file.setdefault(locator["file"], []).append(row)

    def read(file: str) -> list[GroupPages]:
        return _read_file(file, [locators[row] for row in rows_by_file[file]], columns)

    pages = [_NO_PAGES] * len(locators)
    if columns:
        with ThreadPoolExecutor(_THREADS) as pool:
            for rows, groups in zip(rows_by_file.values(), pool.map(read, rows_by_file), strict=True):
                for row, group in zip(rows, groups, strict=True):
                    pages[row] = group
    return pages


def directory_names(files: Iterable[str]) -> frozenset[str]:
    """Return the names of columns that directories may give to the files below them, `day=2024-01-01`.

    Such a column hides one of the files with the same name. The letter case of names is folded.
    """
    # A URI may be escaped, and so may the name in it.
    spellings = {spelling for file in files for spelling in (file, unquote(file))}
    directories = {part for file in spellings for part in file.split("/")[:-1] if "=" in part}
    return frozenset(unquote(part.partition("=")[0]).casefold() for part in directories)


def _read_file(
    file: str, locators: Sequence[Mapping[str, int]], columns: Collection[str]
) -> list[GroupPages]:
    """Return the believed pages of row groups of one file."""
    try:
        system, path = locate(file)
    except NoFileSystem:
        return [_NO_PAGES] * len(locators)
    footer = read_footer(file)
    frame = frame_of(footer)
    chosen = [column for column in frame.columns if column.name in columns]
    groups = [_row_group(footer, locator) for locator in locators]
    present = [(place, group) for place, group in enumerate(groups) if group is not None]
    chunks = [group.chunks[column.chunk] for _, group in present for column in chosen]
    try:
        with system.open_input_file(path) as handle:
            facts = read_page_facts(handle, chunks)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read ({error}); check the path and its permissions") from error
    indexes = Counter(
        index for group in footer.row_groups for chunk in group.chunks for index in chunk.indexes
    )
    pages = [_NO_PAGES] * len(groups)
    for ordinal, (place, group) in enumerate(present):
        of_group = facts[ordinal * len(chosen) : (ordinal + 1) * len(chosen)]
        pages[place] = _group_pages(group, chosen, of_group, indexes, frame.source)
    return pages


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
