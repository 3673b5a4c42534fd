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
blocks = [pa.table({"a": pa.array([0, 1, None, 2], pa.int32()), "rid": [0, 1, 2, 3]})]
for where in ("a < a", "a <> a", "a = a", "a IN (NULL)", "a IN (NULL, 1)"):
    print(where, "| plain:", ask("SELECT rid FROM t WHERE " + where + " ORDER BY rid", t=make("p" + where, blocks)),
          "| partitioned by a:", ask("SELECT rid FROM t WHERE " + where + " ORDER BY rid", t=make("q" + where, blocks, partition_by=["a"])))
for where in ("a <> a", "a IN (NULL)"):
    for options in ({}, {"partition_by": ["a"]}):
        t = make("d" + where + str(len(options)), blocks, **options)
        try:
            t.delete(where)
            print("after DELETE", where, options, sorted(t.to_pyarrow_table()["rid"].to_pylist()))
        except Exception as error:
            print("after DELETE", where, options, type(error).__name__, str(error)[:120])
