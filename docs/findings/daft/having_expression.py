import sys

import daft

rows = [0, 1, 2]
t = daft.from_pydict({"b": rows})
expected = [b - 1 for b in rows if b - 1 == 1]
actual = daft.sql("SELECT b - 1 AS g FROM t GROUP BY b - 1 HAVING b - 1 = 1", t=t).to_pydict()["g"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
