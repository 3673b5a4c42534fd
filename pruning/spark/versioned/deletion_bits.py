"""The positions of a file's deleted rows as bytes in which the bit of a row is looked up without a search.

The rows are divided into groups of 512. First comes the number of groups, up to that of the last deleted row;
then, for each group, where its 64 bytes begin; then these bytes, each distinct content once. In a group, the
bit `row % 8` of the byte `row / 8` is set if the row is deleted. A number is an integer of four bytes, the
highest first.

A roaring bitmap is smaller where few rows are deleted, but Spark would have to open it again for each row.
"""

import numpy as np
from pyroaring import BitMap

# The logarithm of the number of rows in a group.
GROUP_BITS = 9
_ROWS = 1 << GROUP_BITS
_NUMBER_BYTES = 4


def deletion_bits(deleted: BitMap) -> bytes:
    """Return the positions of a file's deleted rows, at least one, in this form."""
    positions = np.asarray(deleted.to_array())
    count = int(positions[-1]) // _ROWS + 1
    groups, places = np.unique(positions >> GROUP_BITS, return_inverse=True)
    # The content at place 0 is that of the groups without a deleted row.
    flags = np.zeros((len(groups) + 1, _ROWS), bool)
    flags[places + 1, positions % _ROWS] = True
    contents, content_places = np.unique(
        np.packbits(flags, axis=1, bitorder="little"), axis=0, return_inverse=True
    )
    content_places = content_places.reshape(-1)
    of_groups = np.full(count, content_places[0])
    of_groups[groups] = content_places[1:]
    offsets = _NUMBER_BYTES * (count + 1) + contents.shape[1] * of_groups
    return np.array([count, *offsets], ">i4").tobytes() + contents.tobytes()
