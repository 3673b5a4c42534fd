import math
import sys

import duckdb

values = [0.0, 1.0, math.nan]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql("CREATE TABLE t AS SELECT unnest([0.0, 1.0, 'NaN'::DOUBLE]) AS a")
# NaN is above all other numbers, and so is minus NaN.
expected = [value for value in values if not math.isnan(-value)]
actual = [a for (a,) in duckdb.sql("SELECT a FROM t WHERE -a < 'NaN'::DOUBLE ORDER BY a").fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
