"""Layouts of pages in Parquet files: so small that rows are on several pages, which do not align."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The settings that decide where pages begin, and how they are written.

    Attributes:
        page_bytes: A page ends when it has so many bytes, at the end of a batch.
        batch_rows: The number of rows of a batch.
        version: The version of data pages, "1.0" or "2.0".
        dictionary: Whether columns are dictionary-coded.
        lists_beside: Whether a column of lists, whose pages have another number of values, stands beside.
        has_bounds: Whether the file has bounds of pages; without them, it has the places of pages alone.
    """

    page_bytes: int
    batch_rows: int
    version: str
    dictionary: bool
    lists_beside: bool
    has_bounds: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """The options of pyarrow's writer, which writes page indexes."""
        return {
            "write_page_index": True,
            "data_page_size": self.page_bytes,
            "write_batch_size": self.batch_rows,
            "data_page_version": self.version,
            "use_dictionary": self.dictionary,
            **({} if self.has_bounds else {"write_statistics": False}),
        }


def page_layouts() -> SearchStrategy[PageLayout]:
    """Layouts of few rows a page; shrink to a page for each row."""
    return st.builds(
        PageLayout,
        page_bytes=st.sampled_from((1, 9, 17, 40)),
        batch_rows=st.integers(1, 3),
        version=st.sampled_from(("1.0", "2.0")),
        dictionary=st.booleans(),
        lists_beside=st.booleans(),
        # Without bounds, files tell nothing, unless their pages are measured.
        has_bounds=st.sampled_from((True, True, False)),
    )
