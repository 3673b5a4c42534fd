# DataFusion: a row group without bounds is left out of the file's summary, which still counts as exact.
import re, struct, tempfile, pyarrow as pa, pyarrow.parquet as pq
from datafusion import SessionContext
path = tempfile.mkdtemp() + "/t.parquet"
def write(strip):
    with pq.ParquetWriter(path, pa.schema([("a", pa.int32())]), compression="none", use_dictionary=False) as w:
        for v in ([1, 1], [5, 7]):
            w.write_table(pa.table({"a": pa.array(v, pa.int32())}))
    if strip:  # the second group keeps its null_count alone (thrift compact: field 3), its min and max go
        b = open(path, "rb").read()
        n = struct.unpack("<I", b[-8:-4])[0]
        f = re.sub(rb"\x18\x04\x07\0\0\0\x18\x04\x05\0\0\0\x16(.)\x28\x04.{4}\x18\x04.{4}\x11\x11", lambda m: b"\x36" + m[1], b[-8 - n:-8], flags=re.S)
        open(path, "wb").write(b[:-8 - n] + f + struct.pack("<I", len(f)) + b"PAR1")
for strip, collect in [(True, "true"), (True, "false"), (False, "true")]:
    write(strip)
    m = pq.ParquetFile(path).metadata
    print("bounds per group:", [m.row_group(i).column(0).statistics.has_min_max for i in range(2)], "collect_statistics", collect)
    for q in ("SELECT a FROM t", "SELECT max(a) FROM t", "SELECT a FROM t WHERE a > 3"):
        ctx = SessionContext()
        ctx.sql("SET datafusion.execution.target_partitions = 1")
        ctx.sql(f"SET datafusion.execution.collect_statistics = {collect}")
        ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
        print("  ", q, [tuple(r.values()) for b in ctx.sql(q).collect() for r in b.to_pylist()])
