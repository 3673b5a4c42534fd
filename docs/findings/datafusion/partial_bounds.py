import re
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [1, 1, 5, 7], Path(tempfile.mkdtemp(), "t.parquet")
pq.write_table(pa.table({"a": pa.array(rows, pa.int32())}), path, row_group_size=2, use_dictionary=False)
data, size = path.read_bytes()[:-8], int.from_bytes(path.read_bytes()[-8:-4], "little")
# By Thrift, the statistics of 5 and 7 are two old bounds, null_count, and more; null_count is kept.
old = rb"\x18\x04\x07\0\0\0\x18\x04\x05\0\0\0\x16(.)\x28\x04.{4}\x18\x04.{4}\x11\x11"
footer = re.sub(old, b"\x36\\1", data[-size:], flags=re.S)
path.write_bytes(data[:-size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
expected, actual = rows, SessionContext().read_parquet(str(path)).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
