# DataFusion: floating-point bounds of Parquet leave NaN out; DataFusion takes them for the bounds of every value.
import tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext
nan, path = float("nan"), tempfile.mkdtemp() + "/t.parquet"
def ask(values, question, settings=(), **kw):
    pq.write_table(pa.table({"a": pa.array(values, pa.float64()), "rid": range(len(values))}), path, row_group_size=2, **kw)
    ctx = SessionContext()
    ctx.sql("SET datafusion.execution.target_partitions = 1")
    for s in settings:
        ctx.sql(f"SET datafusion.{s} = false")
    ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
    return [tuple(r.values()) for b in ctx.sql(question).collect() for r in b.to_pylist()]
for values, question in [([nan, 1.0], "SELECT a, rid FROM t"), ([nan, 1.0], "SELECT a FROM t LIMIT 1"),
        ([nan, 1.0], "SELECT max(a) FROM t"), ([0.0, 1.0, nan, 2.0], "SELECT rid FROM t WHERE a = arrow_cast('NaN', 'Float64')"),
        ([0.0, 1.0, nan, 2.0], "SELECT rid FROM t WHERE a > 5"), ([7.0, 8.0, nan, 2.0], "SELECT a, rid FROM t ORDER BY a DESC LIMIT 1")]:
    print(values, question)
    print("   as written                  ", ask(values, question))
    print("   collect_statistics = false  ", ask(values, question, ["execution.collect_statistics"]))
    print("   ... and parquet.pruning off ", ask(values, question, ["execution.collect_statistics", "execution.parquet.pruning"]))
    print("   ... and dynamic filters off", ask(values, question, ["execution.collect_statistics", "execution.parquet.pruning", "optimizer.enable_dynamic_filter_pushdown"]))
    print("   written without statistics  ", ask(values, question, write_statistics=False))
