import re
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from datafusion import SessionContext

rows, path = [0, 0, 0, None], Path(tempfile.mkdtemp(), "t.parquet")
table = pa.table({"a": pa.array(rows, pa.int32())})
pq.write_table(table, path, row_group_size=2, use_dictionary=False, write_statistics=True)
data, size = path.read_bytes()[:-8], int.from_bytes(path.read_bytes()[-8:-4], "little")
# By Thrift, statistics are two old bounds, null_count, and two new bounds; null_count is left out.
footer = re.sub(rb"(\x18\x04.{4}\x18\x04.{4})\x16.\x28\x04", b"\\g<1>\x38\x04", data[-size:], flags=re.S)
path.write_bytes(data[:-size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
expected, actual = rows, SessionContext().read_parquet(str(path)).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
