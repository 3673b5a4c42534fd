import math
import sys
from collections import Counter

import daft

keys = [float("nan"), float("nan"), -float("nan")]
t = daft.from_pydict({"a": keys, "b": [1, 2, 3]})
# = and DISTINCT tell NaN with its sign bit set from NaN without.
expected = sorted(Counter(math.copysign(1, a) for a in keys).values())
actual = sorted(daft.sql("SELECT count(DISTINCT b) AS c FROM t GROUP BY a", t=t).to_pydict()["c"])
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
