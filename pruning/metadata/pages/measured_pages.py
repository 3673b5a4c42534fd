"""Measured pages: bounds and counts of pages that were computed from the data, where a file states none.

A shard of them has the locators, with the number of rows of a page as `row_count`, the page's first row
inside its row group as `first_row`, and in `columns` a struct of `measured_fields` for one column, whose
pages it describes. A page without the number of distinct values was not measured.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.pages.page_beliefs import ColumnPages, PagePlaces
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.measured import DISTINCT
from pruning.metadata.table.ordered import as_ordered, true_lanes
from pruning.metadata.table.schema import sql_type
from pruning.metadata.table.structs import field_of, whole

FIRST_ROW = "first_row"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPages:
    """The measured pages of one column in one row group.

    Attributes:
        first_rows: The first row of each page, inside the row group; shape (pages,).
        row_counts: The number of rows of each page.
        facts: A struct of `measured_fields` for each page.
    """

    first_rows: Numbers
    row_counts: Numbers
    facts: pa.StructArray

    def are_at(self, places: PagePlaces) -> bool:
        """Tell whether a file has its pages at these rows."""
        return np.array_equal(self.first_rows, places.first_rows) and np.array_equal(
            self.row_counts, places.row_counts
        )


# Of each file, the measured pages by the row group and the name of the column.
MeasuredFiles = Mapping[str, Mapping[tuple[int, str], MeasuredPages]]


def pages_of_shards(shards: Iterable[Shard]) -> MeasuredFiles:
    """Return the measured pages in shards, by files."""
    of_files: dict[str, dict[tuple[int, str], MeasuredPages]] = {}
    for shard in shards:
        table = shard.table.combine_chunks()
        files, groups = whole(table["file"]).to_pylist(), whole(table["row_group"]).to_pylist()
        first_rows, row_counts = (whole(table[name]).to_numpy() for name in (FIRST_ROW, "row_count"))
        columns = whole(table["columns"])
        keys = list(zip(files, groups, strict=True))
        edges = [row for row in range(len(keys)) if not row or keys[row - 1] != keys[row]]
        for start, end in zip(edges, [*edges[1:], len(keys)], strict=True):
            file, group = keys[start]
            for field in columns.type:
                of_files.setdefault(file, {})[group, field.name] = MeasuredPages(
                    first_rows=first_rows[start:end],
                    row_counts=row_counts[start:end],
                    facts=field_of(columns, field.name).slice(start, end - start),
                )
    return of_files


def with_measured(
    stated: ColumnPages | None, places: PagePlaces, measured: MeasuredPages, type_: Type
) -> ColumnPages | None:
    """Return the pages of a column with what was measured of them.

    Claim     What is said of a page is true of its rows.
    Premises  What the file states is true where it is believed, and what was measured is true of the file
              as it is.
    Proof     Each bound and each count is one that the file states or one that was measured.
    Unsound   if pages were measured at other rows than those of the file's own pages.

    Args:
        stated: What is believed of the file's own index; None if it is not believed.
        places: The rows and the bytes of the file's pages.
        measured: What was measured.
        type_: The type of the column in block metadata.
    """
    facts = measured.facts
    bound = sql_type(facts.type.field("min").type)
    if not measured.are_at(places) or bound != type_ or field_of(facts, DISTINCT).null_count == len(facts):
        return stated
    is_wrong = stated is not None and _differ(stated, facts)
    if stated is not None and not is_wrong and _is_complete(stated):
        return replace(stated, nan_counts=field_of(facts, "nan_count"))
    return ColumnPages(
        first_rows=places.first_rows,
        row_counts=places.row_counts,
        null_counts=field_of(facts, "null_count"),
        nan_counts=field_of(facts, "nan_count"),
        min=field_of(facts, "min"),
        max=field_of(facts, "max"),
        is_stated=False,
        offsets=places.offsets,
        sizes=places.sizes,
        index_bytes=places.index_bytes,
    )


def _differ(stated: ColumnPages, facts: pa.StructArray) -> bool:
    """Tell whether measured values contradict what a file states of its pages."""
    lower, upper = as_ordered(field_of(facts, "min")), as_ordered(field_of(facts, "max"))
    is_below = pc.and_(pc.less(lower, as_ordered(stated.min)), field_of(facts, "min_exact"))
    is_above = pc.and_(pc.greater(upper, as_ordered(stated.max)), field_of(facts, "max_exact"))
    has_other_nulls = pc.not_equal(stated.null_counts, field_of(facts, "null_count"))
    return any(true_lanes(lanes).any() for lanes in (is_below, is_above, has_other_nulls))


def _is_complete(pages: ColumnPages) -> bool:
    """Tell whether a file states the number of NULLs of each page, and bounds where there are values."""
    is_bounded = pc.and_(pages.min.is_valid(), pages.max.is_valid())
    is_null = pc.equal(pages.null_counts, pa.array(pages.row_counts))
    return bool(true_lanes(pc.or_kleene(is_bounded, is_null)).all()) and pages.null_counts.null_count == 0
