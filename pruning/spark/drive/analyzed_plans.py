"""The analyzed plan of a query, rebuilt with some of its leaves replaced.

A pruned DataFrame keeps the plan that Spark's analyzer made of the user's query, with its aliases, hints
and hidden columns; the optimized plan only decides what the leaves read. An optimized plan cannot replace it:
it has lost all of these, and analyzing it again may change its meaning.

The optimizer copies leaves (for a CTE or a view that is used twice, or a subquery that becomes a join) and
gives the copies new expression ids. So each leaf that may be narrowed carries its number in the options of
its relation, which every copy keeps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from pruning.spark.iceberg.leaves import is_iceberg_leaf, is_pinned, stand_in
from pruning.spark.jvm.gateway import (
    Java,
    dataframe,
    elements,
    jvm,
    mapping,
    sequence,
    simple_name,
    singleton,
    some,
    subtrees,
)
from pruning.spark.jvm.prefetched import with_answers
from pruning.spark.lake.leaf_copies import with_option
from pruning.spark.lake.parquet_leaves import is_parquet_leaf
from pruning.spark.lake.tables import Unprunable

_OPTION = "skipproof.leaf"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_PATTERNS = "org.apache.spark.sql.catalyst.trees.TreePattern"
_INLINING = "org.apache.spark.sql.catalyst.optimizer.InlineCTE"
# Nodes that give a part names, or hints, and leave its rows as they are.
_ALIASES = frozenset({"SubqueryAlias", "ResolvedHint"})


@dataclass(slots=True, eq=False)
class _PlanNode:
    """A node of the analyzed plan; `number` is that of a leaf that may be narrowed.

    `subqueries` are the node's subquery expressions, each with its plan.
    """

    java: Java
    children: list["_PlanNode"]
    subqueries: list[tuple[Java, "_PlanNode"]]
    number: int | None = None


@dataclass(frozen=True, slots=True)
class AnalyzedJoin:
    """A join of the analyzed plan: its node, its type, and the leaves below either side.

    `is_nested` is True inside a subquery expression.
    """

    java: Java
    kind: str
    left: frozenset[int]
    right: frozenset[int]
    is_nested: bool


@dataclass(slots=True, eq=False)
class AnalyzedPlan:
    """The analyzed plan of a DataFrame.

    Attributes:
        leaves: The leaf of each table of Parquet files or of Iceberg that may be narrowed. Leaves inside a
            cached part are not among them, because Spark would no longer find a changed part in its cache.
    """

    spark: SparkSession
    leaves: list[Java] = field(default_factory=list)
    _root: _PlanNode = field(init=False)

    @classmethod
    def of(cls, df: DataFrame) -> "AnalyzedPlan":
        """Return the analyzed plan of a DataFrame."""
        plan = cls(df.sparkSession)
        execution = df._jdf.queryExecution()
        cache = plan.spark._jsparkSession.sharedState().cacheManager()
        java = execution.commandExecuted()
        if cache.isEmpty():
            inlined = _with_inlined_tables(plan.spark, java)
            nodes = with_answers(plan.spark, inlined, _OPTION, expressions=False)
            plan._root = plan._node(nodes, None)
        else:
            plan._root = plan._node(java, execution.withCachedData())
        return plan

    @property
    def java(self) -> Java:
        """The Catalyst plan, unchanged."""
        return self._root.java

    def with_numbers(self, leaves: Mapping[int, Java]) -> Java:
        """Return the plan with some leaves replaced and each leaf's number in its relation's options.

        It is to be optimized, and no DataFrame is made of it.
        """
        numbered = {
            number: _with_number(self.spark, leaves.get(number, leaf), leaf, number)
            for number, leaf in enumerate(self.leaves)
        }
        java = self._rebuild(self._root, numbered, {}, {})
        java.setAnalyzed()
        return java

    def with_leaves(
        self,
        leaves: Mapping[int, Java],
        broadcast: Sequence[tuple[Java, str]] = (),
        unions: Sequence[tuple[Java, Java]] = (),
    ) -> Java:
        """Return the plan with some leaves replaced; the plan itself where nothing changes.

        Args:
            leaves: The subtrees that replace leaves, by the leaves' numbers.
            broadcast: Joins of the plan, each with the side to broadcast, "left" or "right".
            unions: Joins of the plan, each with what replaces it and its leaves.
        """
        hints = {id(java): side for java, side in broadcast}
        parts = {id(join): union for join, union in unions}
        return self._as_analyzed(self._rebuild(self._root, leaves, hints, parts))

    def with_parts(self, parts: Sequence[tuple[Java, Java]]) -> "AnalyzedPlan":
        """Return the plan with some `other_leaves`, `join_sides` or `condition_subqueries` replaced.

        Args:
            parts: Pairs of a part, as the plan gave it, and of what replaces it.
        """
        new = {id(old): replacement for old, replacement in parts}
        java = self._as_analyzed(self._rebuild(self._root, {}, {}, new))
        return AnalyzedPlan.of(dataframe(self.spark, java))

    def _as_analyzed(self, java: Java) -> Java:
        """Mark a plan that was rebuilt as one that is analyzed."""
        if java is not self._root.java:
            self._give_own_identity(java)
            # Every node is resolved, and analyzing the plan again could change its meaning.
            java.setAnalyzed()
        return java

    def other_leaves(self) -> Iterator[Java]:
        """Yield what the plan and its subqueries read beside the leaves, with cached parts as a whole."""
        pending = [self._root]
        while pending:
            node = pending.pop()
            pending += [*node.children, *(plan for _, plan in node.subqueries)]
            if not node.children and node.number is None:
                yield node.java

    def condition_subqueries(self) -> Iterator[Java]:
        """Yield the subquery expressions in the filters of the plan, and of its subqueries."""
        pending = [self._root]
        while pending:
            node = pending.pop()
            pending += [*node.children, *(plan for _, plan in node.subqueries)]
            if node.subqueries and simple_name(node.java) == "Filter":
                yield from (expression for expression, _ in node.subqueries)

    def has_common_parts(self) -> bool:
        """Tell whether a part of the plan is defined once and read at several places."""
        return _has_common_tables(self.spark, self.java)

    def join_sides(self) -> Iterator[Java]:
        """Yield the sides of the plan's joins, without aliases and hints on top, parents first.

        Sides inside subqueries are not among them, because these may name attributes of the outer query.
        """
        pending = [self._root]
        while pending:
            node = pending.pop()
            pending += node.children
            if simple_name(node.java) == "Join" and len(node.children) == 2:
                yield from (_without_aliases(child).java for child in node.children)

    def joins(self) -> Iterator[AnalyzedJoin]:
        """Yield the joins of the plan and of its subqueries."""
        pending = [(self._root, False)]
        while pending:
            node, is_nested = pending.pop()
            pending += [(child, is_nested) for child in node.children]
            pending += [(plan, True) for _, plan in node.subqueries]
            if simple_name(node.java) == "Join" and len(node.children) == 2:
                left, right = (frozenset(_leaf_numbers(child)) for child in node.children)
                yield AnalyzedJoin(node.java, str(node.java.joinType().toString()), left, right, is_nested)

    def _node(self, java: Java, cached: Java | None) -> _PlanNode:
        """Wrap a node and all nodes below, with the same part of the plan after Spark's cache was used.

        Where the two differ, the part is cached, and the node is wrapped without its children.
        """
        if cached is not None and simple_name(cached) != simple_name(java):
            return _PlanNode(java, [], [])
        children = list(elements(java.children()))
        beside: list[Java | None] = [None] * len(children)
        if cached is not None:
            beside = list(elements(cached.children()))
        if len(beside) != len(children):
            return _PlanNode(java, [], [])
        below = [self._node(child, other) for child, other in zip(children, beside, strict=True)]
        node = _PlanNode(java, below, self._subqueries(java, cached))
        if not children and (is_parquet_leaf(java) or is_iceberg_leaf(java)):
            node.number = len(self.leaves)
            self.leaves.append(java)
        return node

    def _subqueries(self, java: Java, cached: Java | None) -> list[tuple[Java, _PlanNode]]:
        if java.subqueries().isEmpty():
            return []
        expressions = _subquery_expressions(self.spark, java)
        beside: list[Java | None] = [None] * len(expressions)
        if cached is not None:
            beside = [expression.plan() for expression in _subquery_expressions(self.spark, cached)]
            if len(beside) != len(expressions):
                return []
        return [
            (expression, self._node(expression.plan(), other))
            for expression, other in zip(expressions, beside, strict=True)
        ]

    def _rebuild(
        self,
        node: _PlanNode,
        leaves: Mapping[int, Java],
        hints: Mapping[int, str],
        parts: Mapping[int, Java],
    ) -> Java:
        if id(node.java) in parts:
            return parts[id(node.java)]
        if node.number is not None:
            return leaves.get(node.number, node.java)
        children = [self._rebuild(child, leaves, hints, parts) for child in node.children]
        side = hints.get(id(node.java))
        if side is not None:
            place = 0 if side == "left" else 1
            children[place] = with_broadcast_hint(self.spark, children[place])
        java = node.java
        if any(new is not old.java for new, old in zip(children, node.children, strict=True)):
            java = java.withNewChildren(sequence(self.spark, children))
        plans = [self._rebuild(plan, leaves, hints, parts) for _, plan in node.subqueries]
        changes = [
            (expression, parts.get(id(expression)) or expression.withNewPlan(plan))
            for (expression, old), plan in zip(node.subqueries, plans, strict=True)
            if plan is not old.java or id(expression) in parts
        ]
        return java.transformExpressions(mapping(self.spark, changes)) if changes else java

    def _give_own_identity(self, java: Java) -> None:
        """Give the root its own set of dataset ids; a copied node shares the set of the original.

        Spark adds the id of each DataFrame to the set of its root, and tells self-joins apart by it.
        """
        tag = dataset_id_tag(self.spark)
        ids = java.getTagValue(tag)
        if ids.isDefined():
            java.setTagValue(tag, ids.get().clone())


def leaf_number(leaf: Java) -> int | None:
    """Return the number that a leaf of an optimized plan carries; None where it has none."""
    if is_pinned(leaf):
        text = leaf.relation().options().get(_OPTION)
        return None if text is None else int(text)
    if not is_parquet_leaf(leaf):
        return None
    number = leaf.relation().options().get(_OPTION)
    return int(number.get()) if number.isDefined() else None


def without_numbers(spark: SparkSession, plan: Java) -> Java:
    """Return a part of an optimized plan whose leaves of Parquet files have no numbers, to be compared."""
    leaves = [leaf for leaf in elements(plan.collectLeaves()) if is_parquet_leaf(leaf)]
    pairs = [(leaf, _with_number(spark, leaf, leaf, "")) for leaf in leaves]
    return plan.transformUp(mapping(spark, pairs)) if pairs else plan


def optimized_plan(spark: SparkSession, plan: Java) -> Java:
    """Return the optimized plan of an analyzed plan."""
    modes = "org.apache.spark.sql.execution.CommandExecutionMode"
    try:
        skip = singleton(spark, modes).SKIP()
        optimized = spark._jsparkSession.sessionState().executePlan(plan, skip).optimizedPlan()
        return with_answers(spark, optimized, _OPTION)
    except Py4JError as error:
        if "does not exist" not in str(error):
            raise
        # The method has another signature in this release of Spark.
        return dataframe(spark, plan)._jdf.queryExecution().optimizedPlan()


def _with_number(spark: SparkSession, subtree: Java, leaf: Java, number: int | str) -> Java:
    """Return a leaf, or a subtree over a leaf, with a number in the leaf's options."""
    inner = leaf if subtree is leaf else next(elements(subtree.collectLeaves()))
    if not is_parquet_leaf(inner):
        try:
            marked = stand_in(spark, inner, {_OPTION: str(number)})
        except Unprunable:
            # Without a number, the leaf stays as it is, and the report says why.
            return subtree
        return marked if inner is subtree else subtree.transformUp(mapping(spark, [(inner, marked)]))
    marked = with_option(spark, inner, _OPTION, str(number))
    return marked if inner is subtree else subtree.transformUp(mapping(spark, [(inner, marked)]))


