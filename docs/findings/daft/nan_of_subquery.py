import sys

import daft

left, right = [float("nan")], [float("nan")]
t, u = daft.from_pydict({"a": left}), daft.from_pydict({"b": right})
expected = sum(str(a) == str(max(right)) for a in left)  # = takes NaN for equal to NaN
sql = "SELECT count(*) AS c FROM t WHERE a = (SELECT max(b) FROM u)"
actual = daft.sql(sql, t=t, u=u).to_pydict()["c"][0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
