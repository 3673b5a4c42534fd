import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.*;
import org.apache.iceberg.*;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.spark.SparkUtil;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.*;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.*;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Pins tables of Iceberg, plans their files, and stages chosen files for Iceberg's own readers.
 *
 * Janino compiles this class in the session. It knows neither lambdas nor inferred type arguments.
 */
public final class IcebergLeaves {
    /** The option that names a set of staged tasks. */
    public static final String TASK_SET = "scan-task-set-id";
    private static final ReferenceQueue UNUSED = new ReferenceQueue();
    /** Keeps the references to staged tables until the tables are collected. */
    private static final Set STAGED = Collections.synchronizedSet(new HashSet());

    /** How the tables of Iceberg's module for the session's Spark are read. */
    public abstract static class TableReads {
        /** Let a table know its newest version, if it does not stay as it was loaded. */
        public abstract void refresh(SparkTable source, CaseInsensitiveStringMap options);

        /** Return the schema by which a leaf reads a table. */
        public abstract Schema schema(SparkTable source);

        /** Return the snapshot that a leaf reads of a table; null where the table has none. */
        public abstract Snapshot snapshot(
            SparkSession spark, SparkTable source, CaseInsensitiveStringMap options, TableMetadata metadata);

        /** Return Spark's view of a table. */
        public abstract SparkTable sparkTable(Table table);

        /** Return the builder of scans of the staged tasks that the options name. */
        public abstract ScanBuilder stagedBuilder(Table table, CaseInsensitiveStringMap options);
    }

    /**
     * Return a table that stays at the snapshot and the schema that a leaf of a plan reads.
     *
     * An UnsupportedOperationException says why a leaf is left alone.
     */
    public PinnedTable pin(
            TableReads reads, SparkSession spark, SparkTable source, CaseInsensitiveStringMap options) {
        Table table = source.table();
        if (!(table instanceof BaseTable)) {
            throw left("it is one of Iceberg's metadata tables");
        }
        if (!(table.encryption() instanceof PlaintextEncryptionManager)) {
            throw left("the table is encrypted");
        }
        if (options.containsKey(TASK_SET)) {
            throw left("it reads files that were chosen already");
        }
        reads.refresh(source, options);
        TableOperations operations = ((BaseTable) table).operations();
        TableMetadata metadata = operations.current();
        Schema schema = reads.schema(source);
        Snapshot snapshot = reads.snapshot(spark, source, options, metadata);
        // Iceberg plans and reads the present snapshot by the present schema.
        TableMetadata.Builder builder = TableMetadata.buildFrom(metadata).setCurrentSchema(schema.schemaId());
        if (snapshot != null) {
            builder.setBranchSnapshot(snapshot.snapshotId(), SnapshotRef.MAIN_BRANCH);
        }
        metadata = builder.discardChanges().withMetadataLocation(metadata.metadataFileLocation()).build();
        if (!metadata.schema().sameSchema(schema)) {
            throw left("the table's schema has changed meanwhile");
        }
        Table pinned = new BaseTable(
            new StaticTableOperations(metadata, table.io(), operations.locationProvider()), table.name());
        return new PinnedTable(reads, pinned, snapshot);
    }

    /** Return a snapshot that must be known. */
    public static Snapshot existing(Snapshot snapshot) {
        if (snapshot == null) {
            throw left("its snapshot is not known");
        }
        return snapshot;
    }

    /** Throw the exception of a leaf that is left alone where it reads what was added between two snapshots. */
    public static void checkWhole(SparkReadConf conf) {
        if (conf.startSnapshotId() != null || conf.endSnapshotId() != null
                || conf.startTimestamp() != null || conf.endTimestamp() != null) {
            throw left("it reads what was added between two snapshots");
        }
    }

    /** Return the exception that says why a leaf is left alone. */
    public static UnsupportedOperationException left(String reason) {
        return new UnsupportedOperationException(reason);
    }

    /** A table at one snapshot and with one schema, as a table of Spark. */
    public static final class PinnedTable implements SupportsRead, SupportsMetadataColumns {
        private final TableReads reads;
        private final Table table;
        private final SparkTable sparkTable;
        private final Snapshot snapshot;
        /** The top-level columns that Iceberg's residual filters name; null for a table without staged files. */
        private Set residualColumns = null;

