"""A summary of a build side from its block metadata alone: no key lies outside of its blocks' bounds."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.techniques.join.summary_keys import KeySummary
from pruning.techniques.join.summary_ranges import Ranges
from pruning.techniques.plan.keys import KeyBounds


def summarise_blocks(bounds: KeyBounds, needed: np.ndarray, *, bytes_max: int) -> KeySummary:
    """What the keys of some blocks can be.

    Claim     It holds each key of a row of these blocks.
    Premises  `bounds` encloses the rows' keys.
    Proof     (1) A key that is a value lies in the range of its block; where a block's is not known, in
              the one of all values.
              (2) NULL and NaN are said to be there wherever they may be.

    Args:
        bounds: What is known of the key in each block.
        needed: The blocks that may give a row, shape (blocks,).
        bytes_max: What the ranges may take.
    """
    valued = pa.array(needed & bounds.may_value)
    lowers, uppers = bounds.lower.filter(valued), bounds.upper.filter(valued)
    ranges = None
    if not lowers.null_count and not uppers.null_count:  # (1)
        if bounds.type.floating:
            # Both zeros are one value.
            lowers, uppers = (pc.add(side, pa.scalar(0, side.type)) for side in (lowers, uppers))
        sane = pc.less_equal(lowers, uppers)
        found = Ranges(lowers.filter(sane), uppers.filter(sane))
        ranges = found.union(Ranges(found.lowers.slice(0, 0), found.uppers.slice(0, 0)))
        ranges = ranges.within_bytes(bytes_max) if len(ranges) else ranges
    return KeySummary(
        type=bounds.type,
        ranges=ranges,
        exact=False,
        filter=None,
        has_null=bool((needed & bounds.may_null).any()),  # (2)
        has_nan=bool((needed & bounds.may_nan).any()),
        value_count=0 if ranges is None else len(ranges),
        bytes_max=bytes_max,
    )
