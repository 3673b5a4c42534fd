import sys

import daft

rows = [float("nan"), float("nan")]
t = daft.from_pydict({"g": [1, 1], "a": rows})
expected = len({str(a) for a in rows})  # = and DISTINCT take them for equal
actual = daft.sql("SELECT count(DISTINCT a) AS c FROM t GROUP BY g", t=t).to_pydict()["c"][0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
