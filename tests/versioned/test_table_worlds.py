"""TABLE-1: tables of both formats under statements, library writers and changes of their columns."""

from collections import Counter
from typing import Any

import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from table_world import FORMATS, run_world

@pytest.mark.parametrize("format_", FORMATS)
def test_a_table_always_has_the_rows_of_its_model(spark: Any, format_: str) -> None:
    """TABLE-1"""
    tally: Counter[str] = Counter()

    @examples(0.04)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        run_world(spark, format_, data.draw, tally, steps=5)

    run()
    print(tally)
