import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import SEQ;

/**
 * The answers of methods of a logical plan's nodes, which Python would otherwise ask for one by one.
 *
 * They are JSON: an object has answers by the name of a method, or its name, a bar and its only argument; an array is a
 * Seq. An object with a number under `#` is a node, which `node` gives; one with `=` is the child of that place again.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class PlanAnswers {
    /** Longer answers of py4j are delayed, so that they are compressed. */
    private static final int TEXT_CHARACTERS_MAX = 5000;
    /** More columns, parts of expressions, or characters of one are left to be asked for. */
    private static final int COLUMNS_MAX = 100;
    private static final int PARTS_MAX = 100;
    private static final int CHARACTERS_MAX = 10000;
    /** CASEs double the JSON at each level, so that more of them are left, too. */
    private static final int CASES_MAX = 6;

    private static final ObjectMapper JSON =
        new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);

    private List nodes;
    private String option;
    private boolean hasExpressions;
    private int parts;

    /** Return a reader of a plan, of one option of relations, and of what conditions and orders are made of if wanted. */
    public PlanAnswers of(String option, boolean hasExpressions) {
        PlanAnswers answers = new PlanAnswers();
        answers.nodes = new ArrayList();
        answers.option = option;
        answers.hasExpressions = hasExpressions;
        return answers;
    }

    /** Return the node of a number. */
    public Object node(int number) {
        return nodes.get(number);
    }

    /** Return the answers as text; compressed after a `Z`. */
    public String read(LogicalPlan plan) throws Exception {
        Map root = node(plan);
        root.put("deterministic", Boolean.valueOf(plan.deterministic()));
        List subqueries = new ArrayList();
        Seq plans = plan.subqueriesAll();
        for (int i = 0; i < plans.length(); i++) {
            subqueries.add(node((LogicalPlan) plans.apply(i)));
        }
        root.put("subqueriesAll", subqueries);
        String text = JSON.writeValueAsString(root);
        if (text.length() <= TEXT_CHARACTERS_MAX) {
            return text;
        }
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        DeflaterOutputStream stream = new DeflaterOutputStream(compressed, new Deflater(Deflater.BEST_SPEED));
        stream.write(text.getBytes(StandardCharsets.US_ASCII));
        stream.close();
        return "Z" + Base64.getEncoder().encodeToString(compressed.toByteArray());
    }

    /** Tell whether the text of an expression in a plan, or in a subquery of it, matches a pattern. */
    public boolean mentions(LogicalPlan plan, String pattern) {
        Pattern words = Pattern.compile(pattern);
        Seq plans = plan.subqueriesAll();
        boolean has = isMentioned(plan, words);
        for (int i = 0; i < plans.length() && !has; i++) {
            has = isMentioned((LogicalPlan) plans.apply(i), words);
        }
        return has;
    }

    private static boolean isMentioned(LogicalPlan plan, Pattern words) {
        if (words.matcher(plan.expressions().mkString(" ")).find()) {
            return true;
        }
        Seq children = plan.children();
        for (int i = 0; i < children.length(); i++) {
            if (isMentioned((LogicalPlan) children.apply(i), words)) {
                return true;
            }
        }
        return false;
    }

    private Map node(LogicalPlan plan) {
        Map answers = named(plan);
        answers.put("#", Integer.valueOf(nodes.size()));
        nodes.add(plan);
        Seq children = plan.children();
        List below = new ArrayList();
        for (int i = 0; i < children.length(); i++) {
            below.add(node((LogicalPlan) children.apply(i)));
        }
        answers.put("children", below);
        if (plan instanceof UnaryNode) {
            Map again = new LinkedHashMap();
            again.put("=", Integer.valueOf(0));
            answers.put("child", again);
        }
        put(answers, "subqueries", "isEmpty", Boolean.valueOf(plan.subqueries().isEmpty()));
        if (plan instanceof LogicalRelation) {
            leaf(answers, (LogicalRelation) plan);
        }
        if (!hasExpressions) {
            return answers;
        }
        attributes(answers, "output", plan.output());
        references(answers, plan.references());
        if (plan instanceof Filter) {
            answers.put("condition", expression(((Filter) plan).condition()));
        } else if (plan instanceof Project) {
            items(answers, "projectList", ((Project) plan).projectList());
        } else if (plan instanceof GlobalLimit) {
            answers.put("limitExpr", expression(((GlobalLimit) plan).limitExpr()));
        } else if (plan instanceof LocalLimit) {
            answers.put("limitExpr", expression(((LocalLimit) plan).limitExpr()));
        } else if (plan instanceof Offset) {
            answers.put("offsetExpr", expression(((Offset) plan).offsetExpr()));
        } else if (plan instanceof Sort) {
            sort(answers, (Sort) plan);
        }
        return answers;
    }

    private void sort(Map answers, Sort plan) {
        List orders = new ArrayList();
        Seq order = plan.order();
        for (int i = 0; i < order.length(); i++) {
            SortOrder item = (SortOrder) order.apply(i);
            Map of = new LinkedHashMap();
            of.put("child", expression(item.child()));
            put(of, "direction", "toString", item.direction().toString());
            put(of, "nullOrdering", "toString", item.nullOrdering().toString());
            orders.add(of);
        }
        answers.put("order", orders);
        answers.put("global", Boolean.valueOf(plan.global()));
    }

    private void leaf(Map answers, LogicalRelation leaf) {
        answers.put("isStreaming", Boolean.valueOf(leaf.isStreaming()));
        if (hasExpressions && leaf.output().length() <= COLUMNS_MAX) {
            put(answers, "schema", "json", leaf.schema().json());
        }
        Map relation = named(leaf.relation());
        answers.put("relation", relation);
        if (leaf.relation() instanceof HadoopFsRelation) {
            HadoopFsRelation files = (HadoopFsRelation) leaf.relation();
            relation.put("fileFormat", named(files.fileFormat()));
            Map location = named(files.location());
            relation.put("location", location);
            if (hasExpressions) {
                put(location, "partitionSchema", "json", files.location().partitionSchema().json());
                put(relation, "partitionSchema", "json", files.partitionSchema().json());
            }
            Map value = new LinkedHashMap();
            Option text = files.options().get(option);
            value.put("isDefined", Boolean.valueOf(text.isDefined()));
            if (text.isDefined()) {
                value.put("get", text.get().toString());
            }
            put(relation, "options", "get|" + option, value);
        }
    }

    private void items(Map answers, String name, Seq list) {
        if (list.length() > COLUMNS_MAX) {
            return;
        }
        List items = new ArrayList();
        for (int i = 0; i < list.length(); i++) {
            Map item = named(list.apply(i));
            put(item, "exprId", "id", Long.valueOf(((NamedExpression) list.apply(i)).exprId().id()));
            if (list.apply(i) instanceof Alias) {
                item.put("child", named(((Alias) list.apply(i)).child()));
            }
            items.add(item);
        }
        answers.put(name, items);
    }

    private Map expression(Expression expression) {
        parts = 0;
        Map answers = tree(expression);
        String text = expression.toString();
        answers.put("toString", text);
        if (text.length() <= CHARACTERS_MAX && text.split("CASE", -1).length <= CASES_MAX) {
            try {
                answers.put("toJSON", expression.toJSON());
            } catch (Exception error) {
                // Spark cannot print it, and says so when it is asked.
            }
        }
        return answers;
    }

    private Map tree(Expression expression) {
        Map answers = named(expression);
        references(answers, expression.references());
        if (expression instanceof Literal) {
            Object value = ((Literal) expression).value();
            if (value instanceof Integer || value instanceof Long || value instanceof Boolean) {
                answers.put("value", value);
            }
        }
        Seq children = expression.children();
        parts += children.length();
        if (parts <= PARTS_MAX) {
            if (expression.resolved()) {
                put(answers, "dataType", "json", expression.dataType().json());
            }
            List below = new ArrayList();
            for (int i = 0; i < children.length(); i++) {
                below.add(tree((Expression) children.apply(i)));
            }
            answers.put("children", below);
        }
        return answers;
    }

    private static void references(Map answers, AttributeSet references) {
        if (references.size() > COLUMNS_MAX) {
            return;
        }
        Map set = new LinkedHashMap();
        set.put("isEmpty", Boolean.valueOf(references.isEmpty()));
        attributes(set, "toSeq", references.toSeq());
        answers.put("references", set);
    }

    private static void attributes(Map answers, String name, Seq attributes) {
        if (attributes.length() <= COLUMNS_MAX) {
            Map list = new LinkedHashMap();
            list.put("length", Integer.valueOf(attributes.length()));
            list.put("mkString|\0", attributes.mkString("\0"));
            answers.put(name, list);
        }
    }

    private static Map named(Object object) {
        Map answers = new LinkedHashMap();
        Map names = new LinkedHashMap();
        names.put("getName", object.getClass().getName());
        names.put("getSimpleName", object.getClass().getSimpleName());
        answers.put("getClass", names);
        return answers;
    }

    private static void put(Map answers, String name, String inner, Object answer) {
        Map of = new LinkedHashMap();
        of.put(inner, answer);
        answers.put(name, of);
    }
}
