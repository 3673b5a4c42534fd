import sys

import duckdb

left, right = [0, 1, 2], [-1]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql(f"CREATE TABLE l AS SELECT unnest({left}) AS b")
duckdb.sql(f"CREATE TABLE r AS SELECT unnest({right}) AS a")
# No a is above 0, so that a LEFT JOIN has each b once; LIMIT is asked for their number.
expected = len([(b, a) for b in left for a in [a for a in right if a > 0 and a == b] or [None]][:1])
join = "SELECT b, a FROM l LEFT JOIN (SELECT * FROM r WHERE a > 0) r ON a = b LIMIT 1"
actual = len(duckdb.sql(join).fetchall())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
