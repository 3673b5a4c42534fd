import sys
import tempfile

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

t, u, root = [(1, 7)], [(3, 0)], tempfile.mkdtemp()
for rows, key, rid in ((t, "a", "rid"), (u, "u_a", "u_rid")):
    pq.write_to_dataset(pa.Table.from_pylist([{key: k, rid: r} for k, r in rows]), root + "/" + key, [key])
expected = [(rid, a, u_rid) for a, rid in t for u_a, u_rid in u if a == u_a]
left, right = (pl.scan_parquet(f"{root}/{key}/", hive_partitioning=True) for key in ("a", "u_a"))
try:
    actual = left.join(right, left_on="a", right_on="u_a").collect().rows()
except pl.exceptions.PanicException as error:
    actual = f"PanicException: {error}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
