import math
import sys

import chdb

rows, engine = [math.nan], chdb.connect(":memory:")
expected = [len([f for f in rows if not f < 1])] * 2
actual = []
for name, index, order in (("k", "", "f"), ("i", ", INDEX m f TYPE minmax", "tuple()")):
    engine.query(f"CREATE TABLE {name} (f Float64{index}) ENGINE = MergeTree ORDER BY {order}")
    engine.query(f"INSERT INTO {name} VALUES {', '.join(f'({f})' for f in rows)}")
    count = engine.query(f"SELECT count() FROM {name} WHERE NOT (f < 1)", "TSV")
    actual.append(int(count.data()))
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
