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
    print(f"{text:26} of {str(values):16}:", answers)
for values in [nan, 1.0], [nan, 1.0, 2.0]:
    ask("is_nan(a)", values, pc.is_nan(a))
    ask("a != 1.0", values, a != 1.0)
    ask("~(a > 0.0)", values, ~(a > 0.0))
    ask("~(a <= a)", values, ~(a <= a))
    ask("a.is_null(nan_is_null=True)", values, a.is_null(nan_is_null=True))
    ask("a.isin([nan])", values, a.isin(pa.array([nan])))
