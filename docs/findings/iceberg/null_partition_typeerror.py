import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, MonthTransform, TruncateTransform
from pyiceberg.types import NestedField, StringType
schema = Schema(NestedField(1, "a", StringType(), required=False))
where = Or(IsNull("a"), LessThan("a", "b"))
for name, spec in (("none", PartitionSpec()), ("identity", PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))),
                   ("truncate", PartitionSpec(PartitionField(1, 1000, TruncateTransform(2), "p")))):
    t = catalog.create_table("n." + name, schema, partition_spec=spec)
    t.append(pa.table({"a": pa.array(["a", None])}))
    try:
        print(name, t.scan(row_filter=where).to_arrow()["a"].to_pylist())
    except TypeError as error:
        print(name, type(error).__name__, error)
