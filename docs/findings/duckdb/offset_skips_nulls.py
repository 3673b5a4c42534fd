import sys

import duckdb

# A row group has 122,880 rows.
rows = [(None, rid) for rid in range(122_881)]
duckdb.sql("SET disabled_optimizers = ''")
duckdb.sql("CREATE TABLE t (a INTEGER, rid INTEGER)")
duckdb.execute("INSERT INTO t SELECT unnest(?), unnest(?)", [[a for a, _ in rows], [rid for _, rid in rows]])
# Every a is NULL, so that rid alone decides.
expected = [rid for _, rid in sorted(rows, key=lambda row: -row[1])][122_880:]
answer = duckdb.sql("SELECT rid FROM t ORDER BY a NULLS FIRST, rid DESC LIMIT 1 OFFSET 122880")
actual = [rid for (rid,) in answer.fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
