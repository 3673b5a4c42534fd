import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(a, rid) for rid, a in enumerate("aaaaac")], tempfile.mkdtemp() + "/t.parquet"
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
pq.write_table(table, path, row_group_size=2, use_dictionary=False)
duckdb.sql("SET threads = 1; SET disabled_optimizers = ''")
expected = sorted(rows, reverse=True)[:1]
actual = duckdb.sql(f"SELECT a, rid FROM '{path}' ORDER BY a DESC NULLS FIRST LIMIT 1").fetchall()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
