import sys
import tempfile

import polars as pl

rows, root = [1, 2, 3], tempfile.mkdtemp()
pl.DataFrame({"a": rows}).write_delta(root)
expected = len(rows)
frame = pl.scan_delta(root, use_pyarrow=True).select(pl.len())
actual = frame.collect().item()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
