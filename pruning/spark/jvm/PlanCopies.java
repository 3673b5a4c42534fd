import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import SEQ;

/**
 * Copies of analyzed plans whose attributes have ids of their own, so that several copies fit into one plan.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas, with the name of the class that
 * this release of Scala calls Seq in the place of SEQ.
 */
public class PlanCopies {
    /**
     * Return a copy of a plan without subqueries, in which every attribute and every alias has a new id.
     *
     * The copy gives columns of no DataFrame that the plan was made from, so that its nodes lose a tag.
     *
     * @param plan the plan
     * @param tag the tag of the ids of the DataFrames that a node stands for
     */
    public LogicalPlan of(LogicalPlan plan, TreeNodeTag tag) {
        LogicalPlan copy = (LogicalPlan) plan.transformAllExpressions(new Renewal());
        removeTag(copy, plan, tag);
        return copy;
    }

    private static void removeTag(LogicalPlan copy, LogicalPlan original, TreeNodeTag tag) {
        if (copy != original) {
            copy.unsetTagValue(tag);
        }
        for (int i = 0; i < copy.children().length(); i++) {
            removeTag((LogicalPlan) copy.children().apply(i), (LogicalPlan) original.children().apply(i), tag);
        }
    }

    /** Gives each id that it meets another one, always the same. */
    public static final class Renewal extends AbstractPartialFunction {
        private final Map ids = new HashMap();

        public boolean isDefinedAt(Object expression) {
            return expression instanceof AttributeReference || expression instanceof Alias;
        }

        public Object applyOrElse(Object expression, Function1 otherwise) {
            if (expression instanceof AttributeReference) {
                AttributeReference attribute = (AttributeReference) expression;
                return attribute.withExprId(renewed(attribute.exprId()));
            }
            if (expression instanceof Alias) {
                Alias alias = (Alias) expression;
                return new Alias(
                    alias.child(),
                    alias.name(),
                    renewed(alias.exprId()),
                    alias.qualifier(),
                    alias.explicitMetadata(),
                    alias.nonInheritableMetadataKeys());
            }
            return otherwise.apply(expression);
        }

        private ExprId renewed(ExprId id) {
            ExprId renewed = (ExprId) ids.get(id);
            if (renewed == null) {
                renewed = NamedExpression$.MODULE$.newExprId();
                ids.put(id, renewed);
            }
            return renewed;
        }
    }
}
