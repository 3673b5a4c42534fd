import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.PartialFunction;
import scala.Tuple2;
import SEQ;

/**
 * The files of another index, each listed as pieces that hold the row groups to be read.
 *
 * Spark has no place for where a piece begins, except in files that it splits itself. So each piece is listed as a
 * file of its own, and the format of this index maps those to the pieces that are read. What goes to executors,
 * which do not have this class, is made of Scala's maps and of Spark's own functions that read a piece.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class RowGroupFileIndex implements FileIndex {
    /** The fields of Spark's column `_metadata` that would be those of a piece, as if it were the file. */
    private static final String SIZE = "file_size";
    private static final String START = "file_block_start";
    private static final String LENGTH = "file_block_length";

    private FileIndex files;
    private Map pieces;
    private String groups;
    private boolean hasFilters;
    private long size;

    /** Return an index of pieces, as `RowGroupPieces` gives them; some may have filters. */
    public RowGroupFileIndex of(FileIndex files, Map pieces, String groups, boolean hasFilters) {
        RowGroupFileIndex index = new RowGroupFileIndex();
        index.pieces = pieces;
        index.groups = groups;
        index.hasFilters = hasFilters;
        return index.over(files);
    }

    /** Return an index of the pieces of some of the files, which another index has. */
    public RowGroupFileIndex over(FileIndex files) {
        RowGroupFileIndex index = new RowGroupFileIndex();
        index.files = files;
        index.pieces = pieces;
        index.groups = groups;
        index.hasFilters = hasFilters;
        Seq directories = files.listFiles(seq(new Object[0]), seq(new Object[0]));
        for (int i = 0; i < directories.length(); i++) {
            Seq listed = ((PartitionDirectory) directories.apply(i)).files();
            for (int j = 0; j < listed.length(); j++) {
                long[] triples = triples((FileStatusWithMetadata) listed.apply(j));
                for (int k = 0; k < triples.length; k += 3) {
                    index.size += triples[k + 1] - triples[k];
                }
            }
        }
        return index;
    }

    /** Return the index of the whole files. */
    public FileIndex listed() {
        return files;
    }

    /** Return the row groups that are read, as `RowGroupPieces` gives them. */
    public String groups() {
        return groups;
    }

    /** Tell whether some rows of these row groups may be left out. */
    public boolean hasFilters() {
        return hasFilters;
    }

    /** Return Spark's format, for the pieces of this index; each reader of pieces has a filter, or null. */
    public ParquetFileFormat format(List filters) {
        Format format = new Format();
        format.filters = filters;
        format.places = places(filters.size());
        return format;
    }

    public Seq rootPaths() {
        return files.rootPaths();
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        Seq directories = files.listFiles(partitionFilters, dataFilters);
        PartitionDirectory[] cut = new PartitionDirectory[directories.length()];
        for (int i = 0; i < cut.length; i++) {
            PartitionDirectory directory = (PartitionDirectory) directories.apply(i);
            List parts = new ArrayList();
            for (int j = 0; j < directory.files().length(); j++) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) directory.files().apply(j);
                long[] triples = triples(file);
                for (int k = 0; k < triples.length; k += 3) {
                    parts.add(part(file, triples[k], triples[k + 1]));
                }
            }
            cut[i] = new PartitionDirectory(directory.values(), seq(parts.toArray()));
        }
        return seq(cut);
    }

    public String[] inputFiles() {
        return files.inputFiles();
    }

    public void refresh() {
    }

    public long sizeInBytes() {
        return size;
    }

    public StructType partitionSchema() {
        return files.partitionSchema();
    }

    public Option metadataOpsTimeNs() {
        return Option.apply(null);
    }

    private long[] triples(FileStatusWithMetadata file) {
        return (long[]) pieces.get(file.getPath().toUri().toString());
    }

    /** Return, for each reader, the pieces that it reads, by those that Spark makes of the listed ones. */
    private scala.collection.immutable.Map[] places(int readers) {
        scala.collection.immutable.Map[] places = new scala.collection.immutable.Map[readers];
        Arrays.fill(places, scala.collection.immutable.Map$.MODULE$.empty());
        Seq directories = files.listFiles(seq(new Object[0]), seq(new Object[0]));
        for (int i = 0; i < directories.length(); i++) {
            PartitionDirectory directory = (PartitionDirectory) directories.apply(i);
            for (int j = 0; j < directory.files().length(); j++) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) directory.files().apply(j);
                long[] triples = triples(file);
                for (int k = 0; k < triples.length; k += 3) {
                    FileStatusWithMetadata part = part(file, triples[k], triples[k + 1]);
                    PartitionedFile listed = piece(directory, part, 0L, part.getLen());
                    PartitionedFile read = piece(directory, part, triples[k], file.getLen());
                    int reader = (int) triples[k + 2];
                    places[reader] = with(places[reader], listed, read);
                }
            }
        }
        return places;
    }

    private static PartitionedFile piece(
            PartitionDirectory directory, FileStatusWithMetadata part, long start, long fileSize) {
        SparkPath path = SparkPath.fromPath(part.getPath());
        return new PartitionedFile(
            directory.values(), path, start, part.getLen(), new String[0], part.getModificationTime(), fileSize,
            part.metadata());
    }

    /** Return a piece as a file of its size, with the places of its blocks and the fields that it would change. */
    private static FileStatusWithMetadata part(FileStatusWithMetadata file, long start, long end) {
        FileStatus whole = file.fileStatus();
        FileStatus status = new FileStatus(
            end - start, false, whole.getReplication(), whole.getBlockSize(), whole.getModificationTime(),
            whole.getPath());
        if (whole instanceof LocatedFileStatus) {
            status = new LocatedFileStatus(status, blocks((LocatedFileStatus) whole, start, end));
        }
        scala.collection.immutable.Map metadata = file.metadata();
        metadata = with(metadata, SIZE, Long.valueOf(whole.getLen()));
        metadata = with(metadata, START, Long.valueOf(start));
        metadata = with(metadata, LENGTH, Long.valueOf(end - start));
        return new FileStatusWithMetadata(status, metadata);
    }

    private static BlockLocation[] blocks(LocatedFileStatus whole, long start, long end) {
        List inside = new ArrayList();
        BlockLocation[] blocks = whole.getBlockLocations();
        for (int i = 0; i < blocks.length; i++) {
            long from = Math.max(blocks[i].getOffset(), start);
            long to = Math.min(blocks[i].getOffset() + blocks[i].getLength(), end);
            if (from < to) {
                try {
                    String[] hosts = blocks[i].getHosts();
                    inside.add(new BlockLocation(blocks[i].getNames(), hosts, from - start, to - from));
                } catch (IOException error) {
                    // A block whose hosts are unknown may be read on any.
                    continue;
                }
            }
        }
        return (BlockLocation[]) inside.toArray(new BlockLocation[inside.size()]);
    }

    private static Seq seq(Object[] items) {
        return (Seq) scala.Predef.genericWrapArray(items).toList();
    }

    private static scala.collection.immutable.Map with(
            scala.collection.immutable.Map map, Object key, Object value) {
        return (scala.collection.immutable.Map) map.$plus(new Tuple2(key, value));
    }

    /** Spark's format of Parquet files, which reads each piece where it is, with the filter of its reader. */
    public static class Format extends ParquetFileFormat {
        private List filters;
        private scala.collection.immutable.Map[] places;

        public boolean isSplitable(SparkSession session, scala.collection.immutable.Map options, Path path) {
            return false;
        }

        public Function1 buildReaderWithPartitionValues(
                SparkSession session, StructType data, StructType partitions, StructType required, Seq pushed,
                scala.collection.immutable.Map options, Configuration configuration) {
            PartialFunction readers = null;
            for (int i = 0; i < places.length; i++) {
                if (places[i].isEmpty()) {
                    continue;
                }
                // This object must not go to executors, and each reader writes into its configuration.
                Function1 reader = new ParquetFileFormat().buildReaderWithPartitionValues(
                    session, data, partitions, required, with(pushed, (Filter) filters.get(i), required),
                    options, new Configuration(configuration));
                PartialFunction ofPieces = ((PartialFunction) places[i]).andThen(reader);
                readers = readers == null ? ofPieces : readers.orElse(ofPieces);
            }
            return readers;
        }

        public scala.collection.immutable.Map fileConstantMetadataExtractors() {
            // Spark takes the values of other fields from the listing.
            scala.collection.immutable.Map extractors = super.fileConstantMetadataExtractors();
            extractors = (scala.collection.immutable.Map) extractors.$minus(SIZE);
            extractors = (scala.collection.immutable.Map) extractors.$minus(START);
            return (scala.collection.immutable.Map) extractors.$minus(LENGTH);
        }

        /** Return the filters with one more, if the reader has its columns: it takes others for NULL. */
        private static Seq with(Seq pushed, Filter filter, StructType required) {
            if (filter == null) {
                return pushed;
            }
            List names = Arrays.asList(required.fieldNames());
            String[] references = filter.references();
            for (int i = 0; i < references.length; i++) {
                if (!names.contains(references[i])) {
                    return pushed;
                }
            }
            List all = new ArrayList();
            for (int i = 0; i < pushed.length(); i++) {
                all.add(pushed.apply(i));
            }
            all.add(filter);
            return seq(all.toArray());
        }
    }
}
