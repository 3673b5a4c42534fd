import sys

import pyarrow as pa
import pyarrow.compute as pc

# In a pattern, two backslashes stand for one: the pattern is of texts that begin with a, backslash, b.
rows = ["a\\b", "a\\\\b"]
expected = [text for text in rows if text.startswith("a\\b")]
column = pa.array(rows)
actual = column.filter(pc.match_like(column, r"a\\b%")).to_pylist()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
