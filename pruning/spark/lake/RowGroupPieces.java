import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import SEQ;

/**
 * The pieces of files that hold the row groups to be read.
 *
 * Parquet's reader takes a row group if the middle of its bytes lies in the piece. Where that is, only the reader
 * itself is asked; a file of which it does not take all row groups that are needed is read whole.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class RowGroupPieces {
    private static final int TRAILER_BYTES = 8;
    private static final int THREADS = 16;
    private static final int DROPPED = -1;

    private Map pieces = new HashMap();
    private StringBuilder groups = new StringBuilder();
    private int count;
    private long spared;

    /**
     * Return the pieces of all files of an index.
     *
     * Of each file that `names` has, separated by NULs, `groups` has the ordinals of row groups to be read,
     * separated by commas, and by NULs between files; `readers` has a number for each of these lists, by which row
     * groups that are read in different ways are told apart. A file may be named again, with other row groups.
     * Files that are not named are read whole, with the number 0.
     *
     * Only bytes of the top-level columns in `columns`, or of all if this is null, count as spared. Pieces with
     * fewer than `openBytes` of them in between become one. Larger ones than Spark itself would make, by the most
     * bytes of one and the number of tasks, are split where row groups begin.
     */
    public RowGroupPieces of(
            FileIndex files, final Configuration configuration, String names, String groups, String readers,
            String columns, final long openBytes, long maxBytes, int tasks) throws Exception {
        Map lists = new HashMap();
        String[] named = names.split("\0", -1);
        String[] ordinals = groups.split("\0", -1);
        String[] numbers = readers.split(",", -1);
        for (int i = 0; i < named.length; i++) {
            List ofFile = (List) lists.get(named[i]);
            if (ofFile == null) {
                ofFile = new ArrayList();
                lists.put(named[i], ofFile);
            }
            ofFile.add(numbers[i] + ":" + ordinals[i]);
        }
        final Set read = columns == null ? null : new HashSet(Arrays.asList(columns.split("\0", -1)));
        long ofOneTask = (files.sizeInBytes() + openBytes * files.inputFiles().length) / Math.max(1, tasks);
        final long splitBytes = Math.max(1, Math.min(maxBytes, Math.max(openBytes, ofOneTask)));
        Seq none = (Seq) scala.collection.immutable.Nil$.MODULE$;
        Seq directories = files.listFiles(none, none);
        List calls = new ArrayList();
        for (int i = 0; i < directories.length(); i++) {
            Seq listed = ((PartitionDirectory) directories.apply(i)).files();
            for (int j = 0; j < listed.length(); j++) {
                final FileStatus status = ((FileStatusWithMetadata) listed.apply(j)).fileStatus();
                final List kept = (List) lists.get(status.getPath().toUri().toString());
                calls.add(new Callable() {
                    public Object call() {
                        Parts parts = null;
                        if (kept != null) {
                            parts = parts(configuration, status, kept, read, openBytes, splitBytes);
                        }
                        return parts == null ? new Parts(status, splitBytes) : parts;
                    }
                });
            }
        }
        return of(calls);
    }

    private static RowGroupPieces of(List calls) throws Exception {
        RowGroupPieces result = new RowGroupPieces();
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(THREADS, calls.size())));
        try {
            for (Object future : pool.invokeAll(calls)) {
                Parts parts = (Parts) ((Future) future).get();
                result.pieces.put(parts.name, parts.triples());
                result.groups.append(parts.groups());
                result.spared += parts.spared;
                result.count += parts.pieces.size();
            }
        } finally {
            pool.shutdownNow();
        }
        return result;
    }

    /** Return the pieces of each file, by its name: of each piece its start, its end, and the number of a reader. */
    public Map pieces() {
        return pieces;
    }

    /** Return the name of each file that is not read whole, and the ordinals of the row groups in its pieces. */
    public String groups() {
        return groups.toString();
    }

    /** Return the number of pieces. */
    public int count() {
        return count;
    }

    /** Return the bytes of the columns that are read in row groups that are left out. */
    public long spared() {
        return spared;
    }

    /** Return the parts of a file with some row groups; null if it must be read whole. */
    private static Parts parts(
            Configuration configuration, FileStatus status, List kept, Set read, long openBytes,
            long splitBytes) {
        try {
            FileEnd file = new FileEnd(configuration, status);
            List blocks = file.blocks(configuration, null);
            long[] starts = new long[blocks.size() + 1];
            long[] sizes = new long[blocks.size()];
            int[] readers = new int[blocks.size()];
            Arrays.fill(readers, DROPPED);
            for (int i = 0; i < sizes.length; i++) {
                BlockMetaData block = (BlockMetaData) blocks.get(i);
                starts[i] = block.getStartingPos();
                sizes[i] = bytes(block, read);
                if (i > 0 && starts[i] <= starts[i - 1]) {
                    return null;
                }
            }
            starts[sizes.length] = status.getLen();
            for (Object list : kept) {
                String[] numberAndGroups = ((String) list).split(":", -1);
                String[] groups = numberAndGroups[1].split(",");
                for (int i = 0; i < groups.length && !groups[i].isEmpty(); i++) {
                    readers[Integer.parseInt(groups[i])] = Integer.parseInt(numberAndGroups[0]);
                }
            }
            Parts parts = new Parts(status, starts, readers);
            parts.cut(sizes, openBytes, splitBytes);
            return isRead(parts, file, configuration) ? parts : null;
        } catch (Exception error) {
            // The query itself tells of a file that cannot be read.
            return null;
        }
    }

    /** Tell whether Parquet's reader takes of each piece the row groups that begin in it. */
    private static boolean isRead(Parts parts, FileEnd file, Configuration configuration) throws IOException {
        for (Object piece : parts.pieces) {
            long[] triple = (long[]) piece;
            List inside = file.blocks(configuration, new long[] {triple[0], triple[1]});
            int group = Arrays.binarySearch(parts.starts, triple[0]);
            for (Object block : inside) {
                if (((BlockMetaData) block).getStartingPos() != parts.starts[group]) {
                    return false;
                }
                group++;
            }
            if (parts.starts[group] != triple[1]) {
                return false;
            }
        }
        return true;
    }

    private static long bytes(BlockMetaData block, Set read) {
        long size = 0;
        for (int i = 0; i < block.getColumns().size(); i++) {
            ColumnChunkMetaData chunk = (ColumnChunkMetaData) block.getColumns().get(i);
            if (read == null || read.contains(chunk.getPath().toArray()[0])) {
                size += chunk.getTotalSize();
            }
        }
        return size;
    }

    /** The parts of one file that are read. */
    private static class Parts {
        final String name;
        /** The starts of row groups, and the length of the file; null if it is read whole. */
        final long[] starts;
        /** Of each row group, the number of its reader. */
        final int[] readers;
        /** Of each piece its start, its end, and the number of its reader. */
        final List pieces = new ArrayList();
        long spared;

        /** A whole file, split as Spark splits it. */
        Parts(FileStatus status, long splitBytes) {
            this(status, null, null);
            for (long start = 0; start < status.getLen(); start += splitBytes) {
                pieces.add(new long[] {start, Math.min(status.getLen(), start + splitBytes), 0});
            }
        }

        Parts(FileStatus status, long[] starts, int[] readers) {
            name = status.getPath().toUri().toString();
            this.starts = starts;
            this.readers = readers;
        }

        /** Make the pieces that hold the row groups with a reader. */
        void cut(long[] sizes, long openBytes, long splitBytes) {
            long[] last = null;
            int next = 0;
            long gap = 0;
            for (int i = 0; i < readers.length; i++) {
                if (readers[i] == DROPPED) {
                    gap += sizes[i];
                    continue;
                }
                boolean isNear = last != null && last[2] == readers[i] && gap < openBytes;
                if (!isNear) {
                    spared += gap;
                }
                // What lies between two near row groups belongs to the second.
                int first = isNear ? next : i;
                Arrays.fill(readers, first, i, readers[i]);
                if (isNear && starts[i + 1] - last[0] <= splitBytes) {
                    last[1] = starts[i + 1];
                } else {
                    last = new long[] {starts[first], starts[i + 1], readers[i]};
                    pieces.add(last);
                }
                next = i + 1;
                gap = 0;
            }
            spared += gap;
        }

        long[] triples() {
            long[] triples = new long[3 * pieces.size()];
            for (int i = 0; i < pieces.size(); i++) {
                System.arraycopy((long[]) pieces.get(i), 0, triples, 3 * i, 3);
            }
            return triples;
        }

        String groups() {
            if (starts == null) {
                return "";
            }
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < readers.length; i++) {
                if (readers[i] != DROPPED) {
                    text.append(text.length() == 0 ? "" : ",").append(i);
                }
            }
            return name + "\0" + text + "\0";
        }
    }

    /** The footer of a file, which Parquet's reader takes for the file. */
    private static class FileEnd implements InputFile {
        final long length;
        final byte[] bytes;

        FileEnd(Configuration configuration, FileStatus status) throws IOException {
            length = status.getLen();
            FSDataInputStream in = status.getPath().getFileSystem(configuration).open(status.getPath());
            try {
                byte[] trailer = new byte[TRAILER_BYTES];
                in.readFully(length - TRAILER_BYTES, trailer);
                int size = ByteBuffer.wrap(trailer).order(ByteOrder.LITTLE_ENDIAN).getInt() + TRAILER_BYTES;
                bytes = new byte[size];
                in.readFully(length - size, bytes);
            } finally {
                in.close();
            }
        }

        public long getLength() {
            return length;
        }

        public SeekableInputStream newStream() {
            return new FileEndStream(new ByteArrayInputStream(bytes), bytes.length, length - bytes.length);
        }

        /** Return the row groups that the reader takes of a range of bytes, or of all if this is null. */
        List blocks(Configuration configuration, long[] range) throws IOException {
            ParquetReadOptions.Builder options = HadoopReadOptions.builder(configuration);
            if (range != null) {
                options = options.withRange(range[0], range[1]);
            }
            SeekableInputStream in = newStream();
            try {
                return ParquetFileReader.readFooter(this, options.build(), in).getBlocks();
            } finally {
                in.close();
            }
        }
    }

    /** The bytes of a footer, at their places in its file. */
    private static class FileEndStream extends DelegatingSeekableInputStream {
        final int size;
        final long offset;

        FileEndStream(InputStream in, int size, long offset) {
            super(in);
            this.size = size;
            this.offset = offset;
        }

        public long getPos() throws IOException {
            return offset + size - getStream().available();
        }

        public void seek(long position) throws IOException {
            if (position < offset) {
                throw new IOException("only the footer is known");
            }
            getStream().reset();
            getStream().skip(position - offset);
        }
    }
}
