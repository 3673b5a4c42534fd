import sys

import daft

rows, members = [0, 1], [1, None]
expected = [a for a in rows if None not in members and a not in members]
sql = "SELECT a FROM t WHERE a NOT IN (1, CAST(NULL AS BIGINT))"
actual = daft.sql(sql, t=daft.from_pydict({"a": rows})).to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
