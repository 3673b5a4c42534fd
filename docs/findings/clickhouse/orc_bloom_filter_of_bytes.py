import sys
import tempfile

import chdb
import pyarrow as pa
from pyarrow import orc

rows, path = [0, 2], tempfile.mkdtemp() + "/t.orc"
orc.write_table(pa.table({"a": pa.array(rows, pa.int8())}), path, bloom_filter_columns=[1])
expected = [a for a in rows if a == 0]
settings = "SETTINGS input_format_orc_filter_push_down = 1"
sql = f"SELECT a FROM file('{path}', ORC, 'a Nullable(Int8)') WHERE a = 0 {settings}"
actual = list(map(int, chdb.query(sql, "TSV").data().split()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
