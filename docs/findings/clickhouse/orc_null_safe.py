import sys
import tempfile

import chdb
import pyarrow as pa
from pyarrow import orc

rows, path = [None], tempfile.mkdtemp() + "/t.orc"
orc.write_table(pa.table({"a": pa.array(rows, pa.int32())}), path)
expected = len([a for a in rows if a != 0])  # IS NOT DISTINCT FROM is never NULL
condition = "NOT (a IS NOT DISTINCT FROM 0)"
settings = "SETTINGS input_format_orc_filter_push_down = 1"
source = f"file('{path}', ORC, 'a Nullable(Int32)')"
actual = int(chdb.query(f"SELECT count() FROM {source} WHERE {condition} {settings}", "TSV").data())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