        PinnedTable(TableReads reads, Table table, Snapshot snapshot) {
            this.reads = reads;
            this.table = table;
            this.sparkTable = reads.sparkTable(table);
            this.snapshot = snapshot;
        }

        /** Return the table as Iceberg has it. */
        public Table table() {
            return table;
        }

        public String name() {
            return sparkTable.name();
        }

        public StructType schema() {
            return sparkTable.schema();
        }

        public Set capabilities() {
            return EnumSet.of(TableCapability.BATCH_READ);
        }

        public MetadataColumn[] metadataColumns() {
            return sparkTable.metadataColumns();
        }

        /** Return the schema as Iceberg writes it. */
        public String schemaJson() {
            return SchemaParser.toJson(table.schema());
        }

        /** Return the snapshot; null where the table has none. */
        public Snapshot snapshot() {
            return snapshot;
        }

        /** Return whether the table reads staged files; another one cannot be read at all. */
        public boolean isStaged() {
            return residualColumns != null;
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            if (!isStaged()) {
                return new StandIn(schema(), snapshot);
            }
            return new StagedBuilder(reads.stagedBuilder(table, options), schema(), residualColumns);
        }

        /**
         * Return the planning of files for some scans of the table.
         *
         * @param spark the session
         * @param conditions for each scan, the conditions that its rows satisfy: expressions of Catalyst
         * @param outputs for each scan, the attributes of its leaf
         * @param joinedIds the ids of the fields whose metrics are wanted
         */
        public Planning planning(SparkSession spark, List conditions, List outputs, String joinedIds) {
            boolean caseSensitive = SparkUtil.caseSensitive(spark);
            Expression filter = Expressions.alwaysFalse();
            for (int i = 0; i < conditions.size(); i++) {
                List of = predicates((List) conditions.get(i), (AttributeSet) outputs.get(i));
                filter = Expressions.or(filter, conjunction(of, caseSensitive));
            }
            return new Planning(this, filter, caseSensitive, joinedIds);
        }

        private Expression conjunction(List predicates, boolean caseSensitive) {
            Expression filter = Expressions.alwaysTrue();
            for (Object predicate : predicates) {
                try {
                    Expression expression = SparkV2Filters.convert((Predicate) predicate);
                    if (expression != null) {
                        Binder.bind(table.schema().asStruct(), expression, caseSensitive);
                        filter = Expressions.and(filter, expression);
                    }
                } catch (RuntimeException error) {
                    continue; // Iceberg does not know this predicate, and Spark evaluates it on the rows.
                }
            }
            return filter;
        }
    }

    /** Return what Spark can push of some conditions over a leaf's own attributes. */
    private static List predicates(List conditions, AttributeSet output) {
        List predicates = new ArrayList();
        List pending = new ArrayList(conditions);
        while (!pending.isEmpty()) {
            org.apache.spark.sql.catalyst.expressions.Expression part =
                (org.apache.spark.sql.catalyst.expressions.Expression) pending.remove(0);
            if (part instanceof And) {
                pending.add(((And) part).left());
                pending.add(((And) part).right());
            } else if (part.references().subsetOf(output)) {
                scala.Option translated = DataSourceV2Strategy$.MODULE$.translateFilterV2(part);
                if (translated.isDefined()) {
                    predicates.add(translated.get());
                }
            }
        }
        return predicates;
    }

    /** The planning of the data files that some scans of a table at one snapshot need. */
    public static final class Planning {
        private final PinnedTable pinned;
        private final Expression filter;
        private final boolean caseSensitive;
        private final String joinedIds;

        Planning(PinnedTable pinned, Expression filter, boolean caseSensitive, String joinedIds) {
            this.pinned = pinned;
            this.filter = filter;
            this.caseSensitive = caseSensitive;
            this.joinedIds = joinedIds;
        }

        /** Return the filter by which Iceberg plans. */
        public String filterText() {
            return filter.toString();
        }

        /** Return a text that two plannings share only if they plan the same; null where none is known. */
        public String key() {
            TableMetadata metadata = ((BaseTable) pinned.table).operations().current();
            if (metadata.uuid() == null || metadata.metadataFileLocation() == null) {
                return null;
            }
            String json;
            try {
                json = ExpressionParser.toJson(filter);
            } catch (RuntimeException error) {
                return null; // It has something that Iceberg cannot write.
            }
            Long snapshotId = pinned.snapshot == null ? null : Long.valueOf(pinned.snapshot.snapshotId());
            Object[] parts = {metadata.uuid(), metadata.metadataFileLocation(),
                Long.valueOf(metadata.lastUpdatedMillis()), snapshotId,
                Integer.valueOf(pinned.table.schema().schemaId()), Boolean.valueOf(caseSensitive), joinedIds,
                json};
            return Arrays.toString(parts);
        }

