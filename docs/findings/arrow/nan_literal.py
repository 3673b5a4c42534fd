import os, tempfile
import pyarrow as pa, pyarrow.compute as pc, pyarrow.dataset as ds, pyarrow.parquet as pq
print("pyarrow", pa.__version__)
nan, path, a = float("nan"), os.path.join(tempfile.mkdtemp(), "t.parquet"), pc.field("a")
def ask(text, values, where):
    table = pa.table({"a": pa.array(values, pa.float64())})
    answers = {"in memory": ds.dataset(table).to_table(filter=where)["a"].to_pylist()}
    for name, statistics in ("file", True), ("file without statistics", False):
        pq.write_table(table, path, write_statistics=statistics)
        answers[name] = ds.dataset(path).to_table(filter=where)["a"].to_pylist()
    print(f"{text:10} of {str(values):12}:", answers)
for values in [1.0, 2.0], [None, 0.0]:
    ask("~(a < nan)", values, ~(a < nan))
    ask("~(a <= nan)", values, ~(a <= nan))
    ask("~(a > nan)", values, ~(a > nan))
    ask("~(a == nan)", values, ~(a == nan))
