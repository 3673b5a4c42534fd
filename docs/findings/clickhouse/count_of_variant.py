import sys

import chdb

rows, engine = [None, 5], chdb.connect(":memory:")
engine.query("CREATE TABLE t (a Nullable(UInt64)) ENGINE = Memory")
engine.query("INSERT INTO t VALUES (NULL), (5)")
expected = len([a for a in rows if (17 if a is not None and a > 7 else a) is not None])
sql = "SELECT count(if(a > 7, toInt32(17), a)) FROM t"
actual = int(engine.query(sql, "TSV").data())
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
