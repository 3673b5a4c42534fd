import sys

import duckdb

rows = [(None, 0), (0, 1)]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql("CREATE TABLE t (a INTEGER, rid INTEGER)")
duckdb.executemany("INSERT INTO t VALUES (?, ?)", rows)
expected = [rid for a, rid in rows if (0 if a is None else a) in [0]]
answer = duckdb.sql("SELECT rid FROM t WHERE CASE WHEN a IS NULL THEN 0 ELSE a END IN (0) ORDER BY rid")
actual = [rid for (rid,) in answer.fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
