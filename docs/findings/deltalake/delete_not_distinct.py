import pyarrow as pa
from asking import ask, deleted, make
t = make("t", [pa.table({"a": pa.array([0, 1], pa.int32())})])
for where in ("a = 0", "a IS NOT DISTINCT FROM 0", "a IS NOT DISTINCT FROM CAST(0 AS INT)"):
    print("SELECT", where, ask("SELECT a FROM t WHERE " + where, t=t))
    u = make("u" + where, [pa.table({"a": pa.array([0, 1], pa.int32())})])
    print("DELETE", where, deleted(u, where, "a"))
