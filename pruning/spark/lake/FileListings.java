import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import SEQ;

/**
 * Digests of the files that Spark has listed.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class FileListings {
    private static final int PART_CHARACTERS = 1 << 16;

    /** Return the digest of an index's roots, and of its files with their sizes and times, in hexadecimal digits. */
    public String digest(PartitioningAwareFileIndex index) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        StringBuilder text = new StringBuilder(2 * PART_CHARACTERS);
        Object[] roots = array(index.rootPaths());
        text.append(roots.length).append('\0');
        for (int i = 0; i < roots.length; i++) {
            text.append(roots[i].toString()).append('\0');
        }
        Object[] files = array(index.allFiles());
        for (int i = 0; i < files.length; i++) {
            FileStatus file = (FileStatus) files[i];
            text.append(file.getPath().toUri().toString()).append('\0');
            text.append(file.getLen()).append('\0');
            text.append(file.getModificationTime()).append('\0');
            if (text.length() > PART_CHARACTERS) {
                add(digest, text);
            }
        }
        add(digest, text);
        StringBuilder digits = new StringBuilder();
        byte[] bytes = digest.digest();
        for (int i = 0; i < bytes.length; i++) {
            digits.append(Character.forDigit((bytes[i] >> 4) & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
        }
        return digits.toString();
    }

    private static void add(MessageDigest digest, StringBuilder text) {
        digest.update(text.toString().getBytes(StandardCharsets.UTF_8));
        text.setLength(0);
    }

    private static Object[] array(Seq items) {
        Object[] array = new Object[items.length()];
        items.copyToArray(array);
        return array;
    }
}
