import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(None, 0), ("a", 1)], tempfile.mkdtemp() + "/t.parquet"
table = pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]})
pq.write_table(table, path, use_dictionary=False)
duckdb.sql("SET disabled_optimizers = ''")
expected = [(a, rid) for a, rid in rows if a is None]
actual = duckdb.sql(f"SELECT a, rid FROM '{path}' WHERE a IS NULL").fetchall()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
