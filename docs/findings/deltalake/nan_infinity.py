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
nan, inf = float("nan"), float("inf")
none = WriterProperties(default_column_properties=ColumnProperties(statistics_enabled="NONE"))
for n, options in enumerate(({}, {"writer_properties": none})):
    t = make(f"t{n}", [pa.table({"a": [1.0, nan]})], **options)
    print(n, [ask("SELECT a FROM t WHERE " + w, t=t) for w in ("a <> 1.0", "a > 1.0", "NOT (a = 1.0)")])
t = make("g", [pa.table({"k": [1], "a": [-inf], "b": [inf]})])
print("max, min with GROUP BY:", ask("SELECT k, max(a), min(b) FROM t GROUP BY k", t=t))
