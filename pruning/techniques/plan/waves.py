"""Waves: blocks that are read together, ever more of them, so that few jobs read many blocks."""

FIRST, GROWTH = 1, 2


def wave_size(read: int, *, first: int = FIRST, growth: float = GROWTH) -> int:
    """How many blocks to read next after `read` of them; each wave is `growth` times the one before.

    It depends on nothing but how many were read, so that workers who split a wave agree on the next.
    """
    return max(1, first + round((growth - 1) * read))
