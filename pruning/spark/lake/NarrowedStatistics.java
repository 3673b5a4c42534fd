import java.math.BigInteger;
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat;
import org.apache.spark.sql.catalyst.catalog.CatalogStatistics;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.Product;
import scala.Some;
import scala.Tuple2;
import scala.math.BigInt;

/**
 * Statistics of the catalog for a relation that reads fewer files than the table has.
 *
 * It is compiled when it is needed, by a compiler without generics and lambdas.
 */
public class NarrowedStatistics {
    /** Return a relation with other statistics, if it has some; fewer than no rows are unknown. */
    public LogicalPlan of(LogicalRelation relation, long rows) throws Exception {
        Option table = relation.catalogTable();
        if (table.isEmpty() || ((CatalogTable) table.get()).stats().isEmpty()) {
            return relation;
        }
        Object before = ((CatalogTable) table.get()).stats().get();
        Object after = statistics((CatalogStatistics) before, relation.relation().sizeInBytes(), rows);
        Object[] arguments = replaced((Product) table.get(), before, after);
        Object narrowed = table.get().getClass().getConstructors()[0].newInstance(arguments);
        return (LogicalPlan) relation.makeCopy(replaced(relation, table.get(), narrowed));
    }

    /** Return statistics of some bytes and rows; a column has no more values than rows. */
    private static CatalogStatistics statistics(CatalogStatistics stored, long size, long rows) {
        scala.collection.immutable.Map columns = scala.collection.immutable.Map$.MODULE$.empty();
        if (rows < 0) {
            return new CatalogStatistics(big(size), Option.apply(null), columns);
        }
        scala.collection.Iterator all = stored.colStats().iterator();
        while (all.hasNext()) {
            Tuple2 pair = (Tuple2) all.next();
            CatalogColumnStat column = (CatalogColumnStat) pair._2();
            CatalogColumnStat narrowed = new CatalogColumnStat(
                atMost(column.distinctCount(), rows), column.min(), column.max(), atMost(column.nullCount(), rows),
                column.avgLen(), column.maxLen(), column.histogram(), column.version());
            columns = (scala.collection.immutable.Map) columns.$plus(new Tuple2(pair._1(), narrowed));
        }
        return new CatalogStatistics(big(size), new Some(big(rows)), columns);
    }

    private static Option atMost(Option count, long most) {
        return count.isEmpty() || ((BigInt) count.get()).compare(big(most)) <= 0 ? count : new Some(big(most));
    }

    private static BigInt big(long number) {
        return new BigInt(BigInteger.valueOf(number));
    }

    /** Return the arguments of a case class, with another value in the Option of one. */
    private static Object[] replaced(Product product, Object before, Object after) {
        Object[] arguments = new Object[product.productArity()];
        for (int i = 0; i < arguments.length; i++) {
            Object argument = product.productElement(i);
            boolean isOption = argument instanceof Some && ((Some) argument).get() == before;
            arguments[i] = isOption ? new Some(after) : argument;
        }
        return arguments;
    }
}
