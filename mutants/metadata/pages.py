"""Row ranges, beliefs about page indexes and blocks of runs that are wrong in one way each."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.footers.evidence import Claim
from pruning.metadata.pages import (
    kept_rows,
    measured_pages,
    page_beliefs,
    page_facts,
    page_reading,
    run_blocks,
)
from pruning.metadata.pages.page_beliefs import DOUBTS
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.verdicts import page_verdicts

_of, _combine, _contains, _overlaps = (
    RowRanges.of,
    RowRanges._combine,
    RowRanges.contains,
    RowRanges.overlaps,
)
_facts, _without, _lanes = page_beliefs._facts_as_of_chunks, kept_rows.KeptRows.without, run_blocks._run_facts


def _unsorted(pairs: Iterable[tuple[int, int]]) -> RowRanges:
    lanes = np.array([pair for pair in pairs if pair[0] < pair[1]], np.int64).reshape(-1, 2)
    return RowRanges(lanes[:, 0], lanes[:, 1])


def _with_end(self: RowRanges, rows: Any) -> Any:
    return _contains(self, rows) | np.isin(rows, self.ends)


def _between_edges_of_one(self: RowRanges, other: RowRanges, operation: Any) -> RowRanges:
    edges = np.unique(np.concatenate([self.starts, self.ends]))
    kept = operation(self.contains(edges), other.contains(edges))
    steps = np.diff(kept.astype(np.int8), prepend=0)
    return RowRanges(edges[steps > 0], edges[steps < 0])


def _overlaps_touching(self: RowRanges, starts: Any, counts: Any) -> Any:
    """Count the row after a page as its own."""
    return _overlaps(self, starts, counts + 1)


RANGE_MUTANTS: Mapping[str, Replacement] = {
    "a page has the row after it": Replacement(RowRanges, "overlaps", _overlaps_touching),
    "ranges in the order of their arrival": Replacement(RowRanges, "of", staticmethod(_unsorted)),
    "the end of a range is in it": Replacement(RowRanges, "contains", _with_end),
    "only the edges of one set": Replacement(RowRanges, "_combine", _between_edges_of_one),
    "a difference is symmetric": Replacement(
        RowRanges, "difference", lambda self, other: _combine(self, other, np.logical_xor)
    ),
    "a union is a difference": Replacement(RowRanges, "union", RowRanges.difference),
}


def without_doubt(name: str) -> Replacement:
    """Return the mutant that never has the doubt of this name."""
    return Replacement(page_beliefs, "DOUBTS", tuple(doubt for doubt in DOUBTS if doubt.name != name))


def _bounds_of_null_pages(evidence: Any) -> Any:
    columns = evidence.columns
    valued = replace(columns, null_pages=[False] * len(columns.null_pages))
    return _facts(replace(evidence, facts=replace(evidence.facts, column_index=valued)))


def _uncounted_is_none(evidence: Any) -> Any:
    columns = evidence.columns
    counts = columns.null_counts or [0] * len(columns.null_pages)
    counted = replace(columns, null_counts=counts)
    return _facts(replace(evidence, facts=replace(evidence.facts, column_index=counted)))


def _in_stated_order(evidence: Any) -> Any:
    """Take the first minimum for the least one, as if pages were ascending."""
    columns = evidence.columns
    ordered = replace(columns, min_values=[columns.min_values[0]] * len(columns.min_values))
    return _facts(replace(evidence, facts=replace(evidence.facts, column_index=ordered)))


BELIEF_MUTANTS: Mapping[str, Replacement] = {
    "bounds of a NULL page are of values": Replacement(
        page_beliefs, "_facts_as_of_chunks", _bounds_of_null_pages
    ),
    "a page without a NULL count has none": Replacement(
        page_beliefs, "_facts_as_of_chunks", _uncounted_is_none
    ),
    "pages are in the stated order": Replacement(page_beliefs, "_facts_as_of_chunks", _in_stated_order),
    "what is doubted of a chunk is believed of its pages": Replacement(
        page_beliefs, "_doubted_claims", lambda evidence, source: Claim(0)
    ),
}


def _count_of_whole(counts: pa.Array, whole_rows: Any, part_rows: Any) -> pa.Array:
    return counts


def _part_of_known(counts: pa.Array, whole_rows: Any, part_rows: Any) -> pa.Array:
    """Share the NULLs of a page out among its rows."""
    known = counts.to_numpy(zero_copy_only=False)
    shares = np.round(known * part_rows / np.maximum(whole_rows, 1))
    return pa.array(shares, from_pandas=True).cast(pa.int64())


def _cut_by_first(kept: RowRanges, pages: Any, columns: int) -> Any:
    cut = _cut(kept, dict(list(pages.items())[:1]), columns)
    return run_blocks._Cut(cut.starts, cut.ends, pages)


_cut = run_blocks._cut


def _as_if_whole(group: Any, pages: Any, rows: Any, group_rows: Any) -> Any:
    """Keep the exactness of bounds, which a row of the row group attains."""
    facts = _lanes(group, pages, rows, group_rows)
    kept = {field.name: facts.field(field.name) for field in facts.type}
    kept |= {name: group.field(name) for name in ("min_exact", "max_exact")}
    return pa.StructArray.from_arrays(list(kept.values()), fields=list(facts.type))


def _inside_file(self: Any, runs: Any, excluded: Any) -> Any:
    """Count the rows of runs inside the file."""
    offsets = runs.blocks.column("row_offset").to_numpy()
    shifted = replace(runs, starts=offsets, ends=offsets + runs.ends - runs.starts)
    return _without(self, shifted, excluded)


RUN_MUTANTS: Mapping[str, Replacement] = {
    "a part has the NULLs of its page": Replacement(run_blocks, "_count_in_part", _count_of_whole),
    "a part has its share of the NULLs of its page": Replacement(
        run_blocks, "_count_in_part", _part_of_known
    ),
    "one column cuts the runs of all": Replacement(run_blocks, "_cut", _cut_by_first),
    "bounds of a part are attained": Replacement(run_blocks, "_run_facts", _as_if_whole),
    "rows are counted inside the file": Replacement(kept_rows.KeptRows, "without", _inside_file),
}

MEASURED_MUTANTS: Mapping[str, Replacement] = {
    "pages are measured at other rows": Replacement(
        measured_pages.MeasuredPages, "are_at", lambda self, places: True
    ),
    "a file states the right bounds": Replacement(measured_pages, "_differ", lambda stated, facts: False),
    "a file states the bounds of all pages": Replacement(measured_pages, "_is_complete", lambda pages: True),
}

HIDDEN_ARE_READ = Replacement(page_verdicts, "directory_names", lambda files: frozenset())
ANY_ROW_GROUP = Replacement(
    page_reading,
    "_row_group",
    lambda footer, locator: (locator["row_group"], footer.row_groups[locator["row_group"]]),
)
ONE_REQUEST_EACH = Replacement(page_facts, "coalesce", sorted)
