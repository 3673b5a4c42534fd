"""Coverings of files: computed from the points in them, and attached to the same blocks later."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.metadata.files.locations import locate
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.coverings import CELLS_MAX, LISTS, covering, coverings_of, with_coverings
from pruning.metadata.table.locators import LOCATORS, locator_rows
from pruning.metadata.table.structs import whole
from pruning.rules.sets.regions import CoordinatePair


def file_coverings(
    file: str, pairs: Iterable[CoordinatePair], *, cells_max: int = CELLS_MAX
) -> dict[CoordinatePair, pa.ListArray]:
    """Return the coverings of a file's row groups; null for a pair that is not two columns of doubles.

    Args:
        file: Its path or URI.
        pairs: Top-level columns, by exact name.
        cells_max: The most cells of a block.
    Raises:
        InputError: s2geometry is not installed.
        OSError, pa.ArrowException: the file cannot be read.
    """
    system, path = locate(file)
    with system.open_input_file(path) as handle, pq.ParquetFile(handle) as reader:
        return {pair: pa.array(_block_coverings(reader, pair, cells_max), LISTS) for pair in pairs}


def _block_coverings(
    reader: pq.ParquetFile, pair: CoordinatePair, cells_max: int
) -> Sequence[list[int] | None]:
    schema, names = reader.schema_arrow, (pair.latitude, pair.longitude)
    if any(len(schema.get_all_field_indices(name)) != 1 for name in names):
        return [None] * reader.num_row_groups
    if any(schema.field(name).type != pa.float64() for name in names):
        return [None] * reader.num_row_groups
    coverings = []
    for group in range(reader.num_row_groups):
        rows = reader.read_row_group(group, columns=list(names), use_threads=False)
        latitudes, longitudes = (whole(rows.column(name)) for name in names)
        coverings.append(covering(latitudes, longitudes, cells_max=cells_max))
    return coverings


def attach(metadata: pa.Table, parts: Iterable[Shard]) -> pa.Table:
    """Return block metadata with the coverings of its blocks from the parts.

    Args:
        metadata: Block metadata.
        parts: Tables with the locators `file`, `row_group` and `row_count`; none has a block twice.
    """
    tables = [
        (part.table, coverings)
        for part in parts
        if (coverings := coverings_of(part.table)) and len(part.table)
    ]
    pairs = sorted({pair for _, coverings in tables for pair in coverings})
    if not pairs:
        return metadata
    place = locator_rows(metadata, pa.concat_tables([table.select(LOCATORS) for table, _ in tables]))
    lists = {
        pair: pa.concat_arrays(
            [coverings.get(pair, pa.nulls(len(table), LISTS)) for table, coverings in tables]
        )
        for pair in pairs
    }
    return with_coverings(metadata, {pair: array.take(place) for pair, array in lists.items()})


def without_column(metadata: pa.Table, name: str) -> pa.Table:
    """Return the metadata without the coverings of a column, because another one takes its name."""
    coverings = coverings_of(metadata)
    kept = {pair: lists for pair, lists in coverings.items() if name not in (pair.latitude, pair.longitude)}
    return metadata if len(kept) == len(coverings) else with_coverings(metadata, kept)
