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
t = make("t", [pa.table({"b": [0, 0]})]); u = make("u", [pa.table({"u_a": [5, 0]})])
for limit in ("LIMIT 0", "LIMIT 1", ""):
    print(limit, ask(f"SELECT b, u_a FROM t FULL JOIN (SELECT * FROM u ORDER BY u_a DESC {limit}) AS u ON b = u_a WHERE u_a BETWEEN 0 AND 9", t=t, u=u))
