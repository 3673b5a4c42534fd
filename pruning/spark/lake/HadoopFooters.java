import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Path;

/**
 * Asks Hadoop's file systems about many files in one call.
 *
 * Janino compiles this class in the session. It knows neither lambdas nor inferred type arguments.
 */
public final class HadoopFooters {
    private static final String SEPARATOR = "\0";
    private static final int TAIL_BYTES = 64 * 1024;
    private static final int TRAILER_BYTES = 8;
    /** With more files of one directory than this, the directory is listed. */
    private static final int ASKED_ALONE_MAX = 8;

    /** Return, for each of Spark's statuses of files, the size in bytes and the time in ms. */
    public String stamps(scala.collection.Iterable statuses) {
        StringBuilder lines = new StringBuilder();
        scala.collection.Iterator all = statuses.iterator();
        while (all.hasNext()) {
            lines.append(lines.length() == 0 ? "" : SEPARATOR).append(line((FileStatus) all.next()));
        }
        return lines.toString();
    }

    /** Return, for each path, the size in bytes and the time in ms, or "!" and why there is none. */
    public String statuses(final Configuration configuration, String joined, int threads) throws Exception {
        final String[] names = joined.split(SEPARATOR);
        final String[] lines = new String[names.length];
        Map groups = new HashMap();
        for (int i = 0; i < names.length; i++) {
            Path parent = new Path(names[i]).getParent();
            List group = (List) groups.get(parent);
            if (group == null) {
                group = new ArrayList();
                groups.put(parent, group);
            }
            group.add(Integer.valueOf(i));
        }
        List tasks = new ArrayList();
        for (Object entry : groups.entrySet()) {
            final Path parent = (Path) ((Map.Entry) entry).getKey();
            final List group = (List) ((Map.Entry) entry).getValue();
            if (group.size() > ASKED_ALONE_MAX) {
                tasks.add(new Callable() {
                    public Object call() {
                        listDirectory(configuration, parent, group, names, lines);
                        return null;
                    }
                });
                continue;
            }
            for (Object place : group) {
                final int i = ((Integer) place).intValue();
                tasks.add(new Callable() {
                    public Object call() {
                        lines[i] = status(configuration, new Path(names[i]));
                        return null;
                    }
                });
            }
        }
        run(tasks, threads);
        return String.join(SEPARATOR, lines);
    }

    /**
     * Return, for each path, the end of the file: its footer and the eight bytes after it.
     *
     * Of a file that does not end as Parquet does, the end is eight bytes long. An answer is a byte that is 0,
     * a length and so many bytes; or a byte that is 1, a length and the UTF-8 of why there is none. All are
     * returned in Base64, which the gateway decodes faster than bytes.
     */
    public String footers(final Configuration configuration, String joined, String sizes, int threads)
            throws Exception {
        final String[] names = joined.split(SEPARATOR);
        final String[] lengths = sizes.split(SEPARATOR);
        return answers(names.length, threads, new Piece() {
            public byte[] read(int i) throws Exception {
                return end(configuration, new Path(names[i]), Long.parseLong(lengths[i]));
            }
        });
    }

    /**
     * Return, for each path, offset and size, so many bytes of the file, or fewer at its end.
     *
     * The answers are framed as those of footers are.
     */
    public String ranges(final Configuration configuration, String joined, String offsets, String sizes, int threads)
            throws Exception {
        final String[] names = joined.split(SEPARATOR);
        final String[] starts = offsets.split(SEPARATOR);
        final String[] lengths = sizes.split(SEPARATOR);
        return answers(names.length, threads, new Piece() {
            public byte[] read(int i) throws Exception {
                return range(
                    configuration, new Path(names[i]), Long.parseLong(starts[i]), Integer.parseInt(lengths[i]));
            }
        });
    }

    /** Part of a file, by its place in a list. */
    private interface Piece {
        byte[] read(int i) throws Exception;
    }

    private static String answers(int count, int threads, final Piece piece) throws Exception {
        final byte[][] bodies = new byte[count][];
        final boolean[] failed = new boolean[count];
        List tasks = new ArrayList();
        for (int place = 0; place < count; place++) {
            final int i = place;
            tasks.add(new Callable() {
                public Object call() throws IOException {
                    try {
                        bodies[i] = piece.read(i);
                    } catch (Exception error) {
                        failed[i] = true;
                        bodies[i] = sentence(error).getBytes("UTF-8");
                    }
                    return null;
                }
            });
        }
        run(tasks, threads);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        for (int i = 0; i < bodies.length; i++) {
            out.writeByte(failed[i] ? 1 : 0);
            out.writeInt(bodies[i].length);
            out.write(bodies[i]);
        }
        out.flush();
        return Base64.getEncoder().encodeToString(bytes.toByteArray());
    }

    /**
     * Return, for each path, what a directory holds; of a file, the file alone, without a name.
     *
     * A line has "d" or "f", the size, the time and the name of an entry, separated by slashes; an answer
     * begins with the number of its lines. Where there is none, the answer is "?" if nothing is at the path,
     * else "!", and then why.
     */
    public String entries(final Configuration configuration, String joined, int threads) throws Exception {
        final String[] names = joined.split(SEPARATOR);
        final String[] answers = new String[names.length];
        List tasks = new ArrayList();
        for (int place = 0; place < names.length; place++) {
            final int i = place;
            tasks.add(new Callable() {
                public Object call() {
                    answers[i] = entriesOf(configuration, new Path(names[i]));
                    return null;
                }
            });
        }
        run(tasks, threads);
        return String.join(SEPARATOR, answers);
    }

