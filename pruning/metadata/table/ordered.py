"""Bounds in the order that Spark compares values by."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import Mask


def without_crossed(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return bounds that are both NULL where the lower one is above the upper one."""
    crossed = true_lanes(pc.greater(as_ordered(lower), as_ordered(upper)))
    return without(lower, crossed), without(upper, crossed)


def as_ordered(values: pa.Array) -> pa.Array:
    """Return values in a type that Arrow orders as Spark orders the values."""
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    return values.cast(pa.binary()) if pa.types.is_string(values.type) else values


def true_lanes(lanes: pa.Array) -> Mask:
    """Return a mask of the lanes that are true, neither false nor NULL."""
    mask: Mask = pc.fill_null(lanes, False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask
