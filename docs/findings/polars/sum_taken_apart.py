import sys
from ctypes import c_int16

import polars as pl

rows, frame = [-32766], pl.LazyFrame({"b": [-32766]}, schema={"b": pl.Int16})
expected = [sum(c_int16(b - 3).value for b in rows)]  # integers wrap
flags = pl.QueryOptFlags(simplify_expression=True)
actual = frame.select((pl.col("b") - 3).sum()).collect(optimizations=flags)["b"].to_list()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
