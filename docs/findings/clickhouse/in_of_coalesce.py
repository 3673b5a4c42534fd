import sys
import tempfile

import chdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [0, None], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": pa.array(rows, pa.int32())}), path)
expected = len([a for a in rows if (1 if a is None else a) in [1]])
source = f"file('{path}', Parquet, 'a Nullable(Int32)')"
settings = "SETTINGS input_format_parquet_filter_push_down = 1"
sql = f"SELECT count() FROM {source} WHERE coalesce(a, 1) IN (1) {settings}"
actual = int(chdb.query(sql, "TSV").data())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
