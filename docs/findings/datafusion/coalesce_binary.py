# DataFusion: coalesce(bytes of a Parquet file, bytes literal) cannot be planned.
import tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext
table = pa.table({"a": pa.array([b"a", None], pa.binary())})
path = tempfile.mkdtemp() + "/t.parquet"
pq.write_table(table, path)
def ask(setup, q="SELECT coalesce(a, X'62') AS c FROM t"):
    ctx = SessionContext()
    setup(ctx)
    try:
        return ctx.sql(q).to_pydict()
    except BaseException as e:
        return type(e).__name__ + ": " + str(e).splitlines()[0][:330]
def file(ctx): ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
def noview(ctx): ctx.sql("SET datafusion.execution.parquet.schema_force_view_types = false"); file(ctx)
def memory(ctx): ctx.register_record_batches("t", [table.to_batches()])
def view(ctx): ctx.register_record_batches("t", [table.cast(pa.schema([("a", pa.binary_view())])).to_batches()])
for s in (file, noview, memory, view): print("%-8s" % s.__name__, ask(s))
print("cast    ", ask(file, "SELECT coalesce(a, arrow_cast(X'62', 'BinaryView')) AS c FROM t"))
print("a = X'61'", ask(file, "SELECT a = X'61' AS c FROM t"))
