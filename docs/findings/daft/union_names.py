import sys

import daft

left, right = [0], [1]
t, u = daft.from_pydict({"a": left}), daft.from_pydict({"b": right})
expected = left + right
try:
    actual = daft.sql("SELECT a FROM t UNION ALL SELECT b FROM u", t=t, u=u).to_pydict()["a"]
except daft.exceptions.DaftCoreException as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
