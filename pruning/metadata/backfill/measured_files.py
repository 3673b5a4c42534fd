"""The measuring of some files, and the child process that does it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.backfill.measuring import Measurement, measure
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.index.block_values import indexable_columns, locators_and_bounds, row_group_columns
from pruning.metadata.index.child_processes import run_child
from pruning.metadata.pages.measured_pages import FIRST_ROW
from pruning.metadata.pages.page_reading import read_places
from pruning.metadata.table.blocks import Shard, merge_alike
from pruning.metadata.table.locators import LOCATORS
from pruning.metadata.table.measured import measured_fields
from pruning.metadata.table.reading import ReadResult
from pruning.metadata.table.structs import make_typed_struct


def measure_files(
    files: Iterable[str], *, columns: Sequence[str] | None, level: str = "row_group"
) -> ReadResult:
    """Measure the row groups of files, or the pages.

    Args:
        files: Their paths.
        columns: The top-level columns by exact name; None for all.
        level: "row_group" or "page".
    Returns:
        Shards as `pruning.metadata.table.measured` or `pruning.metadata.pages.measured_pages` describes, and
        a sentence about each file that cannot be read.
    """
    outcome = ReadResult([], {})
    measure_one = _measure_pages if level == "page" else _measure_file
    for file in files:
        try:
            outcome.shards.extend(measure_one(file, columns))
        except InputError as error:
            outcome.failures[file] = str(error)
        except (OSError, pa.ArrowException) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            outcome.failures[file] = f"{file}: its data cannot be read ({reason}); leave it out"
    return ReadResult(merge_alike(outcome.shards), outcome.failures)


def _measure_file(file: str, columns: Sequence[str] | None) -> list[Shard]:
    """Measure each row group of a file."""
    footer = read_footer(file)
    measurable = indexable_columns(footer, columns)
    locators, bounded = locators_and_bounds(file, footer, measurable)
    rebased = provenance(footer).rebased
    measurements: dict[str, list[Measurement | None]] = {name: [] for name in measurable}
    for rows in row_group_columns(file, footer, measurable, bounded):
        for name, of_column in measurements.items():
            type_ = measurable[name].storage.type
            of_column.append(measure(rows[name], type_, rebased=rebased) if name in rows else None)
    types = {name: column.storage.type for name, column in measurable.items()}
    structs = [_lanes(measurements[name], type_) for name, type_ in types.items()]
    fields = pa.struct([(name, struct.type) for name, struct in zip(types, structs, strict=True)])
    table = locators.append_column("columns", make_typed_struct(structs, fields, len(locators)))
    return [Shard((file,), table)]


def _measure_pages(file: str, columns: Sequence[str] | None) -> list[Shard]:
    """Measure each page of a file, a shard for each column; a row group without pages counts as one."""
    footer = read_footer(file)
    measurable = indexable_columns(footer, columns)
    locators, bounded = locators_and_bounds(file, footer, measurable)
    places = read_places(file, measurable)
    rebased = provenance(footer).rebased
    pages: dict[str, list[_MeasuredPage]] = {name: [] for name in measurable}
    of_groups = row_group_columns(file, footer, measurable, bounded)
    for ordinal, rows in enumerate(of_groups):
        for name, of_column in pages.items():
            type_, row_count = measurable[name].storage.type, footer.row_groups[ordinal].row_count
            at = places[ordinal].get(name)
            if at is None or name not in rows:
                of_column.append(_MeasuredPage(ordinal, 0, row_count, None))
                continue
            for first_row, count in zip(at.first_rows.tolist(), at.row_counts.tolist(), strict=True):
                part = measure(rows[name].slice(first_row, count), type_, rebased=rebased)
                of_column.append(_MeasuredPage(ordinal, first_row, count, part))
    fields = {name: locators.schema.field(name) for name in LOCATORS}
    return [
        Shard((file,), _page_table(file, name, of_column, measurable[name].storage.type, fields))
        for name, of_column in pages.items()
        if of_column
    ]


class _MeasuredPage(NamedTuple):
    """A page by its row group and rows, and what was measured of it; None if nothing is certain."""

    row_group: int
    first_row: int
    row_count: int
    measurement: Measurement | None


def _page_table(
    file: str, name: str, pages: Sequence[_MeasuredPage], type_: Type, locators: Mapping[str, pa.Field]
) -> pa.Table:
    """Return the pages of a column as a table."""
    values = {
        "file": [file] * len(pages),
        "row_group": [page.row_group for page in pages],
        "row_count": [page.row_count for page in pages],
    }
    facts = _lanes([page.measurement for page in pages], type_)
    return pa.table(
        [
            *(pa.array(values[field], locators[field].type) for field in LOCATORS),
            pa.array([page.first_row for page in pages], pa.int64()),
            make_typed_struct([facts], pa.struct([(name, facts.type)]), len(pages)),
        ],
        schema=pa.schema(
            [
                *locators.values(),
                pa.field(FIRST_ROW, pa.int64()),
                pa.field("columns", pa.struct([(name, facts.type)])),
            ]
        ),
    )


def _lanes(measurements: Sequence[Measurement | None], type_: Type) -> pa.StructArray:
    """Return the statistics of a column, a lane for each block."""
    fields = measured_fields(type_)
    arrays = []
    for field in fields:
        values = [None if part is None else getattr(part, field.name) for part in measurements]
        arrays.append(pa.array(values, field.type))
    return make_typed_struct(arrays, fields, len(measurements))


if __name__ == "__main__":
    run_child(measure_files)
