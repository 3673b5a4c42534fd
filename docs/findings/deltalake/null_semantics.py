import pyarrow as pa
from asking import ask, make
t = make("t", [pa.table({"a": pa.array([0, 1, None], pa.int32())})])
print(ask("EXPLAIN SELECT a FROM t WHERE NOT (a IN (NULL, 0))", t=t)[0])
for where in ("NOT (a = a)", "NOT (a IN (NULL, 0))", "NOT (a IN (NULL))", "NOT (a + 0 IN (NULL, 0))", "a <> 0 AND a <> NULL"):
    print("delta-rs", where, ask("SELECT a FROM t WHERE " + where, t=t))
import datafusion
c = datafusion.SessionContext(); c.from_arrow(pa.table({"a": pa.array([0, 1, None], pa.int32())}), "t")
for where in ("NOT (a = a)", "NOT (a IN (NULL, 0))", "NOT (a IN (NULL))"):
    print("datafusion", datafusion.__version__, where, c.sql("SELECT a FROM t WHERE " + where).to_pydict())