        /** Return the number of data files of the snapshot, as it states it; -1 if it does not. */
        public long totalFiles() {
            if (pinned.snapshot == null) {
                return 0;
            }
            Object text = pinned.snapshot.summary() == null
                ? null : pinned.snapshot.summary().get(SnapshotSummary.TOTAL_DATA_FILES_PROP);
            return text == null ? -1 : Long.parseLong((String) text);
        }

        /** Return Iceberg's metadata table of the snapshot's files, with deletes too, as a plan of Spark. */
        public LogicalPlan entries() {
            Table entries =
                MetadataTableUtils.createMetadataTableInstance(pinned.table, MetadataTableType.ENTRIES);
            return DataSourceV2Relation.create(
                pinned.reads.sparkTable(entries), scala.Option.empty(), scala.Option.empty());
        }

        /** Return the files that Iceberg plans; null if they are more than so many. */
        public PlannedFiles plan(int most) throws IOException {
            return plan(most, null);
        }

        /** Return those of the files that Iceberg plans whose locations are named, NUL between them. */
        public PlannedFiles planOnly(String joinedLocations) throws IOException {
            return plan(Integer.MAX_VALUE, new HashSet(Arrays.asList(joinedLocations.split("\0"))));
        }

        private PlannedFiles plan(int most, Set only) throws IOException {
            Table table = pinned.table;
            // Iceberg plans in threads, and so in any order.
            Map tasks = new TreeMap();
            if (pinned.snapshot != null) {
                int[] ids = numbers(joinedIds);
                List names = new ArrayList();
                for (int i = 0; i < ids.length; i++) {
                    names.add(table.schema().findColumnName(ids[i]));
                }
                BatchScan scan = (BatchScan) table.newBatchScan().caseSensitive(caseSensitive);
                scan = (BatchScan) scan.filter(filter);
                scan = (BatchScan) scan.includeColumnStats((Collection) names);
                CloseableIterable planned = scan.planFiles();
                try {
                    Iterator all = planned.iterator();
                    while (all.hasNext()) {
                        FileScanTask task = ((ScanTask) all.next()).asFileScanTask();
                        String location = ((DataFile) task.file()).location().toString();
                        if (only != null && !only.contains(location)) {
                            continue;
                        }
                        if (tasks.put(location, task) != null) {
                            throw left("a file is listed twice");
                        }
                        if (tasks.size() > most) {
                            return null;
                        }
                    }
                } finally {
                    planned.close();
                }
            }
            return new PlannedFiles(this, new ArrayList(tasks.values()));
        }
    }

    /** The data files that Iceberg has planned for some scans, in the order of their locations. */
    public static final class PlannedFiles {
        private final Planning planning;
        private final List tasks;

        PlannedFiles(Planning planning, List tasks) {
            this.planning = planning;
            this.tasks = tasks;
        }

        /** Return the tasks of the files, one for each. */
        public List tasks() { return tasks; }

        /** Return the same files for a planning of another query with the same key. */
        public PlannedFiles of(Planning other) {
            return new PlannedFiles(other, tasks);
        }

        /** Return a table that reads only the files at some places in the list. */
        public PinnedTable stage(String setId, String joinedPlaces) {
            dropUnused();
            PinnedTable pinned = planning.pinned;
            int[] places = numbers(joinedPlaces);
            Schema schema = pinned.table.schema();
            String schemaJson = SchemaParser.toJson(schema);
            Map specs = new HashMap(), residuals = new HashMap();
            List chosen = new ArrayList();
            for (int i = 0; i < places.length; i++) {
                FileScanTask task = (FileScanTask) tasks.get(places[i]);
                Integer spec = Integer.valueOf(task.spec().specId());
                if (!specs.containsKey(spec)) {
                    specs.put(spec, PartitionSpecParser.toJson(task.spec()));
                    residuals.put(spec, ResidualEvaluator.of(
                        task.spec(), planning.filter, planning.caseSensitive));
                }
                DeleteFile[] deletes = (DeleteFile[]) task.deletes().toArray(new DeleteFile[0]);
                // Without metrics, which would be sent to the executors.
                chosen.add(new BaseFileScanTask((DataFile) ((DataFile) task.file()).copyWithoutStats(), deletes,
                    schemaJson, (String) specs.get(spec), (ResidualEvaluator) residuals.get(spec)));
            }
            PinnedTable staged = new PinnedTable(pinned.reads, pinned.table, pinned.snapshot);
            staged.residualColumns = residualColumns(schema);
            ScanTaskSetManager.get().stageTasks(pinned.table, setId, chosen);
            STAGED.add(new StagedSet(staged, pinned.table, setId));
            return staged;
        }

