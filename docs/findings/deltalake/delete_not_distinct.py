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
t = make("t", [pa.table({"a": pa.array([0, 1], pa.int32())})])
for where in ("a = 0", "a IS NOT DISTINCT FROM 0", "a IS NOT DISTINCT FROM CAST(0 AS INT)"):
    print("SELECT", where, ask("SELECT a FROM t WHERE " + where, t=t))
    try:
        u = make("u" + where, [pa.table({"a": pa.array([0, 1], pa.int32())})]); u.delete(where); print("DELETE", where, u.to_pyarrow_table()["a"].to_pylist())
    except Exception as error:
        print("DELETE", where, type(error).__name__, str(error)[:120])
