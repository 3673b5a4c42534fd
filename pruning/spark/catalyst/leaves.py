"""The leaves of Catalyst plans that read tables, and the predicates that all their needed rows satisfy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import (
    Java,
    elements,
    jvm,
    mapping,
    sequence,
    simple_name,
    singleton,
    subtrees,
)
from pruning.spark.lake.tables import Attribute

# Generators of a row for each element of an array, each with the place of the element in what it makes.
_GENERATORS = {"Explode": 0, "PosExplode": 1, "Inline": 0}
_ATTRIBUTE = "AttributeReference"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
# Leaves whose rows the query itself contains, so that there is nothing to skip.
_ROWS_IN_THE_PLAN = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef", "EmptyRelation"})


class Unsettled(Exception):
    """Raised where the answer may depend on which files are read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChain:
    """The filters, row-wise projections and generators right above a leaf.

    A row of the leaf that fails any of the conditions is dropped. `renamed_ids` has pairs of the id of a
    renamed attribute and the id of the attribute below.
    """

    conditions: tuple[Java, ...] = ()
    renamed_ids: tuple[tuple[int, int], ...] = ()

    def names(self, below: Mapping[int, str]) -> dict[int, str]:
        """Return the leaf's column names by expression id, also by the ids of renamed attributes."""
        names = dict(below)
        for new, old in reversed(self.renamed_ids):
            if old in names:
                names[new] = names[old]
        return names


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A leaf of a plan, the filters right above it, and its columns if its table may be narrowed."""

    node: Java
    chain: FilterChain
    attributes: tuple[Attribute, ...] = ()


def reads_data(kind: str) -> bool:
    """Tell whether a leaf of this class reads rows that the query itself does not contain."""
    return kind not in _ROWS_IN_THE_PLAN


def chain_below(spark: SparkSession, node: Java, kind: str, chain: FilterChain) -> FilterChain:
    """Return the chain below a node: longer below a filter, or what is row-wise below one; else empty."""
    if kind == "Filter":
        return replace(chain, conditions=(*chain.conditions, node.condition()))
    if kind == "Project" and chain.conditions:
        return replace(chain, renamed_ids=(*chain.renamed_ids, *_renamed_ids(node)))
    if kind == "Generate" and chain.conditions and not node.outer():
        try:
            return _chain_below_generator(spark, node, chain)
        except Py4JError:
            # This release of Spark makes such expressions in another way.
            return FilterChain()
    return FilterChain()


def _chain_below_generator(spark: SparkSession, node: Java, chain: FilterChain) -> FilterChain:
    """Return the chain below an inner `explode`, `posexplode` or `inline` of an array.

    A row yields a row for each element. So a row is dropped if a condition above is TRUE of no element: it
    becomes an `exists`, whose variable stands for the element.
    """
    generator = node.generator()
    kind, output = simple_name(generator), list(elements(node.generatorOutput()))
    if kind not in _GENERATORS or simple_name(generator.child().dataType()) != "ArrayType":
        return FilterChain()
    ids = [int(attribute.exprId().id()) for attribute in output]
    conditions: list[Java] = []
    for condition in chain.conditions:
        named = [part for part in elements(subtrees(spark, condition)) if simple_name(part) == _ATTRIBUTE]
        generated = [part for part in named if int(part.exprId().id()) in ids]
        if not generated:
            conditions.append(condition)
            continue
        variable = _variable(spark, generator.child().dataType().elementType())
        changes = [
            (part, value)
            for part in generated
            if (value := _generated_value(spark, kind, variable, ids.index(int(part.exprId().id()))))
            is not None
        ]
        conditions.append(
            _exists(spark, generator.child(), variable, condition.transform(mapping(spark, changes)))
        )
    return replace(chain, conditions=tuple(conditions))


def _generated_value(spark: SparkSession, kind: str, variable: Java, place: int) -> Java | None:
    """Return the value of an attribute that a generator makes of an element; None of its position."""
    if kind == "Inline":
        java = jvm(spark)
        return java.org.apache.spark.sql.catalyst.expressions.GetStructField(
            variable, place, java.scala.Option.empty()
        )
    return variable if place == _GENERATORS[kind] else None


def _variable(spark: SparkSession, type_: Java) -> Java:
    """Return a new variable of a lambda."""
    java = jvm(spark)
    id_ = singleton(spark, f"{_EXPRESSIONS}.NamedExpression").newExprId()
    reference = java.java.util.concurrent.atomic.AtomicReference()
    return java.org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable(
        "x", type_, True, id_, reference
    )


def _exists(spark: SparkSession, array: Java, variable: Java, body: Java) -> Java:
    """Return `exists(array, variable -> body)`."""
    expressions = jvm(spark).org.apache.spark.sql.catalyst.expressions
    function = expressions.LambdaFunction(body, sequence(spark, [variable]), False)
    return expressions.ArrayExists(array, function, True)


def _renamed_ids(project: Java) -> Iterator[tuple[int, int]]:
    for column in elements(project.projectList()):
        if simple_name(column) == "Alias" and simple_name(column.child()) == "AttributeReference":
            yield column.exprId().id(), column.child().exprId().id()
