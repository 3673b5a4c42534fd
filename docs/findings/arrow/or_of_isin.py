import sys

import pyarrow as pa
import pyarrow.compute as pc

rows = [0.0, -0.0, 5.0]
lists = [[-0.0, 7.0], [0.0, 7.0]]
either = pc.field("a").isin(lists[0]) | pc.field("a").isin(lists[1])
expected = [a for a in rows if a in lists[0] or a in lists[1]]
actual = pa.table({"a": rows}).filter(either)["a"].to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
