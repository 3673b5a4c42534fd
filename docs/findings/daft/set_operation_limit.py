import sys

import daft

left, right = [1, 2, 3], [3, 2, 1]
t, u = daft.from_pydict({"a": left}), daft.from_pydict({"a": right})
expected = sorted(set(left) & set(right), reverse=True)[:1]
sql = "SELECT a FROM t INTERSECT SELECT a FROM u ORDER BY a DESC LIMIT 1"
actual = sorted(daft.sql(sql, t=t, u=u).to_pydict()["a"])
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
