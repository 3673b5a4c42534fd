import tempfile, pyarrow as pa, pyarrow.compute
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
tables = {}
for metrics in ("full", "none"):
    table = catalog.create_table(
        "n." + metrics, pa.schema([("a", pa.float64())]), properties={"write.metadata.metrics.default": metrics}
    )
    table.append(pa.table({"a": [0.0, float("nan")]}))
    tables[metrics] = table
    print("metrics", metrics, "| NaN values counted:", table.inspect.files()["nan_value_counts"].to_pylist())
# How many of the one file a scan reads at all; whether the row is then found is a question to pyarrow.
for where in (Not(LessThanOrEqual("a", 0.0)), Not(LessThan("a", 1.0)), IsNaN("a")):
    planned = {metrics: len(list(table.scan(row_filter=where).plan_files())) for metrics, table in tables.items()}
    print(str(where).replace("term=Reference(name='a'), literal=", ""), "| files read by metrics:", planned)
memory = pa.table({"a": [0.0, float("nan")]})
print("~(a <= 0.0) in pyarrow, in memory:", memory.filter(~(pa.compute.field("a") <= 0.0))["a"].to_pylist())
