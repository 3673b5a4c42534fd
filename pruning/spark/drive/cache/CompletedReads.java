import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.util.QueryExecutionListener;
import SEQ;

/**
 * What queries that have succeeded say of the files that they read: metrics whose names have a prefix.
 *
 * Each is kept as a text, until it is asked for: the number of the run, the action, the metric's name, the
 * operators above it from the top down, and then the file and the place of rows that it gave, all separated by the
 * character 1; operators are separated by commas. A metric that stands at several
 * places of a plan is kept for each.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class CompletedReads implements QueryExecutionListener {
    public static final String PREFIX = "skipproof.reads.";
    private static final int TEXTS_MAX = 1000;

    private final List texts = new ArrayList();
    private long runs = 0;

    /** Return the texts that are kept, which are kept no longer. */
    public synchronized String[] take() {
        String[] taken = (String[]) texts.toArray(new String[texts.size()]);
        texts.clear();
        return taken;
    }

    public void onSuccess(String action, QueryExecution query, long duration) {
        // A file that cannot be read now may be read later.
        SQLConf conf = query.sparkSession().sessionState().conf();
        if (conf.ignoreCorruptFiles() || conf.ignoreMissingFiles()) {
            return;
        }
        List places = new ArrayList();
        collect(query.executedPlan(), "", places);
        if (!places.isEmpty()) {
            add(action, places);
        }
    }

    public void onFailure(String action, QueryExecution query, Exception error) {
    }

    private synchronized void add(String action, List places) {
        for (int i = 0; i < places.size() && texts.size() < TEXTS_MAX; i++) {
            texts.add(runs + "\1" + action + "\1" + places.get(i));
        }
        runs++;
    }

    private static void collect(SparkPlan plan, String above, List places) {
        String path = above + plan.getClass().getSimpleName() + ",";
        // The action itself runs the last stage.
        if (plan instanceof QueryStageExec && !((QueryStageExec) plan).isMaterialized()
                && !plan.getClass().getSimpleName().equals("ResultQueryStageExec")) {
            path = path + "NotMaterialized,";
        }
        if (plan instanceof CollectMetricsExec && ((CollectMetricsExec) plan).name().startsWith(PREFIX)) {
            CollectMetricsExec metrics = (CollectMetricsExec) plan;
            StringBuilder text = new StringBuilder(metrics.name()).append("\1").append(above);
            Seq rows = (Seq) metrics.collectedMetrics().getSeq(0);
            for (int i = 0; i < rows.length(); i++) {
                Row row = (Row) rows.apply(i);
                text.append("\1").append(row.get(0)).append("\1").append(row.get(1));
            }
            places.add(text.toString());
        }
        if (plan instanceof AdaptiveSparkPlanExec) {
            collect(((AdaptiveSparkPlanExec) plan).executedPlan(), path, places);
        }
        if (plan instanceof QueryStageExec) {
            collect(((QueryStageExec) plan).plan(), path, places);
        }
        for (int i = 0; i < plan.children().length(); i++) {
            collect((SparkPlan) plan.children().apply(i), path, places);
        }
    }
}
