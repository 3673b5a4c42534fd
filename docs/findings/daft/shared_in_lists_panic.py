import sys

import daft

rows = [0, 1]
t = daft.from_pydict({"a": rows})
expected = [(a in (0, 2), a in (0, 1)) for a in rows]
try:
    answer = daft.sql("SELECT a IN (0, 2) AS x, a IN (0, 1) AS y FROM t", t=t).to_pydict()
    actual = list(zip(answer["x"], answer["y"], strict=True))
except BaseException as error:
    actual = f"{type(error).__name__}: {str(error).splitlines()[0]}"
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
