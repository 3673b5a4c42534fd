import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Function;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedPredicate;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import SEQ;

/**
 * The files of one version of a table, each a partition of its own, so that constants of a file go with it.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class VersionFileIndex implements FileIndex {
    private static final int BLOCK_BYTES = 128 << 20;
    private static final int PLACES_AT_ONCE = 1000;

    private String name;
    private Function deletions;
    private boolean hasDeletions;
    private Seq roots;
    private StructType partitions;
    private FileStatus[] statuses;
    private Object[][] values;
    private byte[][] deleted;
    private boolean[] loaded;
    private int[] places;
    private boolean narrowed;

    /**
     * Return an index of files.
     *
     * `deletions` gives the deleted rows of files, whose places are separated by commas: of each a length and so
     * many bytes, none where no row is deleted. If the index has deletions, the last partition column holds them.
     * The numbers are the sizes and then the times, and the values those of the other partition columns.
     */
    public VersionFileIndex of(
            String name, Function deletions, boolean hasDeletions, Seq roots, StructType partitions, String paths,
            byte[] numbers, byte[] values) throws IOException {
        VersionFileIndex index = new VersionFileIndex();
        index.name = name;
        index.deletions = deletions;
        index.hasDeletions = hasDeletions;
        index.roots = roots;
        index.partitions = partitions;
        String[] names = paths.isEmpty() ? new String[0] : paths.split("\0", -1);
        ByteBuffer sizesAndTimes = ByteBuffer.wrap(numbers);
        index.statuses = new FileStatus[names.length];
        index.places = new int[names.length];
        for (int i = 0; i < names.length; i++) {
            long size = sizesAndTimes.getLong(8 * i);
            long time = sizesAndTimes.getLong(8 * (names.length + i));
            index.statuses[i] = new FileStatus(size, false, 1, BLOCK_BYTES, time, new Path(names[i]));
            index.places[i] = i;
        }
        int width = partitions.length() - (hasDeletions ? 1 : 0);
        index.values = columns(partitions, width, values);
        index.deleted = new byte[names.length][];
        index.loaded = new boolean[names.length];
        return index;
    }

    /** Return the index of some files, whose places are separated by commas. */
    public VersionFileIndex narrowed(String joined) {
        VersionFileIndex index = new VersionFileIndex();
        index.name = name;
        index.deletions = deletions;
        index.hasDeletions = hasDeletions;
        index.roots = roots;
        index.partitions = partitions;
        index.statuses = statuses;
        index.values = values;
        index.deleted = deleted;
        index.loaded = loaded;
        index.narrowed = true;
        String[] texts = joined.isEmpty() ? new String[0] : joined.split(",");
        index.places = new int[texts.length];
        for (int i = 0; i < texts.length; i++) {
            index.places[i] = Integer.parseInt(texts[i]);
        }
        return index;
    }

    /** Return rows of columns of a schema, as `of` takes the values of partition columns. */
    public Seq rows(StructType schema, byte[] values) throws IOException {
        Object[][] columns = columns(schema, schema.length(), values);
        InternalRow[] rows = new InternalRow[columns[0].length];
        for (int i = 0; i < rows.length; i++) {
            Object[] row = new Object[columns.length];
            for (int column = 0; column < columns.length; column++) {
                row[column] = columns[column][i];
            }
            rows[i] = new GenericInternalRow(row);
        }
        return (Seq) scala.Predef.genericWrapArray(rows).toList();
    }

    public String name() {
        return name;
    }

    /** Tell whether the last partition column is the rows that are deleted. */
    public boolean hasDeletions() {
        return hasDeletions;
    }

    /** Return the places of a narrowed index's files, separated by commas; null if it has all files. */
    public String places() {
        if (!narrowed) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < places.length; i++) {
            text.append(i == 0 ? "" : ",").append(places[i]);
        }
        return text.toString();
    }

    public Seq rootPaths() {
        return roots;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        int[] chosen = places;
        for (int i = 0; i < partitionFilters.length(); i++) {
            chosen = passing((Expression) partitionFilters.apply(i), chosen);
        }
        if (hasDeletions) {
            load(chosen);
        }
        PartitionDirectory[] directories = new PartitionDirectory[chosen.length];
        for (int i = 0; i < chosen.length; i++) {
            int place = chosen[i];
            Object[] row = new Object[partitions.length()];
            for (int column = 0; column < values.length; column++) {
                row[column] = values[column][place];
            }
            if (hasDeletions) {
                row[row.length - 1] = deleted[place];
            }
            FileStatus[] file = new FileStatus[] {statuses[place]};
            directories[i] = PartitionDirectory.apply(new GenericInternalRow(row), file);
        }
        return (Seq) scala.Predef.genericWrapArray(directories).toList();
    }

    public String[] inputFiles() {
        String[] files = new String[places.length];
        for (int i = 0; i < files.length; i++) {
            files[i] = statuses[places[i]].getPath().toUri().toString();
        }
        return files;
    }

    public void refresh() {
    }

    public long sizeInBytes() {
        long size = 0;
        for (int i = 0; i < places.length; i++) {
            size += statuses[places[i]].getLen();
        }
        return size;
    }

    public StructType partitionSchema() {
        return partitions;
    }

    public Option metadataOpsTimeNs() {
        return Option.apply(null);
    }

    /** Return the places, of some, of the files whose partition values pass a filter. */
    private int[] passing(Expression filter, int[] of) {
        Seq attributes = filter.references().toSeq();
        int[] columns = new int[attributes.length()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = partitions.fieldIndex(((Attribute) attributes.apply(i)).name());
        }
        Expression bound = (Expression) BindReferences.bindReference(
            filter, new org.apache.spark.sql.catalyst.expressions.package$AttributeSeq(attributes), false);
        InterpretedPredicate predicate = new InterpretedPredicate(bound);
        predicate.initialize(0);
        int[] passing = new int[of.length];
        int count = 0;
        for (int i = 0; i < of.length; i++) {
            Object[] row = new Object[columns.length];
            for (int column = 0; column < columns.length; column++) {
                row[column] = values[columns[column]][of[i]];
            }
            if (predicate.eval(new GenericInternalRow(row))) {
                passing[count] = of[i];
                count++;
            }
        }
        return Arrays.copyOf(passing, count);
    }

    /** Load the deleted rows of files; they are shared by all indexes of the version. */
    private void load(int[] chosen) {
        synchronized (loaded) {
            int[] missing = new int[chosen.length];
            int count = 0;
            for (int i = 0; i < chosen.length; i++) {
                if (!loaded[chosen[i]]) {
                    missing[count] = chosen[i];
                    count++;
                }
            }
            for (int start = 0; start < count; start += PLACES_AT_ONCE) {
                int end = Math.min(count, start + PLACES_AT_ONCE);
                StringBuilder joined = new StringBuilder();
                for (int i = start; i < end; i++) {
                    joined.append(i == start ? "" : ",").append(missing[i]);
                }
                ByteBuffer answer = ByteBuffer.wrap((byte[]) deletions.apply(joined.toString()));
                for (int i = start; i < end; i++) {
                    byte[] bytes = new byte[answer.getInt()];
                    answer.get(bytes);
                    deleted[missing[i]] = bytes.length == 0 ? null : bytes;
                    loaded[missing[i]] = true;
                }
            }
        }
    }

    /**
     * Return the values of columns: of each the number of distinct values, of each of these a length and so many
     * bytes, the number of rows, and of each row the place among the distinct values, or -1 for NULL.
     */
    private static Object[][] columns(StructType schema, int width, byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        Object[][] columns = new Object[width][];
        for (int column = 0; column < width; column++) {
            DataType type = schema.apply(column).dataType();
            Object[] distinct = new Object[in.readInt()];
            for (int i = 0; i < distinct.length; i++) {
                byte[] value = new byte[in.readInt()];
                in.readFully(value);
                distinct[i] = value(type, value);
            }
            columns[column] = new Object[in.readInt()];
            for (int i = 0; i < columns[column].length; i++) {
                int place = in.readInt();
                columns[column][i] = place < 0 ? null : distinct[place];
            }
        }
        return columns;
    }

    private static Object value(DataType type, byte[] bytes) {
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            BigDecimal exact = new BigDecimal(new BigInteger(bytes), decimal.scale());
            return Decimal.apply(exact, decimal.precision(), decimal.scale());
        }
        String name = type.typeName();
        if (type instanceof StringType) {
            return UTF8String.fromBytes(bytes);
        }
        if (name.equals("binary")) {
            return bytes;
        }
        ByteBuffer number = ByteBuffer.wrap(bytes);
        if (name.equals("double")) {
            return Double.valueOf(number.getDouble());
        }
        if (name.equals("float")) {
            return Float.valueOf((float) number.getDouble());
        }
        long whole = number.getLong();
        if (name.equals("boolean")) {
            return Boolean.valueOf(whole != 0);
        }
        if (name.equals("byte")) {
            return Byte.valueOf((byte) whole);
        }
        if (name.equals("short")) {
            return Short.valueOf((short) whole);
        }
        if (name.equals("integer") || name.equals("date")) {
            return Integer.valueOf((int) whole);
        }
        if (name.equals("long") || name.equals("timestamp") || name.equals("timestamp_ntz")) {
            return Long.valueOf(whole);
        }
        throw new IllegalArgumentException("no value of the type " + name + " is known");
    }
}
