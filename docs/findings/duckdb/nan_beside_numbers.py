import math
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [(1.0, 0), (math.nan, 1)], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": [a for a, _ in rows], "rid": [rid for _, rid in rows]}), path)
expected = [rid for a, rid in rows if math.isnan(a)]
query = f"SELECT rid FROM read_parquet('{path}', can_have_nan = false) WHERE isnan(a)"
actual = [rid for (rid,) in duckdb.sql(query).fetchall()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
