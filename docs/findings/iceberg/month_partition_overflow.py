import tempfile, pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import *
catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse="file://" + tempfile.mkdtemp())
catalog.create_namespace("n")
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, HourTransform, MonthTransform, YearTransform
from pyiceberg.types import NestedField, TimestampType
schema = Schema(NestedField(1, "a", TimestampType(), required=False))
low, high = "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"
for transform in (None, YearTransform(), MonthTransform(), DayTransform(), HourTransform()):
    spec = PartitionSpec(PartitionField(1, 1000, transform, "p")) if transform else PartitionSpec()
    t = catalog.create_table(f"n.t_{transform}", schema, partition_spec=spec)
    t.append(pa.table({"a": pa.array([0], pa.timestamp("us"))}))
    for where in (LessThan("a", low), GreaterThanOrEqual("a", low), GreaterThan("a", high), LessThanOrEqual("a", high)):
        try:
            print(transform, type(where).__name__, where.literal.value, t.scan(row_filter=where).to_arrow().num_rows)
        except OverflowError as error:
            print(transform, type(where).__name__, where.literal.value, type(error).__name__, error)
