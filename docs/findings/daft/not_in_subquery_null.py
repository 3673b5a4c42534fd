import sys

import daft

left, right = [None, 0], [1, None]
t, u = daft.from_pydict({"a": left}), daft.from_pydict({"b": right})
expected = [a for a in left if a is not None and None not in right and a not in right]
sql = "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)"
actual = daft.sql(sql, t=t, u=u).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
