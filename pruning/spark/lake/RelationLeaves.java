import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SharedInMemoryCache;
import scala.Option;
import scala.collection.immutable.List;
import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;
import SEQ;

/**
 * Copies of leaves that read files of Parquet: over another index, with other options, or of fewer files.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class RelationLeaves {
    /** The limits of a cache of listings that evicts nothing. */
    private static final long BYTES_MAX = 1L << 40;
    private static final long NO_END = -1L;

    /** Return a copy of a leaf over another index; options and a format that are null stay. */
    public LogicalPlan copy(LogicalRelation leaf, FileIndex index, Map options, FileFormat format) {
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        Object[] arguments = new Object[leaf.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = leaf.productElement(i);
        }
        arguments[0] = relation.copy(
            index,
            relation.partitionSchema(),
            relation.dataSchema(),
            relation.bucketSpec(),
            format == null ? relation.fileFormat() : format,
            options == null ? relation.options() : options,
            relation.sparkSession());
        return (LogicalPlan) leaf.makeCopy(arguments);
    }

    /** Return a copy of a leaf with one more option. */
    public LogicalPlan withOption(LogicalRelation leaf, String name, String value) {
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        return copy(leaf, relation.location(), (Map) relation.options().updated(name, value), null);
    }

    /**
     * Return an index of some of the files that another index has listed, of which nothing is listed again.
     *
     * Its roots are those of the other index, without marks, and one more, which does not exist and tells it from
     * indexes of other files. The result is null if it has other files than those.
     *
     * @param leaf the leaf whose options and session the index has
     * @param names the files' paths without escapes, separated by NULs
     * @param mark the name of that root below the first one
     * @param marks how the names of such roots begin
     */
    public FileIndex some(LogicalRelation leaf, InMemoryFileIndex listed, String names, String mark, String marks) {
        HadoopFsRelation relation = (HadoopFsRelation) leaf.relation();
        String[] paths = names.isEmpty() ? new String[0] : names.split("\0", -1);
        FileStatus[] statuses = new FileStatus[paths.length];
        Set chosen = new HashSet();
        for (int i = 0; i < paths.length; i++) {
            statuses[i] = (FileStatus) listed.leafFiles().apply(new Path(paths[i]));
            chosen.add(statuses[i].getPath());
        }
        FileStatusCache listings = new SharedInMemoryCache(BYTES_MAX, NO_END).createForNewClient();
        List roots = Nil$.MODULE$;
        Seq before = listed.rootPaths();
        Path first = null;
        for (int i = before.length() - 1; i >= 0; i--) {
            Path root = (Path) before.apply(i);
            if (!root.getName().startsWith(marks)) {
                roots = roots.$colon$colon(root);
                first = root;
                listings.putLeafFiles(root, new FileStatus[0]);
            }
        }
        Path marked = new Path(first, mark);
        listings.putLeafFiles(marked, new FileStatus[0]);
        listings.putLeafFiles(first, statuses);
        roots = roots.reverse().$colon$colon(marked).reverse();
        FileIndex index = new InMemoryFileIndex(
            relation.sparkSession(),
            roots,
            relation.options(),
            Option.apply(null),
            listings,
            Option.apply(listed.partitionSpec()),
            Option.apply(null));
        listings.invalidateAll();
        Seq files = ((InMemoryFileIndex) index).allFiles();
        for (int i = 0; i < files.length(); i++) {
            if (!chosen.remove(((FileStatus) files.apply(i)).getPath())) {
                return null;
            }
        }
        return chosen.isEmpty() && files.length() == statuses.length ? index : null;
    }
}
