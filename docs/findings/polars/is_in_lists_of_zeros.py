import sys

import polars as pl

rows, first, second = [0.0, 5.0], [-0.0, 1.0], [0.0, 2.0]
expected = [a for a in rows if a in first and a in second]
flags = pl.QueryOptFlags(simplify_expression=True)
frame = pl.LazyFrame({"a": rows}).filter(pl.col("a").is_in(first) & pl.col("a").is_in(second))
actual = frame.collect(optimizations=flags)["a"].to_list()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
