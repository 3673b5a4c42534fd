"""Generated row groups count as large ones: `prune` looks at their pages, and names those that it needs."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pruning.spark.drive import narrowed_leaves, paging


@contextmanager
def small_pages() -> Iterator[None]:
    """Let small row groups count as large ones for the time of a `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paging, "PAGE_ROWS", 1)
        patch.setattr(narrowed_leaves, "open_cost", lambda spark: 1)
        yield