def _subquery_expressions(spark: SparkSession, java: Java) -> list[Java]:
    """Return the subquery expressions of one node, in the order of its expressions."""
    kind = jvm(spark).java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.PlanExpression")
    return [
        part
        for expression in elements(java.expressions())
        for part in elements(subtrees(spark, expression))
        if kind.isInstance(part)
    ]


def with_broadcast_hint(spark: SparkSession, side: Java) -> Java:
    """Return a side of a join with a hint to broadcast it."""
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    hint = logical.HintInfo(some(spark, singleton(spark, f"{_LOGICAL}.BROADCAST")))
    return logical.ResolvedHint(side, hint)


def _with_inlined_tables(spark: SparkSession, plan: Java) -> Java:
    """Return a plan with the definition of each common table in all places that name it.

    The optimizer does the same later, but its copies would share what the one definition reads. As it does,
    a table is left alone that is named twice and not deterministic.
    """
    if not _has_common_tables(spark, plan):
        return plan
    constructor = jvm(spark).java.lang.Class.forName(_INLINING).getConstructors()[0]
    # Always, and tables that nothing names; Spark 4 added the second.
    rule = jvm(spark).org.apache.spark.sql.catalyst.optimizer.InlineCTE(
        *[False] * constructor.getParameterCount()
    )
    inlined = rule.apply(plan)
    inlined.setAnalyzed()
    return inlined


def _has_common_tables(spark: SparkSession, plan: Java) -> bool:
    """Tell whether a plan or a subquery in it defines tables by WITH that are not inlined yet."""
    return bool(plan.containsPattern(singleton(spark, _PATTERNS).CTE()))


def _without_aliases(node: _PlanNode) -> _PlanNode:
    """Return the first node, from the top of a part down, that is no alias, view or hint."""
    while simple_name(node.java) in _ALIASES and len(node.children) == 1:
        (node,) = node.children
    return node


def _leaf_numbers(node: _PlanNode) -> Iterator[int]:
    if node.number is not None:
        yield node.number
    for child in node.children:
        yield from _leaf_numbers(child)


def dataset_id_tag(spark: SparkSession) -> Java:
    """Return the tag of a plan's node with the ids of the DataFrames whose columns it gives."""
    classic = "" if int(spark.version.split(".")[0]) < 4 else "classic."
    return singleton(spark, f"org.apache.spark.sql.{classic}Dataset").DATASET_ID_TAG()
