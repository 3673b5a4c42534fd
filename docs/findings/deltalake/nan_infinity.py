import pyarrow as pa
from deltalake import WriterProperties, ColumnProperties
from asking import ask, make
nan, inf = float("nan"), float("inf")
none = WriterProperties(default_column_properties=ColumnProperties(statistics_enabled="NONE"))
for n, options in enumerate(({}, {"writer_properties": none})):
    t = make(f"t{n}", [pa.table({"a": [1.0, nan]})], **options)
    print(n, [ask("SELECT a FROM t WHERE " + w, t=t) for w in ("a <> 1.0", "a > 1.0", "NOT (a = 1.0)")])
t = make("g", [pa.table({"k": [1], "a": [-inf], "b": [inf]})])
print("max, min with GROUP BY:", ask("SELECT k, max(a), min(b) FROM t GROUP BY k", t=t))
