import sys

import daft

left, right = [float("nan")], [float("nan")]
t, u = daft.from_pydict({"a": left}), daft.from_pydict({"a": right})
expected = len({str(a) for a in left} & {str(b) for b in right})
actual = len(daft.sql("SELECT a FROM t INTERSECT SELECT a FROM u", t=t, u=u).to_pydict()["a"])
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
