import sys
import tempfile

import chdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

rows, folder = [-0.0], tempfile.mkdtemp()
pq.write_table(pa.table({"a": rows}), folder + "/Parquet")
orc.write_table(pa.table({"a": rows}), folder + "/ORC")
expected = [len([a for a in rows if str(a) not in ["0.0"]])] * 2  # IN tells the zeros apart
actual = []
for kind in ("Parquet", "ORC"):
    settings = f"SETTINGS input_format_{kind.lower()}_filter_push_down = 1"
    source = f"file('{folder}/{kind}', {kind}, 'a Nullable(Float64)')"
    sql = f"SELECT count() FROM {source} WHERE a NOT IN (0.0) {settings}"
    actual.append(int(chdb.query(sql, "TSV").data()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
