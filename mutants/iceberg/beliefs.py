"""Beliefs about Iceberg's metadata that are wrong in one way each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mutants.replacements import Replacement
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.iceberg import blocks, bounds, partitions
from pruning.metadata.iceberg.fields import IcebergField
from pruning.metadata.iceberg.planned_files import PlannedFiles
from pruning.metadata.table.structs import field_of, make_struct, whole

_blocks, _column, _decode_values = blocks.iceberg_blocks, blocks._column, bounds.decode_values
_Fields = Mapping[str, IcebergField]


def _with_lanes(change: Callable[[dict[str, pa.Array], pa.Array], None]) -> Callable[..., pa.Table]:
    """Return block metadata of planned files with the lanes of each column changed."""

    def changed_blocks(planned: PlannedFiles, fields: _Fields) -> pa.Table:
        metadata = _blocks(planned, fields)
        columns = whole(metadata["columns"])
        structs = {}
        for column in columns.type:
            struct = field_of(columns, column.name)
            lanes = {part.name: struct.field(part.name) for part in column.type}
            change(lanes, whole(metadata["row_count"]))
            structs[column.name] = make_struct(lanes, len(metadata))
        place = metadata.schema.get_field_index("columns")
        return metadata.set_column(place, "columns", make_struct(structs, len(metadata)))

    return changed_blocks


def _believe_exact(lanes: dict[str, pa.Array], rows: pa.Array) -> None:
    lanes["max_exact"] = lanes["max"].is_valid()


def _believe_no_nan(lanes: dict[str, pa.Array], rows: pa.Array) -> None:
    if pa.types.is_floating(lanes["min"].type):
        lanes["nan_count"] = pc.fill_null(lanes["nan_count"], 0)


def _count_written_rows(planned: PlannedFiles, fields: _Fields) -> pa.Table:
    return _blocks(replace(planned, live_counts=planned.row_counts), fields)


def _keep_counts(counts: Numbers, planned: PlannedFiles, live: Numbers, is_counted: np.ndarray) -> Numbers:
    return counts


def _constants_of_all_files(
    planned: PlannedFiles, field: IcebergField, live: Numbers, is_counted: np.ndarray, struct: pa.StructType
) -> pa.StructArray:
    return _column(planned, field, live, np.ones(len(live), np.bool_), struct)


def _one_width(value: Any, width: int, field: IcebergField) -> tuple[Any, Any]:
    return value, value


def _without_sign(texts: Any, field: IcebergField) -> pa.Array:
    values = _decode_values(texts, field)
    return pc.abs(values) if pa.types.is_decimal(values.type) else values


MUTANTS: Mapping[str, Replacement] = {
    "a cut upper bound is exact": Replacement(blocks, "iceberg_blocks", _with_lanes(_believe_exact)),
    "NaN is not counted, so there is none": Replacement(
        blocks, "iceberg_blocks", _with_lanes(_believe_no_nan)
    ),
    "deleted rows are live": Replacement(blocks, "iceberg_blocks", _count_written_rows),
    "each file's rows are counted": Replacement(
        blocks, "with_deleted_rows", lambda metadata, deleted: metadata
    ),
    "counts of written rows are of live rows": Replacement(blocks, "_live_counts", _keep_counts),
    "a constant is attained whatever was deleted": Replacement(blocks, "_column", _constants_of_all_files),
    "a text ends with its beginning": Replacement(partitions, "_text_end", lambda prefix: prefix),
    "truncated values are values": Replacement(partitions, "_truncated_range", _one_width),
    "decimals have no sign": Replacement(bounds, "decode_values", _without_sign),
}
