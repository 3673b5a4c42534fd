import os, tempfile
import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.parquet as pq
print("pyarrow", pa.__version__)
path, a, zero, minus = os.path.join(tempfile.mkdtemp(), "t.parquet"), pc.field("a"), pa.array([0.0]), pa.array([-0.0])
def ask(text, values, where):
    table = pa.table({"a": pa.array(values, pa.float64())})
    answers = {"in memory": ds.dataset(table).to_table(filter=where)["a"].to_pylist()}
    for name, statistics in ("file", True), ("file without statistics", False):
        pq.write_table(table, path, write_statistics=statistics)
        answers[name] = ds.dataset(path).to_table(filter=where)["a"].to_pylist()
        if statistics:
            held = pq.read_metadata(path).row_group(0).column(0).statistics
    print(f"{text:31} of {values}, min {held.min} max {held.max}:", *(f"{name} {rows}" for name, rows in answers.items()), sep=" | ")
ask("a.isin([0.0])", [0.0], a.isin(zero))
ask("a.isin([0.0])", [0.0, 1.0], a.isin(zero))
ask("a.isin([0.0])", [0.0, None], a.isin(zero))
ask("~a.isin([-0.0])", [0.0], ~a.isin(minus))
ask("~((a == 0.0) & a.isin([-0.0]))", [-0.0, 0.0], ~((a == 0.0) & a.isin(minus)))
ask("1.0 / a > 0", [0.0], pc.divide(pc.scalar(1.0), a) > 0)
ask("a.cast(string) == '0'", [0.0], a.cast(pa.string()) == "0")
ask("a == 0.0", [0.0], a == 0.0)
