"""The measuring of some files, and the child process that does it."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.backfill.measuring import Measurement, measure
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.index.block_values import indexable_columns, locators_and_bounds, row_group_columns
from pruning.metadata.index.child_processes import run_child
from pruning.metadata.table.blocks import Shard, merge_alike
from pruning.metadata.table.measured import measured_fields
from pruning.metadata.table.reading import ReadResult
from pruning.metadata.table.structs import make_typed_struct


def measure_files(files: Iterable[str], *, columns: Sequence[str] | None) -> ReadResult:
    """Measure the row groups of files.

    Args:
        files: Their paths.
        columns: The top-level columns by exact name; None for all.
    Returns:
        Shards as `pruning.metadata.table.measured` describes, and a sentence about each file that cannot be
        read.
    """
    outcome = ReadResult([], {})
    for file in files:
        try:
            outcome.shards.append(_measure_file(file, columns))
        except InputError as error:
            outcome.failures[file] = str(error)
        except (OSError, pa.ArrowException) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            outcome.failures[file] = f"{file}: its data cannot be read ({reason}); leave it out"
    return ReadResult(merge_alike(outcome.shards), outcome.failures)


def _measure_file(file: str, columns: Sequence[str] | None) -> Shard:
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
    return Shard(
        (file,), locators.append_column("columns", make_typed_struct(structs, fields, len(locators)))
    )


def _lanes(measurements: Sequence[Measurement | None], type_: Type) -> pa.StructArray:
    """Return the statistics of a column, a lane for each row group."""
    fields = measured_fields(type_)
    arrays = []
    for field in fields:
        values = [None if part is None else getattr(part, field.name) for part in measurements]
        arrays.append(pa.array(values, field.type))
    return make_typed_struct(arrays, fields, len(measurements))


if __name__ == "__main__":
    run_child(measure_files)
