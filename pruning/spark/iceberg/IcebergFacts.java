import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;

/**
 * Writes what Iceberg's metadata says of many data files into one answer.
 *
 * Janino compiles this class in the session. It knows neither lambdas nor inferred type arguments.
 */
public final class IcebergFacts {
    /** The states of a partition value: its file's partition spec lacks it, it is NULL, or it is there. */
    private static final int LACKING = 0, NULL = 1, PRESENT = 2;
    private static final long ABSENT = -1;

    /**
     * Return the facts that Iceberg's metadata has of the files, in Base64.
     *
     * `pruning.metadata.iceberg.planned_files` reads them.
     */
    public String facts(List tasks, Table table, Snapshot snapshot, String joinedIds) throws IOException {
        int[] ids = numbers(joinedIds);
        int count = tasks.size();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(count);
        out.writeLong(totalFiles(table, snapshot));
        out.writeByte(
            table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING) ? 1 : 0);
        byte[][] names = new byte[count][];
        long[] rows = new long[count], live = new long[count], sizes = new long[count];
        long[] schemas = new long[count];
        Map schemaIds = schemasBySequenceNumber(table);
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
        writeSchemas(out, table);
        out.writeInt(ids.length);
        for (int i = 0; i < ids.length; i++) {
            writeMetrics(out, tasks, ids[i]);
        }
        writePartitions(out, tasks, table, ids);
        out.flush();
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    /** Return the number of the snapshot's data files; ABSENT where its manifests do not say. */
    private static long totalFiles(Table table, Snapshot snapshot) {
        long total = 0;
        if (snapshot == null) {
            return total;
        }
        for (Object item : snapshot.dataManifests(table.io())) {
            ManifestFile manifest = (ManifestFile) item;
            if (manifest.addedFilesCount() == null || manifest.existingFilesCount() == null) {
                return ABSENT;
            }
            total += manifest.addedFilesCount().intValue() + manifest.existingFilesCount().intValue();
        }
        return total;
    }

    /** Return the id of the table's schema at each snapshot, by the snapshot's sequence number. */
    private static Map schemasBySequenceNumber(Table table) {
        Map schemas = new HashMap();
        for (Object item : table.snapshots()) {
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

    private static void writeSchemas(DataOutputStream out, Table table) throws IOException {
        out.writeInt(table.schemas().size());
        for (Object entry : table.schemas().values()) {
            Schema schema = (Schema) entry;
            Set fields = schema.idToName().keySet();
            out.writeInt(schema.schemaId());
            out.writeInt(fields.size());
            for (Object id : fields) {
                out.writeInt(((Integer) id).intValue());
            }
        }
    }

    private static void writeMetrics(DataOutputStream out, List tasks, int id) throws IOException {
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

    private static void writePartitions(DataOutputStream out, List tasks, Table table, int[] ids)
            throws IOException {
        Set wanted = new HashSet();
        for (int i = 0; i < ids.length; i++) {
            wanted.add(Integer.valueOf(ids[i]));
        }
        // Of each source column and transform, the places of its value by partition spec.
        Map places = new LinkedHashMap();
        for (Object item : table.specs().values()) {
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
            writePartitionValues(out, tasks, (Map) entry.getValue());
        }
    }

    private static void writePartitionValues(DataOutputStream out, List tasks, Map placeBySpec)
            throws IOException {
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
}
