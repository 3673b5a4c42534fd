import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(0, 0), (0, 1), (0, 2)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"s": [{"a": a} for a, _ in rows], "rid": [rid for _, rid in rows]}), path)
duckdb.sql("SET disabled_optimizers = ''")
expected = [(rid,) for a, rid in rows if a == 0][1:3]
try:
    actual = duckdb.sql(f"SELECT rid FROM '{path}' WHERE s.a = 0 LIMIT 2 OFFSET 1").fetchall()
except duckdb.Error as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
