# DataFusion: max() of a listing table one of whose files holds a narrower integer is answered from the other file's bounds.
import os, shutil, tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext
root = tempfile.mkdtemp() + "/narrower"
def ask(files, q, collect="true"):
    shutil.rmtree(root, ignore_errors=True); os.mkdir(root)
    for n, (type, values) in enumerate(files):
        pq.write_table(pa.table({"a": pa.array(values, type)}), f"{root}/{n}.parquet")
    ctx = SessionContext()
    ctx.sql("SET datafusion.execution.target_partitions = 1")
    ctx.sql(f"SET datafusion.execution.collect_statistics = {collect}")
    ctx.sql(f"CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION '{root}/'")
    if q.startswith("EXPLAIN"):
        return " ".join(ctx.sql(q).to_pydict()["plan"][1].split()).replace(root[1:], "tmp/narrower")[:100]
    return [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()]
wide, narrow = (pa.int32(), [-1]), (pa.int16(), [5])
for q in ("SELECT a FROM t", "SELECT max(a) FROM t", "SELECT max(a), min(a) FROM t", "SELECT max(a) FROM t WHERE a > -9"):
    print(q, "|", ask([wide, narrow], q), "| files swapped", ask([narrow, wide], q), "| collect_statistics off",
          ask([wide, narrow], q, "false"), "| INT32 twice", ask([wide, (pa.int32(), [5])], q))
print(ask([wide, narrow], "EXPLAIN SELECT max(a) FROM t"))
print(ask([(pa.int32(), [7]), narrow], "EXPLAIN SELECT min(a) FROM t"), "->", ask([(pa.int32(), [7]), narrow], "SELECT min(a) FROM t"))
