import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(5, 0, 0), (5, 0, 1), (5, 0, 2)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))), path)
duckdb.sql("SET disabled_optimizers = ''")
expected = [(c,) for a, b, c in rows if a <= 4 and b <= a][1:6]
try:
    actual = duckdb.sql(f"SELECT c FROM '{path}' WHERE a <= 4 AND b <= a LIMIT 5 OFFSET 1").fetchall()
except duckdb.Error as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
