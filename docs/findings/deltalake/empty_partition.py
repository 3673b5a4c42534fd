import glob
import json
import asking
import pyarrow as pa, pyarrow.compute as pc
from asking import ask, deleted, make
block = pa.table({"a": ["", "a", None], "rid": [1, 2, 3]})
t = make("t", [block], partition_by=["a"])
log = [json.loads(line) for line in open(glob.glob(asking.root + "/t/_delta_log/*.json")[0])]
print("log:", sorted((line["add"]["partitionValues"] for line in log if "add" in line), key=str))
print("SQL:", ask("SELECT a, rid FROM t ORDER BY rid", t=t), "| a IS NULL:", ask("SELECT rid FROM t WHERE a IS NULL", t=t))
print("to_pyarrow_dataset:", t.to_pyarrow_dataset().to_table().sort_by("rid").to_pylist(),
      "| a = '':", t.to_pyarrow_dataset().to_table(filter=pc.field("a") == "").num_rows, "rows")
print("get_add_actions:", sorted(pa.table(t.get_add_actions(flatten=True))["partition.a"].to_pylist(), key=str))
for where in ("a IS NULL", "a = ''"):
    print("rid after DELETE", where, deleted(make("d" + where, [block], partition_by=["a"]), where, "rid"))
