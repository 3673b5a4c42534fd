import sys

import chdb

rows, engine = [0.0, -0.0, 1.0], chdb.connect(":memory:")
engine.query("CREATE TABLE t (f Float64) ENGINE = MergeTree ORDER BY f")
engine.query(f"INSERT INTO t VALUES {', '.join(f'({f})' for f in rows)}")
expected = [sorted({str(f) for f in rows})] * 2  # DISTINCT tells the zeros apart
distinct, actual = "SELECT DISTINCT f FROM t", []
for sql in (distinct, f"SELECT f FROM t INTERSECT SELECT f FROM ({distinct})"):
    answer = engine.query(f"{sql} SETTINGS optimize_distinct_in_order = 1", "TSV").data()
    actual.append(sorted(str(float(f)) for f in answer.split()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
