import sys
import tempfile
from ctypes import c_int32

import polars as pl

rows, path = [5, 1073741823], tempfile.mkdtemp() + "/t.parquet"
pl.DataFrame({"a": rows}, schema={"a": pl.Int32}).write_parquet(path)
expected = [a for a in rows if c_int32(a * 3).value <= 5]  # integers wrap
actual = pl.scan_parquet(path, use_statistics=True).filter(pl.col("a") * 3 <= 5).collect()["a"].to_list()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
