import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
from asking import answers, path
a, zero, minus = pc.field("a"), pa.array([0.0]), pa.array([-0.0])
def ask(text, values, where):
    found = answers(values, where)
    pq.write_table(pa.table({"a": pa.array(values, pa.float64())}), path)
    held = pq.read_metadata(path).row_group(0).column(0).statistics
    print(f"{text:31} of {values}, min {held.min} max {held.max}:", *(f"{name} {rows}" for name, rows in found.items()), sep=" | ")
ask("a.isin([0.0])", [0.0], a.isin(zero))
ask("a.isin([0.0])", [0.0, 1.0], a.isin(zero))
ask("a.isin([0.0])", [0.0, None], a.isin(zero))
ask("~a.isin([-0.0])", [0.0], ~a.isin(minus))
ask("~((a == 0.0) & a.isin([-0.0]))", [-0.0, 0.0], ~((a == 0.0) & a.isin(minus)))
ask("1.0 / a > 0", [0.0], pc.divide(pc.scalar(1.0), a) > 0)
ask("a.cast(string) == '0'", [0.0], a.cast(pa.string()) == "0")
ask("a == 0.0", [0.0], a == 0.0)
