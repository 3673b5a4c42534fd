import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.PlaintextEncryptionManager;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkReadConf;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
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
    private static final String TASK_SET = "scan-task-set-id";
    /** The states of a partition value: its file's partition spec lacks it, it is NULL, or it is there. */
    private static final int LACKING = 0, NULL = 1, PRESENT = 2;
    private static final long ABSENT = -1;

    private static final ReferenceQueue UNUSED = new ReferenceQueue();
    /** Keeps the references to staged tables until the tables are collected. */
    private static final Set STAGED = Collections.synchronizedSet(new HashSet());

    /**
     * Return a table that stays at the snapshot and the schema that a leaf of a plan reads.
     *
     * An UnsupportedOperationException says why a leaf is left alone.
     */
    public PinnedTable pin(SparkSession spark, SparkTable source, CaseInsensitiveStringMap options) {
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
        // A table that its catalog does not cache is refreshed by this.
        source.newScanBuilder(options);
        TableOperations operations = ((BaseTable) table).operations();
        TableMetadata metadata = operations.current();
        Schema schema = source.branch() == null
            ? SnapshotUtil.schemaFor(table, source.snapshotId(), null)
            : SnapshotUtil.schemaFor(table, source.branch());
        Snapshot snapshot = snapshot(spark, source, options, metadata);
        // Iceberg's readers take the present schema, and its estimates the present snapshot.
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
        return new PinnedTable(spark, pinned, snapshot);
    }

    private static Snapshot snapshot(
            SparkSession spark, SparkTable source, CaseInsensitiveStringMap options, TableMetadata metadata) {
        if (source.branch() == null && source.snapshotId() != null) {
            return existing(metadata.snapshot(source.snapshotId().longValue()));
        }
        SparkReadConf conf = new SparkReadConf(spark, source.table(), source.branch(), options);
        if (conf.startSnapshotId() != null || conf.endSnapshotId() != null
                || conf.startTimestamp() != null || conf.endTimestamp() != null) {
            throw left("it reads what was added between two snapshots");
        }
        if (conf.snapshotId() != null) {
            return existing(metadata.snapshot(conf.snapshotId().longValue()));
        }
        if (conf.asOfTimestamp() != null) {
            long id = SnapshotUtil.snapshotIdAsOfTime(source.table(), conf.asOfTimestamp().longValue());
            return existing(metadata.snapshot(id));
        }
        String name = conf.branch() == null ? conf.tag() : conf.branch();
        if (name == null || (name.equals(SnapshotRef.MAIN_BRANCH) && metadata.currentSnapshot() == null)) {
            return metadata.currentSnapshot();
        }
        SnapshotRef ref = metadata.ref(name);
        return existing(ref == null ? null : metadata.snapshot(ref.snapshotId()));
    }

    private static Snapshot existing(Snapshot snapshot) {
        if (snapshot == null) {
            throw left("its snapshot is not known");
        }
        return snapshot;
    }

    private static UnsupportedOperationException left(String reason) {
        return new UnsupportedOperationException(reason);
    }

    /** A table at one snapshot and with one schema, as a table of Spark. */
    public static final class PinnedTable extends SparkTable {
        private final SparkSession spark;
        private final Table table;
        private final Snapshot snapshot;
        /** The top-level columns that Iceberg's residual filters name; null for a table without staged files. */
        private Set residualColumns = null;

        PinnedTable(SparkSession spark, Table table, Snapshot snapshot) {
            super(table, (Long) null, false);
            this.spark = spark;
            this.table = table;
            this.snapshot = snapshot;
        }

        /** Return the schema as Iceberg writes it. */
        public String schemaJson() {
            return SchemaParser.toJson(table.schema());
        }

        /** Return the id of the snapshot; null where the table has none. */
        public Long pinnedSnapshotId() {
            return snapshot == null ? null : Long.valueOf(snapshot.snapshotId());
        }

        /** Return whether the table reads staged files; another one cannot be read at all. */
        public boolean isStaged() {
            return residualColumns != null;
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            if (!isStaged()) {
                return new StandIn(schema(), snapshot);
            }
            return new StagedBuilder(super.newScanBuilder(options), schema(), residualColumns);
        }

        /**
         * Return the files that Iceberg plans for some scans of the table.
         *
         * @param conditions for each scan, the conditions that its rows satisfy: expressions of Catalyst
         * @param outputs for each scan, the attributes of its leaf
         * @param joinedIds the ids of the fields whose metrics are wanted
         */
        public PlannedFiles plan(List conditions, List outputs, String joinedIds) throws IOException {
            boolean caseSensitive = new SparkReadConf(spark, table, Collections.emptyMap()).caseSensitive();
            Expression filter = Expressions.alwaysFalse();
            for (int i = 0; i < conditions.size(); i++) {
                List of = predicates((List) conditions.get(i), (AttributeSet) outputs.get(i));
                filter = Expressions.or(filter, conjunction(of, caseSensitive));
            }
            int[] ids = numbers(joinedIds);
            List tasks = new ArrayList();
            if (snapshot != null) {
                List names = new ArrayList();
                for (int i = 0; i < ids.length; i++) {
                    names.add(table.schema().findColumnName(ids[i]));
                }
                BatchScan scan = (BatchScan) table.newBatchScan().caseSensitive(caseSensitive);
                scan = (BatchScan) scan.filter(filter);
                scan = (BatchScan) scan.includeColumnStats((Collection) names);
                scan = scan.useSnapshot(snapshot.snapshotId());
                CloseableIterable planned = scan.planFiles();
                try {
                    Iterator all = planned.iterator();
                    while (all.hasNext()) {
                        tasks.add(((ScanTask) all.next()).asFileScanTask());
                    }
                } finally {
                    planned.close();
                }
            }
            return new PlannedFiles(this, tasks, filter, caseSensitive, ids);
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
                    // Iceberg does not know this predicate, and Spark evaluates it on the rows.
                    continue;
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

    /** The data files that Iceberg has planned for some scans, in its order. */
    public static final class PlannedFiles {
        private final PinnedTable pinned;
        private final List tasks;
        private final Expression filter;
        private final boolean caseSensitive;
        private final int[] ids;

        PlannedFiles(PinnedTable pinned, List tasks, Expression filter, boolean caseSensitive, int[] ids) {
            this.pinned = pinned;
            this.tasks = tasks;
            this.filter = filter;
            this.caseSensitive = caseSensitive;
            this.ids = ids;
        }

        /** Return the filter by which Iceberg has planned. */
        public String filterText() {
            return filter.toString();
        }

        /** Return a table that reads only the files at some places in the list. */
        public PinnedTable stage(String setId, String joinedPlaces) {
            dropUnused();
            int[] places = numbers(joinedPlaces);
            Schema schema = pinned.table.schema();
            String schemaJson = SchemaParser.toJson(schema);
            Map specs = new HashMap();
            Map residuals = new HashMap();
            List chosen = new ArrayList();
            for (int i = 0; i < places.length; i++) {
                FileScanTask task = (FileScanTask) tasks.get(places[i]);
                Integer spec = Integer.valueOf(task.spec().specId());
                if (!specs.containsKey(spec)) {
                    specs.put(spec, PartitionSpecParser.toJson(task.spec()));
                    residuals.put(spec, ResidualEvaluator.of(task.spec(), filter, caseSensitive));
                }
                DeleteFile[] deletes = new DeleteFile[task.deletes().size()];
                for (int j = 0; j < deletes.length; j++) {
                    deletes[j] = (DeleteFile) task.deletes().get(j);
                }
                // Without metrics, which would be sent to the executors.
                chosen.add(new BaseFileScanTask((DataFile) ((DataFile) task.file()).copyWithoutStats(), deletes,
                    schemaJson, (String) specs.get(spec), (ResidualEvaluator) residuals.get(spec)));
            }
            PinnedTable staged = new PinnedTable(pinned.spark, pinned.table, pinned.snapshot);
            staged.residualColumns = residualColumns(schema);
            ScanTaskSetManager.get().stageTasks(pinned.table, setId, chosen);
            STAGED.add(new StagedSet(staged, pinned.table, setId));
            return staged;
        }

        private Set residualColumns(Schema schema) {
            Set ids = Binder.boundReferences(
                schema.asStruct(), Collections.singletonList(filter), caseSensitive);
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

        /**
         * Return the facts that Iceberg's metadata has of the files.
         *
         * `pruning.metadata.iceberg.planned_files` reads them.
         */
        public byte[] facts() throws IOException {
            int count = tasks.size();
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeInt(count);
            out.writeLong(totalFiles());
            out.writeByte(
                pinned.table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING) ? 1 : 0);
            byte[][] names = new byte[count][];
            long[] rows = new long[count], live = new long[count], sizes = new long[count];
            long[] schemas = new long[count];
            Map schemaIds = schemasBySequenceNumber();
            for (int i = 0; i < count; i++) {
                FileScanTask task = (FileScanTask) tasks.get(i);
                DataFile file = (DataFile) task.file();
                names[i] = file.location().toString().getBytes("UTF-8");
                rows[i] = file.recordCount();
                live[i] = liveRows(task);
                sizes[i] = file.fileSizeInBytes();
                Object schemaId = schemaIds.get(file.fileSequenceNumber());
                schemas[i] = schemaId == null ? ABSENT : ((Integer) schemaId).longValue();
            }
            writeTexts(out, names);
            writeNumbers(out, rows);
            writeNumbers(out, live);
            writeNumbers(out, sizes);
            writeNumbers(out, schemas);
            writeSchemas(out);
            out.writeInt(ids.length);
            for (int i = 0; i < ids.length; i++) {
                writeMetrics(out, ids[i]);
            }
            writePartitions(out);
            out.flush();
            return bytes.toByteArray();
        }

        /** Return the number of the snapshot's data files; ABSENT where its manifests do not say. */
        private long totalFiles() {
            long total = 0;
            if (pinned.snapshot == null) {
                return total;
            }
            for (Object item : pinned.snapshot.dataManifests(pinned.table.io())) {
                ManifestFile manifest = (ManifestFile) item;
                if (manifest.addedFilesCount() == null || manifest.existingFilesCount() == null) {
                    return ABSENT;
                }
                total += manifest.addedFilesCount().intValue() + manifest.existingFilesCount().intValue();
            }
            return total;
        }

        /** Return the id of the table's schema at each snapshot, by the snapshot's sequence number. */
        private Map schemasBySequenceNumber() {
            Map schemas = new HashMap();
            for (Object item : pinned.table.snapshots()) {
                Snapshot snapshot = (Snapshot) item;
                // Snapshots of format version 1 share the number 0.
                if (snapshot.sequenceNumber() > 0 && snapshot.schemaId() != null) {
                    schemas.put(Long.valueOf(snapshot.sequenceNumber()), snapshot.schemaId());
                }
            }
            return schemas;
        }

        /** Return the number of a file's rows that are not deleted; ABSENT where it is not known. */
        private static long liveRows(FileScanTask task) {
            DataFile file = (DataFile) task.file();
            if (task.deletes().isEmpty()) {
                return file.recordCount();
            }
            DeleteFile deletes = (DeleteFile) task.deletes().get(0);
            // A deletion vector names each deleted row of its only data file once.
            boolean exact = task.deletes().size() == 1
                && deletes.content() == FileContent.POSITION_DELETES
                && deletes.format() == FileFormat.PUFFIN
                && file.location().toString().equals(deletes.referencedDataFile());
            return exact ? file.recordCount() - deletes.recordCount() : ABSENT;
        }

        private void writeSchemas(DataOutputStream out) throws IOException {
            out.writeInt(pinned.table.schemas().size());
            for (Object entry : pinned.table.schemas().values()) {
                Schema schema = (Schema) entry;
                Set fields = schema.idToName().keySet();
                out.writeInt(schema.schemaId());
                out.writeInt(fields.size());
                for (Object id : fields) {
                    out.writeInt(((Integer) id).intValue());
                }
            }
        }

        private void writeMetrics(DataOutputStream out, int id) throws IOException {
            Integer key = Integer.valueOf(id);
            int count = tasks.size();
            long[] values = new long[count], nulls = new long[count], nans = new long[count];
            long[] sizes = new long[count];
            byte[][] lowers = new byte[count][], uppers = new byte[count][];
            for (int i = 0; i < count; i++) {
                DataFile file = (DataFile) ((FileScanTask) tasks.get(i)).file();
                values[i] = number(file.valueCounts(), key);
                nulls[i] = number(file.nullValueCounts(), key);
                nans[i] = number(file.nanValueCounts(), key);
                sizes[i] = number(file.columnSizes(), key);
                lowers[i] = text(file.lowerBounds(), key);
                uppers[i] = text(file.upperBounds(), key);
            }
            out.writeInt(id);
            writeNumbers(out, values);
            writeNumbers(out, nulls);
            writeNumbers(out, nans);
            writeNumbers(out, sizes);
            writeTexts(out, lowers);
            writeTexts(out, uppers);
        }

        private void writePartitions(DataOutputStream out) throws IOException {
            Set wanted = new HashSet();
            for (int i = 0; i < ids.length; i++) {
                wanted.add(Integer.valueOf(ids[i]));
            }
            // Of each source column and transform, the places of its value by partition spec.
            Map places = new LinkedHashMap();
            for (Object item : pinned.table.specs().values()) {
                PartitionSpec spec = (PartitionSpec) item;
                for (int place = 0; place < spec.fields().size(); place++) {
                    PartitionField field = (PartitionField) spec.fields().get(place);
                    if (wanted.contains(Integer.valueOf(field.sourceId()))) {
                        String key = field.sourceId() + " " + field.transform().toString();
                        if (!places.containsKey(key)) {
                            places.put(key, new HashMap());
                        }
                        ((Map) places.get(key)).put(Integer.valueOf(spec.specId()), Integer.valueOf(place));
                    }
                }
            }
            out.writeInt(places.size());
            for (Object item : places.entrySet()) {
                Map.Entry entry = (Map.Entry) item;
                String[] key = ((String) entry.getKey()).split(" ", 2);
                out.writeInt(Integer.parseInt(key[0]));
                writeTexts(out, new byte[][] {key[1].getBytes("UTF-8")});
                writePartitionValues(out, (Map) entry.getValue());
            }
        }

        private void writePartitionValues(DataOutputStream out, Map placeBySpec) throws IOException {
            byte[] states = new byte[tasks.size()];
            byte[][] values = new byte[tasks.size()][];
            for (int i = 0; i < states.length; i++) {
                FileScanTask task = (FileScanTask) tasks.get(i);
                Integer place = (Integer) placeBySpec.get(Integer.valueOf(task.spec().specId()));
                states[i] = LACKING;
                if (place != null) {
                    Types.NestedField field = (Types.NestedField)
                        task.spec().partitionType().fields().get(place.intValue());
                    Object value = ((StructLike) ((DataFile) task.file()).partition()).get(
                        place.intValue(), field.type().typeId().javaClass());
                    states[i] = (byte) (value == null ? NULL : PRESENT);
                    values[i] = value == null ? null : rest(Conversions.toByteBuffer(field.type(), value));
                }
            }
            out.write(states);
            writeTexts(out, values);
        }
    }

    private static long number(Map map, Integer key) {
        Object value = map == null ? null : map.get(key);
        return value == null ? ABSENT : ((Long) value).longValue();
    }

    private static byte[] text(Map map, Integer key) {
        Object value = map == null ? null : map.get(key);
        return value == null ? null : rest((ByteBuffer) value);
    }

    private static byte[] rest(ByteBuffer buffer) {
        ByteBuffer copy = (ByteBuffer) buffer.duplicate();
        byte[] bytes = new byte[copy.remaining()];
        copy.get(bytes);
        return bytes;
    }

    private static void writeNumbers(DataOutputStream out, long[] numbers) throws IOException {
        for (int i = 0; i < numbers.length; i++) {
            out.writeLong(numbers[i]);
        }
    }

    /** Write the lengths of all byte strings, ABSENT for null, and then their bytes. */
    private static void writeTexts(DataOutputStream out, byte[][] texts) throws IOException {
        for (int i = 0; i < texts.length; i++) {
            out.writeLong(texts[i] == null ? ABSENT : texts[i].length);
        }
        for (int i = 0; i < texts.length; i++) {
            if (texts[i] != null) {
                out.write(texts[i]);
            }
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

    /** Drop the staged tasks of tables that were collected; return the number of those that are left. */
    public static int dropUnused() {
        Reference reference = UNUSED.poll();
        while (reference != null) {
            StagedSet set = (StagedSet) reference;
            ScanTaskSetManager.get().removeTasks(set.table, set.setId);
            STAGED.remove(set);
            reference = UNUSED.poll();
        }
        return STAGED.size();
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
                boolean whole = residualColumns.contains(field.name());
                fields.add(whole ? schema.apply(field.name()) : field);
            }
            for (Object name : residualColumns) {
                if (!taken.contains(name)) {
                    fields.add(schema.apply((String) name));
                }
            }
            StructField[] all = new StructField[fields.size()];
            for (int i = 0; i < all.length; i++) {
                all[i] = (StructField) fields.get(i);
            }
            ((SupportsPushDownRequiredColumns) inner).pruneColumns(new StructType(all));
        }
    }
}
