import tempfile
import pyarrow as pa, pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, WriterProperties, ColumnProperties, write_deltalake
root = tempfile.mkdtemp()
def make(name, blocks, **options):
    for block in blocks:
        write_deltalake(f"{root}/{name}", block, mode="append", **options)
    return DeltaTable(f"{root}/{name}")
def ask(sql, **tables):
    query = QueryBuilder()
    for name, table in tables.items():
        query.register(name, table)
    try:
        return [tuple(row.values()) for row in pa.table(query.execute(sql)).to_pylist()]
    except Exception as error:
        return type(error).__name__ + " " + str(error)[:150]
t = make("t", [pa.table({"a": pa.array([0, 1, None], pa.int32())})])
print(ask("EXPLAIN SELECT a FROM t WHERE NOT (a IN (NULL, 0))", t=t)[0])
for where in ("NOT (a = a)", "NOT (a IN (NULL, 0))", "NOT (a IN (NULL))", "NOT (a + 0 IN (NULL, 0))", "a <> 0 AND a <> NULL"):
    print("delta-rs", where, ask("SELECT a FROM t WHERE " + where, t=t))
import datafusion
c = datafusion.SessionContext(); c.from_arrow(pa.table({"a": pa.array([0, 1, None], pa.int32())}), "t")
for where in ("NOT (a = a)", "NOT (a IN (NULL, 0))", "NOT (a IN (NULL))"):
    print("datafusion", datafusion.__version__, where, c.sql("SELECT a FROM t WHERE " + where).to_pydict())
