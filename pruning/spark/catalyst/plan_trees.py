"""Converts Catalyst plans to `pruning.expressions.plans`, and keeps the Catalyst node of each node.

A node takes a few calls into Java; expressions are converted when they are first used.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pruning.expressions.plans import (
    Aggregate,
    Equality,
    Exchange,
    Filter,
    Inequality,
    Join,
    JoinKind,
    Limit,
    Offset,
    Other,
    Plan,
    Project,
    Scan,
    Sort,
    SortItem,
    Union,
    Window,
    attribute_name,
)
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import (
    MIRRORED,
    Column,
    Comparison,
    Element,
    Expression,
    Quantified,
    type_of,
)
from pruning.spark.catalyst.expressions import convert
from pruning.spark.catalyst.leaves import FilterChain, PlanLeaf, Unsettled, chain_below, reads_data
from pruning.spark.catalyst.scope import Scope
from pruning.spark.iceberg.leaves import is_stand_in
from pruning.spark.jvm.gateway import Java, elements, simple_name
from pruning.spark.versioned.tables import table_attributes

_JOINS = {
    "Inner": JoinKind.INNER,
    "Cross": JoinKind.INNER,
    "LeftOuter": JoinKind.LEFT,
    "RightOuter": JoinKind.RIGHT,
    "FullOuter": JoinKind.FULL,
    "LeftSemi": JoinKind.SEMI,
    "LeftAnti": JoinKind.ANTI,
    "ExistenceJoin": JoinKind.EXISTENCE,
}
_EXCHANGES = frozenset({"Repartition", "RepartitionByExpression", "RebalancePartitions"})
_EQUALITIES = {"EqualTo": False, "EqualNullSafe": True}
_INEQUALITIES = {
    "LessThan": Comparison.LESS,
    "LessThanOrEqual": Comparison.AT_MOST,
    "GreaterThan": Comparison.GREATER,
    "GreaterThanOrEqual": Comparison.AT_LEAST,
}
_UNKNOWN_COUNT = -1
# The end of a printed attribute: its id, and an L for a bigint.
_ID = re.compile(r"#(\d+)L?$")
_SEPARATOR = "\0"


class _AttributeNames(Mapping[int, str]):
    """The names of all attributes of a plan, by any id."""

    def __getitem__(self, id_: int) -> str:
        return attribute_name(id_)

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class _LazyExpressions(Mapping[str, Expression]):
    """Expressions by attribute, each converted when it is first used."""

    makers: Mapping[str, Callable[[], Expression]]
    expressions: dict[str, Expression] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Expression:
        if name not in self.expressions:
            self.expressions[name] = self.makers[name]()
        return self.expressions[name]

    def __contains__(self, name: object) -> bool:
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


@dataclass(slots=True)
class PlanTrees:
    """A converter of the plan of a query and the plans of its subqueries.

    Attributes:
        javas: The Catalyst node of each node.
        leaves: The leaf of each scan.
        sides: The two Catalyst expressions of each equality and inequality.
    """

    spark: SparkSession
    javas: dict[Plan, Java] = field(default_factory=dict)
    leaves: dict[Scan, PlanLeaf] = field(default_factory=dict)
    sides: dict[Equality | Inequality, tuple[Java, Java]] = field(default_factory=dict)
    _scope: Scope = field(init=False)

    def __post_init__(self) -> None:
        self._scope = Scope(names=_AttributeNames(), session=self.spark)

    def all(self, java: Java) -> list[Plan]:
        """Convert a Catalyst plan and the plans of all subqueries in it.

        Raises:
            Unsettled: the plan's answer may depend on which files are read.
        """
        if not java.deterministic():
            raise Unsettled(
                "the query has an expression that is not deterministic, "
                "such as rand(), monotonically_increasing_id() or input_file_name()"
            )
        return [self.plan(plan) for plan in (java, *elements(java.subqueriesAll()))]

    def plan(self, java: Java) -> Plan:
        """Convert a Catalyst plan; its leaves that read data become scans."""
        return self._plan(java, FilterChain())

    def _plan(self, java: Java, chain: FilterChain) -> Plan:
        kind = simple_name(java)
        if kind == "Sample":
            raise Unsettled("the query takes a sample")
        below = tuple(
            self._plan(child, chain_below(self.spark, java, kind, chain))
            for child in _input_nodes(java, kind)
        )
        node = self._leaf(java, kind, chain) if not below else self._node(java, kind, below)
        self.javas[node] = java
        return node

    def _leaf(self, java: Java, kind: str, chain: FilterChain) -> Plan:
        if not reads_data(kind):
            return Other()
        is_table = kind == "LogicalRelation" or is_stand_in(java)
        attributes = table_attributes(java) if is_table else ()
        columns_of = {attribute_name(column.id): Column(column.name, column.type) for column in attributes}
        scan = Scan(len(self.leaves), columns_of)
        self.leaves[scan] = PlanLeaf(java, chain, attributes)
        return scan

    def _node(self, java: Java, kind: str, below: tuple[Plan, ...]) -> Plan:
        if kind == "Join":
            return self._join(java, below)
        if kind == "Union":
            return self._union(java, below)
        if kind not in _MAKERS or len(below) != 1:
            return Exchange(below[0]) if kind in _EXCHANGES else Other(below)
        return _MAKERS[kind](self, java, below[0])

    def _filter(self, java: Java, child: Plan) -> Plan:
        return Filter(child)

    def _project(self, java: Java, child: Plan) -> Plan:
        return Project(child, self._definitions(java, java.projectList()))

    def _aggregate(self, java: Java, child: Plan) -> Plan:
        groups = {self._convert(group) for group in elements(java.groupingExpressions())}
        definitions = self._definitions(java, java.aggregateExpressions())
        # Of a group, only the values of its grouping expressions are known.
        return Aggregate(child, _GroupingExpressions(definitions, frozenset(groups)))

    def _window(self, java: Java, child: Plan) -> Plan:
        parts = [self._convert(part) for part in elements(java.partitionSpec())]
        names = frozenset(part.name for part in parts if isinstance(part, Column))
        return Window(child, names, limited=simple_name(java) == "WindowGroupLimit")

    def _sort(self, java: Java, child: Plan) -> Plan:
        items = tuple(
            SortItem(
                self._convert(item.child()),
                descending=item.direction().toString() == "Descending",
                nulls_first=item.nullOrdering().toString() == "NullsFirst",
            )
            for item in elements(java.order())
        )
        return Sort(child, items, total=bool(getattr(java, "global")()))

    def _global_limit(self, java: Java, child: Plan) -> Plan:
        return Limit(child, _constant_count(java.limitExpr()), local=False)

    def _local_limit(self, java: Java, child: Plan) -> Plan:
        return Limit(child, _constant_count(java.limitExpr()), local=True)

    def _offset(self, java: Java, child: Plan) -> Plan:
        return Offset(child, _constant_count(java.offsetExpr()))

    def _join(self, java: Java, below: tuple[Plan, ...]) -> Plan:
        kind = _JOINS.get(java.joinType().toString().partition("(")[0])
        if kind is None:
            return Other(below)
        left, right = (frozenset(output_names(child)) for child in (java.left(), java.right()))
        parts = list(_conjuncts(java.condition().get())) if java.condition().isDefined() else []
        return Join(
            left=below[0],
            right=below[1],
            kind=kind,
            condition=tuple(map(self._convert, parts)),
            equalities=tuple(self._equalities(parts, left, right)),
            inequalities=tuple(self._inequalities(parts, left, right)),
            left_attributes=left,
            right_attributes=right,
        )

    def _equalities(
        self, parts: list[Java], left: frozenset[str], right: frozenset[str]
    ) -> Iterator[Equality]:
        for part in parts:
            null_safe = _EQUALITIES.get(simple_name(part))
            if null_safe is None:
                continue
            sides = [(self._convert(side), side) for side in (part.left(), part.right())]
            for (here, here_java), (there, there_java) in (sides, sides[::-1]):
                if _is_over(here, left) and _is_over(there, right) and type_of(here) == type_of(there):
                    equality = Equality(here, there, null_safe)
                    self.sides[equality] = (here_java, there_java)
                    yield equality
                    break

    def _inequalities(
        self, parts: list[Java], left: frozenset[str], right: frozenset[str]
    ) -> Iterator[Inequality]:
        for part in parts:
            comparison = _INEQUALITIES.get(simple_name(part))
            if comparison is None:
                continue
            here_java, there_java = part.left(), part.right()
            here, there = self._convert(here_java), self._convert(there_java)
            if _is_over(here, right) and _is_over(there, left):
                here, there, here_java, there_java = there, here, there_java, here_java
                comparison = MIRRORED[comparison]
            if _is_over(here, left) and _is_over(there, right) and type_of(here) == type_of(there):
                inequality = Inequality(here, there, comparison)
                self.sides[inequality] = (here_java, there_java)
                yield inequality

    def _union(self, java: Java, below: tuple[Plan, ...]) -> Plan:
        names = output_names(java)
        definitions = []
        for child in elements(java.children()):
            columns_of = list(elements(child.output()))
            makers = {
                name: (lambda column=column: self._convert(column))
                for name, column in zip(names, columns_of, strict=True)
            }
            definitions.append(_LazyExpressions(makers))
        return Union(below, tuple(definitions))

    def _definitions(self, java: Java, items: Java) -> _LazyExpressions:
        makers = {
            name: (lambda place=place: self._definition(items.apply(place)))
            for place, name in enumerate(output_names(java))
        }
        return _LazyExpressions(makers)

    def _definition(self, item: Java) -> Expression:
        return self._convert(item.child() if simple_name(item) == "Alias" else item)

    def _convert(self, java: Java) -> Expression:
        return convert(java, self._scope)


@dataclass(frozen=True, slots=True)
class _GroupingExpressions(Mapping[str, Expression]):
    """The attributes of an aggregate that are expressions it groups by, with their definitions."""

    definitions: Mapping[str, Expression]
    groups: frozenset[Expression]

    def __getitem__(self, name: str) -> Expression:
        definition = self.definitions[name]
        if definition not in self.groups:
            raise KeyError(name)
        return definition

    def __contains__(self, name: object) -> bool:
        return name in self.definitions and self.definitions[str(name)] in self.groups

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.definitions if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _input_nodes(java: Java, kind: str) -> Iterator[Java]:
    """Return the children of a node of a class, in few calls."""
    return iter((java.child(),)) if kind in _MAKERS else elements(java.children())


def _conjuncts(condition: Java) -> Iterator[Java]:
    """Yield the conjuncts of a condition."""
    pending = [condition]
    while pending:
        part = pending.pop()
        if simple_name(part) == "And":
            pending += [part.right(), part.left()]
        else:
            yield part


def _is_over(expression: Expression, attributes: frozenset[str]) -> bool:
    """Tell whether an expression names attributes, all of them among these, and has a known type.

    Elements of arrays are of attributes that are no column of the expression.
    """
    if any(isinstance(part, Element | Quantified) for part in walk(expression)):
        return False
    named = {name.split("`")[1] if name.startswith("`") else name for name in columns(expression)}
    return bool(named) and named <= attributes and type_of(expression).has_bounds


def _constant_count(expression: Java) -> int:
    return int(expression.value()) if simple_name(expression) == "Literal" else _UNKNOWN_COUNT


def output_names(java: Java) -> list[str]:
    """Return the names of the attributes that a node gives, in two calls."""
    output = java.output()
    printed = output.mkString(_SEPARATOR)
    if not printed:
        return []
    matches = [_ID.search(column) for column in printed.split(_SEPARATOR)]
    ids = [int(id_[1]) for id_ in matches if id_ is not None]
    if len(ids) < len(matches):
        ids = [attribute.exprId().id() for attribute in elements(output)]
    return [attribute_name(id_) for id_ in ids]


_MAKERS: Mapping[str, Callable[[PlanTrees, Java, Plan], Plan]] = {
    "Filter": PlanTrees._filter,
    "Project": PlanTrees._project,
    "Aggregate": PlanTrees._aggregate,
    "Window": PlanTrees._window,
    "WindowGroupLimit": PlanTrees._window,
    "Sort": PlanTrees._sort,
    "GlobalLimit": PlanTrees._global_limit,
    "LocalLimit": PlanTrees._local_limit,
    "Offset": PlanTrees._offset,
}
