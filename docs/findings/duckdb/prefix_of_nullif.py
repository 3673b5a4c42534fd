import sys

import duckdb

rows = [("a", 0), ("ab", 1)]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql("CREATE TABLE t (a VARCHAR, rid INTEGER)")
duckdb.executemany("INSERT INTO t VALUES (?, ?)", rows)
# NULLIF of the first row is NULL.
expected = [rid for a, rid in rows if a != "a" and a.startswith("a")]
answer = duckdb.sql("SELECT rid FROM t WHERE starts_with(nullif(a, 'a'), 'a') ORDER BY rid")
actual = [rid for (rid,) in answer.fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
