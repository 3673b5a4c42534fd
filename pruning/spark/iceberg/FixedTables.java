import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.source.SparkRewriteTable;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Reads tables of Iceberg's modules from Spark 4.1 on, which stay at the version that they were loaded at. */
public final class FixedTables extends IcebergLeaves.TableReads {
    public void refresh(SparkTable source, CaseInsensitiveStringMap options) {
        // Spark has loaded the newest version.
    }

    public Schema schema(SparkTable source) {
        // The table does not give its schema in Iceberg's own form.
        Table table = source.table();
        Schema current = table.schema();
        Schema earlier = source.snapshotId() == null ? current : SnapshotUtil.schemaFor(table, source.snapshotId());
        boolean isCurrent = SparkSchemaUtil.convert(current).equals(source.schema());
        boolean isEarlier = SparkSchemaUtil.convert(earlier).equals(source.schema());
        if (isCurrent && isEarlier && !current.sameSchema(earlier)) {
            throw IcebergLeaves.left("two schemas of the table have the same columns");
        }
        if (!isCurrent && !isEarlier) {
            throw IcebergLeaves.left("its schema is not known");
        }
        return isCurrent ? current : earlier;
    }

    public Snapshot snapshot(
            SparkSession spark, SparkTable source, CaseInsensitiveStringMap options, TableMetadata metadata) {
        IcebergLeaves.checkWhole(new SparkReadConf(spark, source.table(), options));
        Long id = source.snapshotId();
        return id == null ? null : IcebergLeaves.existing(metadata.snapshot(id.longValue()));
    }

    public SparkTable sparkTable(Table table) {
        return new SparkTable(table);
    }

    public ScanBuilder stagedBuilder(Table table, CaseInsensitiveStringMap options) {
        String setId = options.get(IcebergLeaves.TASK_SET);
        return new SparkRewriteTable(table, setId).newScanBuilder(options);
    }
}
