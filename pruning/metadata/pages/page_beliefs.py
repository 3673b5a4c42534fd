"""Trust in page indexes: one table of doubts about the index of a column chunk, each with its reason.

The places of pages are believed as a whole or not at all, and so are their bounds and counts, which need the
places. What an index then says of each page is judged by the doubts about
footers (`pruning.metadata.footers.trust`), as if the page were a chunk, and nothing is believed of a page
that a doubt has taken from its chunk: a writer errs in both alike.

Claim     The rows of a believed page have as many NULLs as its count says, and their values that are
          neither NULL nor NaN are within its bounds; what is unknown says nothing.
Premises  The writer's statistics of pages are true where no doubt applies. A page has the rows from its first
          row up to the next page's first row, or to the end of the row group.
Proof     By the premises. In a page that is marked as NULL throughout, all rows are NULL, and the bytes in
          the place of its bounds are ignored.
Unsound   if bounds of a NULL page are taken for values; if a page without a NULL count, which is optional,
          counts as free of NULL; if bounds count as attained, because a writer may truncate them;
          if pages are taken to be in order because the index says so; if the elements of an array count as
          rows, or its pages are taken to begin with a row, as the format demands and older writers do not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.chunk_facts import ChunkFacts, chunk_facts, without
from pruning.metadata.footers.evidence import Claim, ColumnTraits, Provenance, evidence_of
from pruning.metadata.footers.footer import Chunk, Statistics
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.footers.trust import beliefs, doubts
from pruning.metadata.pages.page_facts import ColumnIndexFacts, OffsetIndexFacts, PageFacts
from pruning.metadata.table.believing import typed_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlaces:
    """The places of the pages of one column in one row group.

    Attributes:
        first_rows: The first row of each page, inside the row group; shape (pages,), from 0 on, rising.
        row_counts: The number of rows of each page.
        offsets, sizes: The place of each page in the file, and its compressed bytes, its header among them.
        index_bytes: The bytes of the two indexes themselves.
    """

    first_rows: Numbers
    row_counts: Numbers
    offsets: Numbers
    sizes: Numbers
    index_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPages(PagePlaces):
    """The pages of one column in one row group, as far as anything is known of them.

    Attributes:
        null_counts: The number of NULLs of each page; null is unknown.
        nan_counts: The number of NaNs of each page; null is unknown.
        min, max: Bounds of the values of each page that are neither NULL nor NaN; null is unknown.
        is_stated: Whether the file states these bounds, by which its readers skip pages.
    """

    null_counts: pa.Array
    nan_counts: pa.Array
    min: pa.Array
    max: pa.Array
    is_stated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEvidence:
    """The facts that doubts about the page index of one chunk may use.

    Attributes:
        traits: The column's.
        chunk: The chunk.
        rows: The number of rows of its row group.
        facts: Its indexes.
        shared: True if another chunk of the file names the same bytes as its own index.
        beside_unplaced: True if some chunk of its row group has no offset index.
    """

    traits: ColumnTraits
    chunk: Chunk
    rows: int
    facts: PageFacts
    shared: bool
    beside_unplaced: bool

    @property
    def columns(self) -> ColumnIndexFacts:
        """The column index, which must have been readable."""
        assert self.facts.column_index is not None
        return self.facts.column_index

    @property
    def places(self) -> OffsetIndexFacts:
        """The offset index, which must have been readable."""
        assert self.facts.offset_index is not None
        return self.facts.offset_index

    @property
    def row_counts(self) -> list[int]:
        """The number of rows of each page, by its first row and that of the next page."""
        return [end - start for start, end in pairwise([*self.places.first_rows, self.rows])]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDoubt:
    """A reason not to believe the page index of a chunk, or even the places of its pages."""

    name: str
    reason: str
    applies: Callable[[PageEvidence], bool]
    takes_places: bool = False


# A doubt may assume that no earlier one applies.
DOUBTS: tuple[PageDoubt, ...] = (
    PageDoubt(
        name="unreadable places",
        reason="the offset index is missing, or its bytes are something else",
        applies=lambda e: e.facts.offset_index is None,
        takes_places=True,
    ),
    PageDoubt(
        name="elements of arrays",
        reason="elements are not rows, and older writers let a page begin in the middle of a row",
        applies=lambda e: e.traits.repeated,
        takes_places=True,
    ),
    PageDoubt(
        name="shared index",
        reason="an index that two chunks name is that of one of them at most",
        applies=lambda e: e.shared,
        takes_places=True,
    ),
    PageDoubt(
        name="columns without places",
        reason="readers skip no page of a row group if a column that they read has no offset index",
        applies=lambda e: e.beside_unplaced,
        takes_places=True,
    ),
    PageDoubt(
        name="pages without rows",
        reason="first rows begin with 0, rise from page to page, and are rows of the row group",
        applies=lambda e: e.places.first_rows[:1] != [0] or min(e.row_counts) < 1,
        takes_places=True,
    ),
    PageDoubt(
        name="pages of another chunk",
        reason="pages lie one after the other in the bytes of their chunk",
        applies=lambda e: not _lie_in_chunk(e),
        takes_places=True,
    ),
    PageDoubt(
        name="unreadable bounds",
        reason="the column index is missing, or its bytes are something else",
        applies=lambda e: e.facts.column_index is None,
    ),
    PageDoubt(
        name="lists of unequal length",
        reason="each list of the two indexes has one entry for each page",
        applies=lambda e: len(_lengths(e)) > 1,
    ),
    PageDoubt(
        name="NULL pages with values",
        reason="a page that is marked as NULL throughout has as many NULLs as rows, where NULL may occur",
        applies=lambda e: any(e.columns.null_pages) and not _null_pages_agree(e),
    ),
    PageDoubt(
        name="NULLs of another chunk",
        reason="the NULLs of a chunk are those of its pages",
        applies=lambda e: not _null_counts_agree(e),
    ),
)


def first_doubt(evidence: PageEvidence) -> PageDoubt | None:
    """Return the first doubt that applies to an index; None if it is believed."""
    return next((doubt for doubt in DOUBTS if doubt.applies(evidence)), None)


def believed_places(evidence: PageEvidence) -> PagePlaces | None:
    """Return the places of the pages of a chunk; None if a doubt takes them."""
    is_doubted = any(doubt.takes_places and doubt.applies(evidence) for doubt in DOUBTS)
    return None if is_doubted else _places(evidence)


def _places(evidence: PageEvidence) -> PagePlaces:
    """Return the places of the pages of a chunk, of which there is no doubt."""
    places = evidence.places
    return PagePlaces(
        first_rows=np.array(places.first_rows, np.int64),
        row_counts=np.array(evidence.row_counts, np.int64),
        offsets=np.array(places.offsets, np.int64),
        sizes=np.array(places.sizes, np.int64),
        index_bytes=sum(index.size for index in evidence.chunk.indexes),
    )


def believed_pages(evidence: PageEvidence, source: Provenance) -> ColumnPages | None:
    """Return what is believed of the pages of a chunk; None if a doubt applies to their index.

    Args:
        evidence: The facts about the chunk and its index.
        source: The file's writer.
    """
    if first_doubt(evidence) is not None:
        return None
    places = _places(evidence)
    traits, rows = evidence.traits, places.row_counts
    believed = beliefs(_facts_as_of_chunks(evidence), rows, traits, source)
    minima, maxima = typed_bounds(believed, traits)
    doubted = _doubted_claims(evidence, source)
    everywhere: Mask = np.ones(len(rows), np.bool_)
    return ColumnPages(
        first_rows=places.first_rows,
        row_counts=rows,
        null_counts=without(believed.null_count, everywhere & (Claim.NULL_COUNT in doubted)),
        min=without(minima, everywhere & (Claim.MIN in doubted)),
        nan_counts=pa.nulls(len(rows), pa.int64()),
        max=without(maxima, everywhere & (Claim.MAX in doubted)),
        is_stated=True,
        offsets=places.offsets,
        sizes=places.sizes,
        index_bytes=places.index_bytes,
    )


def _facts_as_of_chunks(evidence: PageEvidence) -> ChunkFacts:
    """Return the facts of pages in the form of facts of chunks: a value, maybe NULL, in each row."""
    columns, row_counts = evidence.columns, evidence.row_counts
    null_counts: Sequence[int | None] = columns.null_counts or [
        rows if is_null else None for rows, is_null in zip(row_counts, columns.null_pages, strict=True)
    ]
    pages = zip(
        row_counts, columns.null_pages, null_counts, columns.min_values, columns.max_values, strict=True
    )
    return chunk_facts(
        [
            Chunk(
                value_count=rows,
                byte_count=None,
                byte_offset=None,
                statistics=Statistics(
                    min_value=None if is_null else lower,
                    max_value=None if is_null else upper,
                    null_count=null_count,
                ),
            )
            for rows, is_null, null_count, lower, upper in pages
        ]
    )


def _doubted_claims(evidence: PageEvidence, source: Provenance) -> Claim:
    """Return what some doubt takes from the chunk, and so from each of its pages."""
    of_chunk = evidence_of(
        chunk_facts([evidence.chunk]), np.array([evidence.rows], np.int64), evidence.traits, source
    )
    claims = Claim(0)
    for doubt, chunks in doubts(of_chunk):
        if chunks[0]:
            claims |= doubt.takes
    return claims


def _lengths(evidence: PageEvidence) -> set[int]:
    columns, places = evidence.columns, evidence.places
    lists: list[Sequence[object]] = [
        columns.null_pages, columns.min_values, columns.max_values, places.offsets
    ]  # fmt: skip
    if columns.null_counts is not None:
        lists.append(columns.null_counts)
    return set(map(len, lists))


def _lie_in_chunk(evidence: PageEvidence) -> bool:
    chunk, places = evidence.chunk, evidence.places
    if chunk.byte_offset is None or chunk.byte_count is None or min(places.sizes) < 0:
        return False
    ends = [offset + size for offset, size in zip(places.offsets, places.sizes, strict=True)]
    edges = chain.from_iterable(zip(places.offsets, ends, strict=True))
    in_line = all(low <= high for low, high in pairwise(edges))
    return (
        in_line
        and chunk.byte_offset <= places.offsets[0]
        and ends[-1] <= chunk.byte_offset + chunk.byte_count
    )


def _null_pages_agree(evidence: PageEvidence) -> bool:
    counts = evidence.columns.null_counts or evidence.row_counts
    pages = zip(evidence.columns.null_pages, counts, evidence.row_counts, strict=True)
    return not evidence.traits.required and all(count == rows for is_null, count, rows in pages if is_null)


def _null_counts_agree(evidence: PageEvidence) -> bool:
    of_chunk, of_pages = evidence.chunk.statistics.null_count, evidence.columns.null_counts
    return of_chunk is None or of_pages is None or of_chunk == sum(of_pages)