    /** Return the paths that a pattern matches. */
    public String matches(Configuration configuration, String pattern) throws Exception {
        Path path = new Path(pattern);
        FileStatus[] matches = path.getFileSystem(configuration).globStatus(path);
        StringBuilder paths = new StringBuilder();
        for (int i = 0; matches != null && i < matches.length; i++) {
            paths.append(i == 0 ? "" : SEPARATOR).append(matches[i].getPath().toString());
        }
        return paths.toString();
    }

    /** Return the first bytes of a file, at most so many. */
    public byte[] beginning(Configuration configuration, String name, int count) throws Exception {
        Path path = new Path(name);
        FSDataInputStream in = path.getFileSystem(configuration).open(path);
        try {
            byte[] bytes = new byte[count];
            int size = 0;
            int read = in.read(bytes, 0, count);
            while (read > 0) {
                size += read;
                read = in.read(bytes, size, count - size);
            }
            return Arrays.copyOf(bytes, size);
        } finally {
            in.close();
        }
    }

    private static String entriesOf(Configuration configuration, Path path) {
        try {
            FileSystem system = path.getFileSystem(configuration);
            String itself = system.makeQualified(path).toUri().getPath();
            FileStatus[] listed = system.listStatus(path);
            StringBuilder lines = new StringBuilder().append(listed.length);
            for (int i = 0; i < listed.length; i++) {
                FileStatus status = listed[i];
                boolean alone = status.isFile() && status.getPath().toUri().getPath().equals(itself);
                lines.append(SEPARATOR).append(status.isDirectory() ? "d/" : "f/").append(status.getLen());
                lines.append('/').append(status.getModificationTime()).append('/');
                lines.append(alone ? "" : status.getPath().getName());
            }
            return lines.toString();
        } catch (FileNotFoundException error) {
            return "?" + sentence(error);
        } catch (Exception error) {
            return "!" + sentence(error);
        }
    }

    private static void listDirectory(
            Configuration configuration, Path directory, List group, String[] names, String[] lines) {
        Map found = new HashMap();
        String reason = "File does not exist";
        try {
            FileStatus[] listed = directory.getFileSystem(configuration).listStatus(directory);
            for (int i = 0; i < listed.length; i++) {
                found.put(listed[i].getPath().getName(), listed[i]);
            }
        } catch (Exception error) {
            reason = sentence(error);
        }
        for (Object place : group) {
            int i = ((Integer) place).intValue();
            FileStatus status = (FileStatus) found.get(new Path(names[i]).getName());
            lines[i] = status == null ? "!" + reason : line(status);
        }
    }

    private static String status(Configuration configuration, Path path) {
        try {
            return line(path.getFileSystem(configuration).getFileStatus(path));
        } catch (Exception error) {
            return "!" + sentence(error);
        }
    }

    private static String line(FileStatus status) {
        return status.getLen() + " " + status.getModificationTime();
    }

    private static byte[] end(Configuration configuration, Path path, long size) throws Exception {
        FutureDataInputStreamBuilder opening = path.getFileSystem(configuration).openFile(path);
        // With the length given, an object store is not asked for it again.
        opening.opt("fs.option.openfile.length", Long.toString(size));
        opening.opt("fs.option.openfile.read.policy", "random");
        FSDataInputStream in = (FSDataInputStream) ((Future) opening.build()).get();
        try {
            byte[] tail = last(in, size, (int) Math.min(size, TAIL_BYTES));
            int trailer = Math.min(tail.length, TRAILER_BYTES);
            long wanted = trailer;
            if (trailer == TRAILER_BYTES && isParquet(tail)) {
                wanted += littleEndian(tail, tail.length - TRAILER_BYTES);
            }
            if (wanted > size || wanted > Integer.MAX_VALUE) {
                wanted = trailer;
            }
            if (wanted > tail.length) {
                return last(in, size, (int) wanted);
            }
            byte[] end = new byte[(int) wanted];
            System.arraycopy(tail, tail.length - end.length, end, 0, end.length);
            return end;
        } finally {
            in.close();
        }
    }

    private static byte[] range(Configuration configuration, Path path, long offset, int size) throws Exception {
        FSDataInputStream in = path.getFileSystem(configuration).open(path);
        try {
            byte[] bytes = new byte[size];
            int count = 0;
            while (count < size) {
                int read = in.read(offset + count, bytes, count, size - count);
                if (read < 0) {
                    break;
                }
                count += read;
            }
            return Arrays.copyOf(bytes, count);
        } finally {
            in.close();
        }
    }

    private static byte[] last(FSDataInputStream in, long size, int count) throws IOException {
        byte[] bytes = new byte[count];
        in.readFully(size - count, bytes);
        return bytes;
    }

    private static boolean isParquet(byte[] tail) {
        int end = tail.length;
        return tail[end - 4] == 'P' && tail[end - 3] == 'A' && tail[end - 2] == 'R' && tail[end - 1] == '1';
    }

    private static long littleEndian(byte[] bytes, int start) {
        return (bytes[start] & 0xFFL)
            | (bytes[start + 1] & 0xFFL) << 8
            | (bytes[start + 2] & 0xFFL) << 16
            | (bytes[start + 3] & 0xFFL) << 24;
    }

    private static String sentence(Exception error) {
        Throwable cause = error;
        while (cause.getCause() != null && cause instanceof java.util.concurrent.ExecutionException) {
            cause = cause.getCause();
        }
        String message = cause.getMessage();
        String text = message == null ? cause.getClass().getSimpleName() : message;
        return text.replace('\0', ' ').split("\n")[0];
    }

    private static void run(List tasks, int threads) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(threads, tasks.size())));
        try {
            for (Object done : pool.invokeAll(tasks)) {
                ((Future) done).get();
            }
        } finally {
            pool.shutdownNow();
        }
    }
}
