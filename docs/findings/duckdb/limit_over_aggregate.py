import sys

import duckdb

left, right = [1, 1, 1], [0]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql(f"CREATE TABLE l AS SELECT unnest({left}) AS a")
duckdb.sql(f"CREATE TABLE r AS SELECT unnest({right}) AS b")
# All rows are equal; LIMIT is asked for their number.
expected = len([a for a in left if a > max(right)][:2])
actual = len(duckdb.sql("SELECT a FROM l WHERE a > (SELECT max(b) FROM r) LIMIT 2").fetchall())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
