import sys
import tempfile
from ctypes import c_int32

import polars as pl

top, path, expected, actual = 2**31 - 1, tempfile.mkdtemp() + "/t.parquet", [], []
sums = (lambda a: a + 2, lambda a: 3 + a, lambda a: a * 2)
differences = (lambda a: 5 - a, lambda a: -a)
for rows, forms in (([0, top], sums), ([-top - 1, 0], differences)):
    pl.DataFrame({"a": rows}, schema={"a": pl.Int32}).write_parquet(path)
    scan = pl.scan_parquet(path, use_statistics=True)
    expected += [[a for a in rows if c_int32(form(a)).value < 0] for form in forms]
    actual += [scan.filter(form(pl.col("a")) < 0).collect()["a"].to_list() for form in forms]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
