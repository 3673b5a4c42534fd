import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
for metrics in ("truncate(16)", "truncate(1)", "full", "none"):
    t = catalog.create_table("n.t" + metrics[:8].replace("(", "") + metrics[-3:-1].replace("(", ""), pa.schema([("a", pa.string())]), properties={"write.metadata.metrics.default": metrics})
    try:
        t.append(pa.table({"a": ["\ud7ff" * 16 + "a"]}))
        print(metrics, "written", t.scan().to_arrow().num_rows)
    except UnicodeEncodeError as error:
        print(metrics, type(error).__name__, error)
