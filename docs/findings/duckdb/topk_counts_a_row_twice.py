import sys
import tempfile

import duckdb

groups = [[0] * 2048, [0] + [2] * 2047, [1] * 2048]
connection = duckdb.connect()
connection.execute(f"ATTACH '{tempfile.mkdtemp()}/t.db' AS disk (ROW_GROUP_SIZE 2048)")
connection.execute("USE disk")
connection.execute("SET disabled_optimizers = ''")
connection.execute("CREATE TABLE t (a INTEGER)")
for group in groups:
    connection.execute("INSERT INTO t SELECT unnest(?)", [group])
expected = sorted(a for group in groups for a in group)[:2050][-2:]
actual = [a for (a,) in connection.execute("SELECT a FROM t ORDER BY a LIMIT 2050").fetchall()][-2:]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
