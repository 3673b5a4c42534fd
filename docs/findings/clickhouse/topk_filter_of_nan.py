import sys

import chdb

rows, engine = ["1.0", "nan", "5.0"], chdb.connect(":memory:")
engine.query("CREATE TABLE t (f Float64) ENGINE = MergeTree ORDER BY tuple()")
for f in rows:  # a part for each
    engine.query(f"INSERT INTO t VALUES ({f})")
expected = ["nan"]  # NULLS FIRST has NaN first, too
sql = "SELECT f FROM t ORDER BY f DESC NULLS FIRST LIMIT 1 SETTINGS max_threads = 1"
actual = engine.query(sql + ", use_top_k_dynamic_filtering = 1", "TSV").data().split()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
