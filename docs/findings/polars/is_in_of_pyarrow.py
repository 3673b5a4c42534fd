import sys
import tempfile

import polars as pl

rows, values, root = [-0.0, 1.0, 5.0], [0.0, 5.0], tempfile.mkdtemp()
pl.DataFrame({"a": rows}).write_delta(root)
expected = [a for a in rows if a in values]
frame = pl.scan_delta(root, use_pyarrow=True).filter(pl.col("a").is_in(values))
actual = frame.collect()["a"].to_list()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
