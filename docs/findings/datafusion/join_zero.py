# DataFusion: a join pushes `key IN (SET)` into the other side's scan, which tells -0.0 from 0.0; the join itself does not.
import tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext
root = tempfile.mkdtemp()
def ask(question, *settings):
    ctx = SessionContext()
    for setting in ("execution.target_partitions = 1", *settings):
        ctx.sql(f"SET datafusion.{setting}")
    for table, column, value in (("t", "a", 0.0), ("u", "ua", -0.0)):
        pq.write_table(pa.table({column: [value]}), f"{root}/{table}.parquet")
        ctx.sql(f"CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{root}/{table}.parquet'")
    return [tuple(r.values()) for b in ctx.sql(question).collect() for r in b.to_pylist()]
join, pushed = "SELECT a, ua FROM t JOIN u ON a = ua", "execution.parquet.pushdown_filters = true"
for settings in [(), (pushed,), (pushed, "optimizer.hash_join_inlist_pushdown_max_size = 0"), (pushed, "optimizer.enable_join_dynamic_filter_pushdown = false")]:
    print(*settings or ["as it comes"], ask(join, *settings), sep=" | ")
plan = ask("EXPLAIN ANALYZE " + join, pushed)[0][1]
print(plan[plan.index("DynamicFilter"):].split("]")[0])
