import math
import sys
import tempfile

import chdb
import pyarrow as pa
import pyarrow.parquet as pq

rows, path = [0.0, math.nan], tempfile.mkdtemp() + "/t.parquet"
pq.write_table(pa.table({"a": rows}), path)
expected = [len([a for a in rows if a != 0]), len([a for a in rows if math.isnan(a)])]  # IN finds NaN
settings = "SETTINGS input_format_parquet_filter_push_down = 1"
actual = []
for condition in ("a <> 0", "a IN (nan)"):
    sql = f"SELECT count() FROM file('{path}', Parquet, 'a Float64') WHERE {condition} {settings}"
    actual.append(int(chdb.query(sql, "TSV").data()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
