import java.util.Collections;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Reads tables of Iceberg's modules up to Spark 4.0, which are refreshed whenever a scan of them is made. */
public final class RefreshedTables extends IcebergLeaves.TableReads {
    public void refresh(SparkTable source, CaseInsensitiveStringMap options) {
        source.newScanBuilder(options);
    }

    public Schema schema(SparkTable source) {
        return source.branch() == null
            ? SnapshotUtil.schemaFor(source.table(), source.snapshotId(), null)
            : SnapshotUtil.schemaFor(source.table(), source.branch());
    }

    public Snapshot snapshot(
            SparkSession spark, SparkTable source, CaseInsensitiveStringMap options, TableMetadata metadata) {
        if (source.branch() == null && source.snapshotId() != null) {
            return IcebergLeaves.existing(metadata.snapshot(source.snapshotId().longValue()));
        }
        SparkReadConf conf = new SparkReadConf(spark, source.table(), source.branch(), options);
        IcebergLeaves.checkWhole(conf);
        if (conf.snapshotId() != null) {
            return IcebergLeaves.existing(metadata.snapshot(conf.snapshotId().longValue()));
        }
        if (conf.asOfTimestamp() != null) {
            long id = SnapshotUtil.snapshotIdAsOfTime(source.table(), conf.asOfTimestamp().longValue());
            return IcebergLeaves.existing(metadata.snapshot(id));
        }
        String name = conf.branch() == null ? conf.tag() : conf.branch();
        if (name == null || (name.equals(SnapshotRef.MAIN_BRANCH) && metadata.currentSnapshot() == null)) {
            return metadata.currentSnapshot();
        }
        SnapshotRef ref = metadata.ref(name);
        return IcebergLeaves.existing(ref == null ? null : metadata.snapshot(ref.snapshotId()));
    }

    public SparkTable sparkTable(Table table) {
        return new SparkTable(table, (Long) null, false);
    }

    public ScanBuilder stagedBuilder(Table table, CaseInsensitiveStringMap options) {
        return sparkTable(table).newScanBuilder(options);
    }
}
