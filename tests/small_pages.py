"""Generated row groups count as large ones, so that `prune` looks at their pages."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pruning.spark.drive import paging


@contextmanager
def small_pages() -> Iterator[None]:
    """Let the pages of row groups of two rows and more be looked at for the time of a `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paging, "PAGE_ROWS", 1)
        yield
