"""Replay of the log: from actions on files to the files of a version."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.delta.actions import FileActions
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.table.structs import field_of, whole

# No path and no identity of a vector has this character.
_BETWEEN = "\0"


def live_files(batches: Sequence[FileActions]) -> list[FileActions]:
    """Return the actions that added the files of the version, in batches.

    Claim     They are the files of the version that the actions lead to.
    Premises  Delta's protocol: a logical file is a path and the identity of its deletion vector; of the
              actions on it, oldest first, the last one tells if it is in the table.
    Proof     (1) Keys are the same where path and identity are the same.
              (2) An action is kept if no later one has its key, and it adds.
    Unsound   if a vector's offset were left out of its identity, or removals were passed over.
    """
    if not batches:
        return []
    keys = pa.chunked_array([_keys(batch.table) for batch in batches])  # (1)
    is_last = _last_places(keys)
    kept, start = [], 0
    for batch in batches:
        end = start + len(batch.table)
        is_add = batch.table["is_add"].to_numpy()
        kept.append(batch.filter(pa.array(is_last[start:end] & is_add)))  # (2)
        start = end
    return [batch for batch in kept if len(batch.table)]


def _keys(table: pa.Table) -> pa.Array:
    """Return the identity of each logical file."""
    vectors = whole(table["deletionVector"])
    offsets = field_of(vectors, "offset").cast(pa.string())
    parts = [
        whole(table["path"]),
        field_of(vectors, "storageType").fill_null(""),
        field_of(vectors, "pathOrInlineDv").fill_null(""),
        pc.fill_null(pc.binary_join_element_wise("@", offsets, ""), ""),
    ]
    return pc.binary_join_element_wise(*parts, _BETWEEN)


def _last_places(keys: pa.ChunkedArray) -> Mask:
    """Mark the last place of each key."""
    # Where there are no keys, pyarrow makes no chunk to take the type from.
    indices = [chunk.indices for chunk in keys.dictionary_encode().chunks]
    codes = pa.chunked_array(indices, pa.int32()).to_numpy()
    _, from_end = np.unique(codes[::-1], return_index=True)
    mask: Mask = np.zeros(len(codes), np.bool_)
    mask[len(codes) - 1 - from_end] = True
    return mask
