"""Replays of Delta's log that are wrong in one way each."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.delta import log_files, opening, replay
from pruning.metadata.delta.actions import FileActions
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.table.structs import whole

_live_files, _keys = replay.live_files, replay._keys


def _every_addition(batches: Sequence[FileActions]) -> list[FileActions]:
    """Pass over what was removed."""
    added = [batch.filter(whole(batch.table["is_add"])) for batch in batches]
    return _live_files([batch for batch in added if len(batch.table)])


def _without_offset(table: pa.Table) -> pa.Array:
    vectors = whole(table["deletionVector"])
    place = vectors.type.get_field_index("offset")
    fields = [vectors.field(number) for number in range(vectors.type.num_fields)]
    fields[place] = pa.nulls(len(vectors), pa.int32())
    mask = vectors.is_null()
    changed = pa.StructArray.from_arrays(fields, fields=list(vectors.type), mask=mask)
    return _keys(table.set_column(table.schema.get_field_index("deletionVector"), "deletionVector", changed))


def _first_places(keys: pa.ChunkedArray) -> Mask:
    texts = keys.to_pylist()
    return np.array([texts.index(text) == place for place, text in enumerate(texts)], np.bool_)


def _as_written(text: str) -> str:
    return text


MUTANTS: Mapping[str, Replacement] = {
    "removals are passed over": Replacement(opening, "live_files", _every_addition),
    "a vector's offset is no part of its identity": Replacement(replay, "_keys", _without_offset),
    "the first action decides": Replacement(replay, "_last_places", _first_places),
    "paths are read with their escapes": Replacement(log_files, "unquote", _as_written),
}
