import sys

import chdb

rows, others, engine = [None, 5], [0], chdb.connect(":memory:")
engine.query("CREATE TABLE t (a Nullable(Int32)) ENGINE = Memory")
engine.query("INSERT INTO t VALUES (NULL), (5)")
engine.query("CREATE TABLE u (b Int32) ENGINE = Memory")
engine.query("INSERT INTO u VALUES (0)")
expected = [a for a in rows if any(b == (0 if a is None else a) for b in others)]
sql = "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE b = coalesce(a, 0))"
answer = engine.query(sql, "TSV").data()
actual = [None if text == "\\N" else int(text) for text in answer.split()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
