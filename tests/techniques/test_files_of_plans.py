"""The files of a plan are in the order of its metadata."""

import numpy as np
import pyarrow as pa

from pruning.dml import RewritePlan
from pruning.rules.sets.truths import Match
from pruning.techniques.dml import rewriting
from pruning.techniques.dml.rewriting import Condition, Sizes

FILES, LAKES = 6, 300


def test_files_are_in_the_order_of_the_metadata() -> None:
    """DML-5. Arrow orders groups by the hashes of their names: of these lakes it turns a few around."""
    ones = np.ones(FILES, np.int64)
    rows = rewriting.deletion(Sizes(ones, ones), Condition(np.full(FILES, Match.ALL, np.int8)))
    for lake in range(LAKES):
        names = [f"/tmp/lake {lake}/year={year}/text=a/part.parquet" for year in range(FILES)]
        metadata = pa.table({"file": names, "row_group": ones, "row_count": ones, "byte_count": ones})
        plan = RewritePlan(statement="DELETE", blocks=rows, metadata=metadata)
        assert list(plan.files) == names
