"""Coverings of files: made of the points that they hold, and found again for the same blocks."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.metadata.files.locations import locate
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.coverings import CELLS_MAX, LISTS, covering, coverings_of, with_coverings
from pruning.metadata.table.structs import whole
from pruning.rules.sets.regions import CoordinatePair

# A block of which one of these differs is another block.
_LOCATORS = ["file", "row_group", "row_count"]


def file_coverings(
    file: str, pairs: Iterable[CoordinatePair], *, cells_max: int = CELLS_MAX
) -> dict[CoordinatePair, pa.ListArray]:
    """The coverings of a file's row groups; null for a pair that is not two of its columns of doubles.

    Args:
        file: Its path or URI.
        pairs: Top-level columns, by exact name.
        cells_max: How many cells a block may take.
    Raises:
        InputError: s2geometry is not installed.
        OSError, pa.ArrowException: the file cannot be read.
    """
    system, path = locate(file)
    with system.open_input_file(path) as handle, pq.ParquetFile(handle) as reader:
        return {pair: pa.array(_lists(reader, pair, cells_max), LISTS) for pair in pairs}


def _lists(reader: pq.ParquetFile, pair: CoordinatePair, cells_max: int) -> Sequence[list[int] | None]:
    schema, names = reader.schema_arrow, (pair.latitude, pair.longitude)
    if any(len(schema.get_all_field_indices(name)) != 1 for name in names):
        return [None] * reader.num_row_groups
    if any(schema.field(name).type != pa.float64() for name in names):
        return [None] * reader.num_row_groups
    found = []
    for group in range(reader.num_row_groups):
        rows = reader.read_row_group(group, columns=list(names), use_threads=False)
        latitudes, longitudes = (whole(rows.column(name)) for name in names)
        found.append(covering(latitudes, longitudes, cells_max=cells_max))
    return found


def attach(metadata: pa.Table, parts: Iterable[Shard]) -> pa.Table:
    """Block metadata with the coverings that are kept of its blocks, whatever else the parts keep.

    Args:
        metadata: Block metadata.
        parts: Tables with the locators `file`, `row_group` and `row_count`; none has a block twice.
    """
    known = [(part.table, found) for part in parts if (found := coverings_of(part.table)) and len(part.table)]
    pairs = sorted({pair for _, found in known for pair in found})
    if not pairs:
        return metadata
    place = _places(metadata, pa.concat_tables([table.select(_LOCATORS) for table, _ in known]))
    lists = {
        pair: pa.concat_arrays([found.get(pair, pa.nulls(len(table), LISTS)) for table, found in known])
        for pair in pairs
    }
    return with_coverings(metadata, {pair: array.take(place) for pair, array in lists.items()})


def without(metadata: pa.Table, name: str) -> pa.Table:
    """The metadata with no covering by a column: for one that takes another's name."""
    known = coverings_of(metadata)
    kept = {pair: lists for pair, lists in known.items() if name not in (pair.latitude, pair.longitude)}
    return metadata if len(kept) == len(known) else with_coverings(metadata, kept)


def _places(metadata: pa.Table, locators: pa.Table) -> pa.Array:
    """Per block its row among the locators; null where there is none."""
    asked = metadata.select(_LOCATORS).append_column("ordinal", _ordinals(metadata))
    known = locators.append_column("place", _ordinals(locators))
    joined = asked.join(known, _LOCATORS, join_type="left outer").sort_by("ordinal")
    assert len(joined) == len(metadata), "no block is kept twice"
    return whole(joined.column("place"))


def _ordinals(table: pa.Table) -> pa.Array:
    return pa.array(range(len(table)), pa.int64())
