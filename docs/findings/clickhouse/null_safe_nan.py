import sys

import chdb

rows, engine = ["1", "nan"], chdb.connect(":memory:")
engine.query("CREATE TABLE t (f Nullable(Float64)) ENGINE = Memory")
engine.query(f"INSERT INTO t VALUES {', '.join(f'({f})' for f in rows)}")
expected = [f for f in rows if float(f) == float(f)]  # as f = f, for there is no NULL
actual = engine.query("SELECT f FROM t WHERE f IS NOT DISTINCT FROM f", "TSV").data().split()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
