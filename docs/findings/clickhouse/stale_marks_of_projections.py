import sys

import chdb

sizes, engine = [2, 1], chdb.connect(":memory:")
engine.query("CREATE DATABASE d ENGINE = Memory")
for size in sizes:
    rows = [(a, -a) for a in range(size)]
    expected = [a for a, _ in sorted(rows, key=lambda row: row[1])]
    engine.query("""CREATE TABLE d.t (a Int32, b Int32, PROJECTION p (SELECT * ORDER BY b))
        ENGINE = MergeTree ORDER BY a SETTINGS index_granularity = 2""")
    engine.query(f"INSERT INTO d.t VALUES {', '.join(map(str, rows))}")
    try:
        answer = engine.query("SELECT a FROM d.t ORDER BY b LIMIT 100", "TSV").data()
        actual = list(map(int, answer.split()))
    except RuntimeError as error:
        actual = str(error).partition(": (")[0]
    engine.query("DROP TABLE d.t SYNC")
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
