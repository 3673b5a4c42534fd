import sys

import daft

rows = [0.0, float("nan")]
t = daft.from_pydict({"g": [1, 1], "a": rows})
expected = min(a for a in rows if a == a)  # in Daft's order NaN is above all numbers
actual = daft.sql("SELECT min(a) AS m FROM t GROUP BY g", t=t).to_pydict()["m"][0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
