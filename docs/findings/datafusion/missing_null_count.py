# DataFusion: an absent null_count is read as zero. pyarrow writes the file; its footer then loses the null_count of column "a".
import re, struct, tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext

file = tempfile.mkdtemp() + "/t.parquet"
def write(path, groups, statistics=True, strip=True):
    with pq.ParquetWriter(path, pa.schema([("a", pa.int32()), ("rid", pa.int64())]), compression="none", use_dictionary=False,
                          write_statistics=statistics) as w:
        for g in groups:
            w.write_table(pa.table({"a": pa.array([r[0] for r in g], pa.int32()), "rid": pa.array([r[1] for r in g], pa.int64())}))
    if strip:  # thrift compact: fields 1, 2 (max, min: 4 bytes each), 3 (null_count), 5 (max_value): drop 3, let 5 follow 2
        b = open(path, "rb").read()
        n = struct.unpack("<I", b[-8:-4])[0]
        f = re.sub(rb"(\x18\x04.{4}\x18\x04.{4})\x16.\x28\x04", lambda m: m[1] + b"\x38\x04", b[-8 - n:-8], flags=re.S)
        open(path, "wb").write(b[:-8 - n] + f + struct.pack("<I", len(f)) + b"PAR1")

groups = [[(0, 0), (0, 1)], [(0, 2), (None, 3)]]
for question in ["SELECT a, rid FROM t", "SELECT rid FROM t WHERE a IS NULL", "SELECT rid FROM t WHERE a = 0",
                 "SELECT rid FROM t WHERE a IS DISTINCT FROM 0", "SELECT count(a) FROM t", "SELECT a, count(*) FROM t GROUP BY a"]:
    print(question)
    for name, kw, collect in [("null_count absent", {}, "true"), ("null_count absent, collect_statistics=false", {}, "false"),
                              ("null_count present", {"strip": False}, "true"), ("no statistics", {"statistics": False, "strip": False}, "true")]:
        write(file, groups, **kw)
        st = pq.ParquetFile(file).metadata.row_group(1).column(0).statistics
        assert "strip" in kw or (st.has_min_max and not st.has_null_count)
        ctx = SessionContext()
        ctx.sql("SET datafusion.execution.target_partitions = 1")
        ctx.sql(f"SET datafusion.execution.collect_statistics = {collect}")
        ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{file}'")
        print("  %-45s" % name, [tuple(r.values()) for b in ctx.sql(question).collect() for r in b.to_pylist()])
# two groups of different values: nothing is constant, the row group is pruned, and the top-k filter prunes
for question in ["SELECT rid FROM t WHERE a IS NULL", "SELECT a FROM t ORDER BY a DESC NULLS FIRST LIMIT 1"]:
    print(question, "   -- groups [9, 9], [0, NULL]; [1, 1]")
    for name, strip, settings in [("null_count absent", True, []), ("... collect_statistics=false", True, ["execution.collect_statistics"]),
                        ("... and parquet.pruning=false", True, ["execution.collect_statistics", "execution.parquet.pruning"]),
                        ("... and dynamic filter off", True, ["execution.collect_statistics", "execution.parquet.pruning", "optimizer.enable_dynamic_filter_pushdown"]),
                        ("null_count present", False, [])]:
        write(file, [[(9, 0), (9, 1)], [(0, 2), (None, 3)], [(1, 4), (1, 5)]], strip=strip)
        ctx = SessionContext()
        for s in settings:
            ctx.sql(f"SET datafusion.{s} = false")
        ctx.sql("SET datafusion.execution.target_partitions = 1")
        ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{file}'")
        print("  %-45s" % name, [tuple(r.values()) for b in ctx.sql(question).collect() for r in b.to_pylist()])
