import glob
import json
import asking
import pyarrow as pa, pyarrow.compute as pc
from asking import make
from decimal import Decimal
inf = float("inf")
for name, kind, blocks, where in (
    ("f", pa.float32(), [[1.0, 1.0, inf, 1.0]], pc.field("a") == 1.0),
    ("z", pa.float64(), [[0.0, inf]], pc.field("a") == 0.0),
    ("e", pa.decimal128(18, 6), [[Decimal("0.00001")]], pc.field("a") == Decimal("0.00001")),
    ("s", pa.decimal128(18, 6), [[Decimal("0.000001")]], pc.field("a") == Decimal("0.000001")),
    ("d", pa.decimal128(38, 10), [[Decimal(0)], [Decimal(0), Decimal("-9999999999999999999999999999.9999999999")]], pc.field("a") != Decimal(0))):
    t = make(name, [pa.table({"a": pa.array(b, kind)}) for b in blocks])
    print(name, t.to_pyarrow_dataset().to_table(filter=where)["a"].to_pylist(), "in memory:", t.to_pyarrow_table().filter(where)["a"].to_pylist(),
          "get_add_actions:", pa.table(t.get_add_actions(flatten=True)).select(["min.a", "max.a"]).to_pylist())
    log = [json.loads(line) for path in sorted(glob.glob(f"{asking.root}/{name}/_delta_log/*.json")) for line in open(path)]
    print("   log:", [line["add"]["stats"] for line in log if "add" in line])
    print("   guarantees of the files:", [str(f.partition_expression) for f in t.to_pyarrow_dataset().get_fragments()])
