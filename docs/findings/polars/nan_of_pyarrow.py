import math
import sys
import tempfile

import polars as pl

rows, root = [-1.0, math.nan, 1.0], tempfile.mkdtemp()
pl.DataFrame({"a": rows}).write_delta(root)
expected = [str(a) for a in rows if not a <= 0.0]  # NaN is above all numbers
frame = pl.scan_delta(root, use_pyarrow=True).filter(pl.col("a") > 0.0)
actual = [str(a) for a in frame.collect()["a"].to_list()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
