import java.net.URI;
import java.util.concurrent.Callable;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import SEQ;

/**
 * The files of a table that was listed before; Spark's own index of them is made when a plan first asks.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class StoredFileIndex implements FileIndex {
    private static final int BLOCK_BYTES = 128 << 20;

    private String name;
    private Callable source;
    private Seq roots;
    private StructType partitions;
    private long size;
    private FileIndex listed;

    /** Return an index of a name, whose files `source` gives as another index. */
    public StoredFileIndex of(String name, Callable source, Seq roots, StructType partitions, long size) {
        StoredFileIndex index = new StoredFileIndex();
        index.name = name;
        index.source = source;
        index.roots = roots;
        index.partitions = partitions;
        index.size = size;
        return index;
    }

    /** Return the statuses of files, given their paths below a root, sizes and times, separated by NULs. */
    public FileStatus[] statuses(Path root, String names, String sizes, String times) {
        URI uri = root.toUri();
        String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
        String[] paths = names.split("\0", -1);
        String[] lengths = sizes.split("\0", -1);
        String[] millis = times.split("\0", -1);
        FileStatus[] statuses = new FileStatus[names.isEmpty() ? 0 : paths.length];
        for (int i = 0; i < statuses.length; i++) {
            Path path = new Path(uri.getScheme(), authority, uri.getPath() + "/" + paths[i]);
            statuses[i] = new FileStatus(
                Long.parseLong(lengths[i]), false, 1, BLOCK_BYTES, Long.parseLong(millis[i]), path);
        }
        return statuses;
    }

    public String name() {
        return name;
    }

    /** Return Spark's own index of all files. */
    public synchronized FileIndex listed() throws Exception {
        if (listed == null) {
            listed = (FileIndex) source.call();
        }
        return listed;
    }

    private FileIndex all() {
        try {
            return listed();
        } catch (Exception error) {
            throw new IllegalStateException(error.getMessage(), error);
        }
    }

    public Seq rootPaths() {
        return roots;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        return all().listFiles(partitionFilters, dataFilters);
    }

    public String[] inputFiles() {
        return all().inputFiles();
    }

    public void refresh() {
    }

    public long sizeInBytes() {
        return size;
    }

    public StructType partitionSchema() {
        return partitions;
    }

    public Option metadataOpsTimeNs() {
        return Option.apply(null);
    }
}
