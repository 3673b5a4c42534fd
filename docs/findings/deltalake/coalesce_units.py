import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds
from asking import make, told
literal, bound = pa.scalar(86400002, pa.timestamp("ms")), pa.scalar(86400000, pa.timestamp("ms"))
b = pa.table({"b": pa.array([None], pa.timestamp("us")), "c": pa.array([86400002], pa.timestamp("ms"))})
print("pyarrow", pa.__version__, "| called:", pc.coalesce(b["b"], literal).to_pylist())
for name, expression in (("literal", pc.coalesce(pc.field("b"), pc.scalar(literal))), ("column", pc.coalesce(pc.field("b"), pc.field("c"))),
                         ("literal of us", pc.coalesce(pc.field("b"), pc.scalar(literal.cast(pa.timestamp("us")))))):
    print("as an expression in memory,", name, ds.dataset(b).to_table(columns={"x": expression})["x"].to_pylist(),
          "| filter >= 86400000 ms:", ds.dataset(b).to_table(filter=expression >= bound).num_rows, "rows")
t = make("t", [pa.table({"b": pa.array([None], pa.timestamp("ms"))})])
print("delta-rs keeps", t.to_pyarrow_dataset().schema.field("b").type, "|", told(lambda: t.to_pyarrow_dataset().to_table(
    filter=pc.coalesce(pc.field("b"), pc.scalar(literal)) >= bound).num_rows), "rows")
