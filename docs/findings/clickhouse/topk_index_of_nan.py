import sys

import chdb

rows, engine = ["1.0", "nan", "5.0"], chdb.connect(":memory:")
engine.query("CREATE TABLE t (f Float64, INDEX i f TYPE minmax) ENGINE = MergeTree ORDER BY tuple()")
for f in rows:  # a part for each
    engine.query(f"INSERT INTO t VALUES ({f})")
expected = ["5"]  # NaN is last by NULLS LAST, the default
sql = "SELECT f FROM t ORDER BY f DESC LIMIT 1 SETTINGS use_top_k_dynamic_filtering = 0"
actual = engine.query(sql + ", use_skip_indexes_for_top_k = 1", "TSV").data().split()
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
