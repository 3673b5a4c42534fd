import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import DeltaError

rows, path = [("a", 0), ("b", 1)], tempfile.mkdtemp()
write_deltalake(path, pa.table(list(zip(*rows, strict=True)), ["p", "rid"]), partition_by=["p"])
query = QueryBuilder().register("t", DeltaTable(path))
top = "SELECT max(p) AS m FROM (SELECT * FROM t ORDER BY rid LIMIT 2)"
expected = [max(p for p, _ in rows[:2])]
try:
    actual = pa.table(query.execute(top).read_all())["m"].to_pylist()
except DeltaError as error:
    actual = str(error).splitlines()[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