        private Set residualColumns(Schema schema) {
            Set ids = Binder.boundReferences(
                schema.asStruct(), Collections.singletonList(planning.filter), planning.caseSensitive);
            Set names = new HashSet();
            for (Object column : schema.columns()) {
                Types.NestedField field = (Types.NestedField) column;
                Set inside = TypeUtil.indexById(
                    Types.StructType.of(new Types.NestedField[] {field})).keySet();
                if (!Collections.disjoint(inside, ids)) {
                    names.add(field.name());
                }
            }
            return names;
        }
    }

    private static int[] numbers(String joined) {
        if (joined.isEmpty()) {
            return new int[0];
        }
        String[] parts = joined.split(",");
        int[] numbers = new int[parts.length];
        for (int i = 0; i < parts.length; i++) {
            numbers[i] = Integer.parseInt(parts[i]);
        }
        return numbers;
    }

    /** A set of staged tasks, which is dropped when no plan holds the table that reads it. */
    private static final class StagedSet extends PhantomReference {
        private final Table table;
        private final String setId;

        StagedSet(PinnedTable staged, Table table, String setId) {
            super(staged, UNUSED);
            this.table = table;
            this.setId = setId;
        }
    }

    /** Drop the staged tasks of tables that were collected. */
    private static void dropUnused() {
        Reference reference = UNUSED.poll();
        while (reference != null) {
            StagedSet set = (StagedSet) reference;
            ScanTaskSetManager.get().removeTasks(set.table, set.setId);
            STAGED.remove(set);
            reference = UNUSED.poll();
        }
    }

    /** Builds a scan that cannot run: while a plan is optimized, nothing is pushed into it. */
    private static final class StandIn implements ScanBuilder, Scan, SupportsReportStatistics, Statistics {
        private final StructType schema;
        private final Snapshot snapshot;

        StandIn(StructType schema, Snapshot snapshot) {
            this.schema = schema;
            this.snapshot = snapshot;
        }

        public Scan build() {
            return this;
        }

        public StructType readSchema() {
            return schema;
        }

        public Statistics estimateStatistics() {
            return this;
        }

        public OptionalLong sizeInBytes() {
            return total("total-files-size");
        }

        public OptionalLong numRows() {
            return total("total-records");
        }

        private OptionalLong total(String key) {
            if (snapshot == null) {
                return OptionalLong.of(0);
            }
            Object text = snapshot.summary() == null ? null : snapshot.summary().get(key);
            return text == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong((String) text));
        }
    }

    /** Builds a scan of staged files that also reads the columns of Iceberg's residual filters. */
    private static final class StagedBuilder implements ScanBuilder, SupportsPushDownRequiredColumns {
        private final ScanBuilder inner;
        private final StructType schema;
        private final Set residualColumns;

        StagedBuilder(ScanBuilder inner, StructType schema, Set residualColumns) {
            this.inner = inner;
            this.schema = schema;
            this.residualColumns = residualColumns;
        }

        public Scan build() {
            return inner.build();
        }

        public void pruneColumns(StructType required) {
            List fields = new ArrayList();
            Set taken = new HashSet();
            for (int i = 0; i < required.fields().length; i++) {
                StructField field = required.fields()[i];
                taken.add(field.name());
                fields.add(residualColumns.contains(field.name()) ? schema.apply(field.name()) : field);
            }
            for (Object name : residualColumns) {
                if (!taken.contains(name)) {
                    fields.add(schema.apply((String) name));
                }
            }
            StructField[] all = (StructField[]) fields.toArray(new StructField[0]);
            ((SupportsPushDownRequiredColumns) inner).pruneColumns(new StructType(all));
        }
    }
}
