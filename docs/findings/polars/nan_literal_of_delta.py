import math
import sys
import tempfile

import polars as pl

rows, root = [1.0, 2.0], tempfile.mkdtemp()
pl.DataFrame({"a": rows}).write_delta(root)
expected = [a for a in rows if not math.isnan(a)]
try:
    actual = pl.scan_delta(root, use_pyarrow=True).filter(pl.col("a") != math.nan).collect()["a"].to_list()
except NameError as error:
    actual = f"{type(error).__name__}: {error}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
