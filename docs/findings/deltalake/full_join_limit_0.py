import sys
import tempfile

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

t, u, query = [0, 0], [5, 0], QueryBuilder()
for name, rows in {"b": t, "u_a": u}.items():
    root = tempfile.mkdtemp()
    write_deltalake(root, pa.table({name: rows}))
    query.register(f"t_{name}", DeltaTable(root))
# Of no row of u, and each of t with NULL beside it, the condition is true of none.
expected = [(b, u_a) for b in t for u_a in u[:0] or [None] if u_a is not None and 0 <= u_a <= 9]
first = "(SELECT * FROM t_u_a ORDER BY u_a DESC LIMIT 0)"
sql = f"SELECT b, u_a FROM t_b FULL JOIN {first} AS u ON b = u_a WHERE u_a BETWEEN 0 AND 9"
actual = [tuple(row.values()) for row in pa.table(query.execute(sql)).to_pylist()]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
