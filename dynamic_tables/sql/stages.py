"""The stages of one SELECT after WHERE: grouping, HAVING, windows, QUALIFY, the select list, DISTINCT."""

from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Distinct, Filter, Project, Relation
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.grouping_sets import SETS, bound_sets, sets_of, terms_of
from dynamic_tables.sql.groups import Grouping, aggregates_in
from dynamic_tables.sql.names import fold_name, refuse_unknown, sql_text
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.sql.windows import Windowing
from dynamic_tables.values.expressions import remap_columns
from pruning.errors import InputError


class Stages:
    """The clauses that follow the WHERE of one SELECT."""

    def __init__(self, node: Any, items: list[Any], below: Binder) -> None:
        self.node = node
        self.items = items
        self.grouping = self.find_grouping(below)
        if self.grouping is not None:
            below = Binder(below.scope, below.aliases, self.grouping.intercept)
        self.before_windows = below
        self.windowing = Windowing(below, node.args.get("windows") or ())
        self.binder = Binder(below.scope, below.aliases, self.windowing.intercept)

    def find_grouping(self, below: Binder) -> Grouping | None:
        """Return the grouping of the SELECT; None if it has none."""
        group, having = self.node.args.get("group"), self.node.args.get("having")
        nodes = [*self.items, *(() if having is None else (having.this,))]
        if group is None and not any(True for node in nodes for _ in aggregates_in(node)):
            return None
        if group is None:
            return Grouping(below, ())
        refuse_unknown(group, frozenset({"expressions", "all", *SETS}), "GROUP BY")
        if group.args.get("all"):
            plain = [item for item in self.items if next(aggregates_in(item), None) is None]
            return Grouping(below, tuple(map(below.bind, plain)))
        sets = sets_of(terms_of(group))
        return Grouping(below, *bound_sets(sets, lambda key: below.bind(self.ordinal(key))))

    def ordinal(self, node: Any) -> Any:
        """Return the select list's item for a number in GROUP BY; other expressions as they are."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return node
        place = int(node.name)
        if not 1 <= place <= len(self.items):
            raise InputError(f"GROUP BY {place}: the select list has {len(self.items)} items")
        return self.items[place - 1]

    def relation(self, relation: Relation) -> Relation:
        """Return the relation of the whole SELECT."""
        having, qualify = self.node.args.get("having"), self.node.args.get("qualify")
        kept = None if having is None else self.before_windows.condition(having.this)
        columns = tuple(map(self.binder.bind, self.items))
        qualified = None if qualify is None else self.binder.condition(qualify.this)
        places = {place: place for place in range(len(relation.fields))}
        if self.grouping is not None:
            relation, places = self.grouping.group(relation)
        if kept is not None:
            relation = Filter(relation, remap_columns(kept, places))
        relation, added = self.windowing.add(relation, places)
        places = places | added
        if qualified is not None:
            relation = Filter(relation, remap_columns(qualified, places))
        names = tuple(output_name(item) for item in self.items)
        relation = Project(relation, tuple(remap_columns(column, places) for column in columns), names)
        distinct = self.node.args.get("distinct")
        if distinct is not None:
            refuse_unknown(distinct, frozenset(), "DISTINCT")
        return relation if distinct is None else Distinct(relation)


def output_name(item: Any) -> str:
    """Return the name of a select list's item: its alias, its column, or its text."""
    if isinstance(item, exp.Alias):
        return fold_name(item.args["alias"])
    return fold_name(item.this) if isinstance(item, exp.Column) else sql_text(item).lower()


def expand_stars(items: Any, scope: Scope) -> list[Any]:
    """Return the select list with each * replaced by columns."""
    columns = []
    for item in items:
        star = item.this if isinstance(item, exp.Column) else item
        if not isinstance(star, exp.Star):
            columns.append(item)
            continue
        refuse_unknown(star, frozenset(), "*")
        table = fold_name(item.args["table"]) if isinstance(item, exp.Column) else None
        for visible in scope.star_columns(table):
            name = exp.to_identifier(visible.name, quoted=True)
            owner = exp.to_identifier(visible.table, quoted=True) if visible.table else None
            columns.append(exp.Column(this=name, table=owner))
    return columns
