import sys

import chdb

rows, engine = ["nan", "-nan", "0.0", "-0.0"], chdb.connect(":memory:")
engine.query("CREATE TABLE t (f Float64) ENGINE = MergeTree ORDER BY f")
engine.query(f"INSERT INTO t VALUES {', '.join(f'({f})' for f in rows)}")
expected = [1] * len(set(rows))  # GROUP BY tells NaN and zeros of both signs apart
sql = "SELECT count() FROM t GROUP BY f SETTINGS optimize_aggregation_in_order = 1"
actual = [int(count) for count in engine.query(sql, "TSV").data().split()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
