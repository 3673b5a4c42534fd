"""The stages of one SELECT after WHERE: grouping, HAVING, windows, QUALIFY, the select list, DISTINCT."""

from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Distinct, Filter, Project, Relation
from dynamic_tables.sql.expressions import Binder, written
from dynamic_tables.sql.groups import Grouping, Windowing, aggregates_in
from dynamic_tables.sql.names import folded, refuse_unknown
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.values.expressions import moved
from pruning.errors import InputError


class Stages:
    """What follows the WHERE of one SELECT."""

    def __init__(self, node: Any, items: list[Any], below: Binder) -> None:
        self.node = node
        self.items = items
        self.grouping = self.grouped(below)
        if self.grouping is not None:
            below = Binder(below.scope, below.aliases, self.grouping.intercept)
        self.before_windows = below
        self.windowing = Windowing(below)
        self.binder = Binder(below.scope, below.aliases, self.windowing.intercept)

    def grouped(self, below: Binder) -> Grouping | None:
        """The grouping of the SELECT; None if it has none."""
        group, having = self.node.args.get("group"), self.node.args.get("having")
        asked = [*self.items, *(() if having is None else (having.this,))]
        if group is None and not any(True for one in asked for _ in aggregates_in(one)):
            return None
        if group is None:
            return Grouping(below, ())
        refuse_unknown(group, frozenset({"expressions", "all"}), "GROUP BY")
        if group.args.get("all"):
            plain = [one for one in self.items if next(aggregates_in(one), None) is None]
            return Grouping(below, tuple(map(below.bind, plain)))
        return Grouping(below, tuple(below.bind(self.ordinal(one)) for one in group.expressions))

    def ordinal(self, node: Any) -> Any:
        """An item of the select list that GROUP BY names by its number; other expressions as they are."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return node
        place = int(node.name)
        if not 1 <= place <= len(self.items):
            raise InputError(f"GROUP BY {place}: the select list has {len(self.items)} items")
        return self.items[place - 1]

    def relation(self, relation: Relation) -> Relation:
        """The relation of the whole SELECT."""
        having, qualify = self.node.args.get("having"), self.node.args.get("qualify")
        kept = None if having is None else self.before_windows.condition(having.this)
        columns = tuple(map(self.binder.bind, self.items))
        qualified = None if qualify is None else self.binder.condition(qualify.this)
        places = {place: place for place in range(len(relation.fields))}
        if self.grouping is not None:
            relation, places = self.grouping.group(relation)
        if kept is not None:
            relation = Filter(relation, moved(kept, places))
        relation, added = self.windowing.add(relation, places)
        places = places | added
        if qualified is not None:
            relation = Filter(relation, moved(qualified, places))
        names = tuple(output_name(item) for item in self.items)
        relation = Project(relation, tuple(moved(column, places) for column in columns), names)
        distinct = self.node.args.get("distinct")
        if distinct is not None:
            refuse_unknown(distinct, frozenset(), "DISTINCT")
        return relation if distinct is None else Distinct(relation)


def output_name(item: Any) -> str:
    """What an item of the select list is called: by its alias, its column, or as it is written."""
    if isinstance(item, exp.Alias):
        return folded(item.args["alias"])
    return folded(item.this) if isinstance(item, exp.Column) else written(item).lower()


def expanded(items: Any, scope: Scope) -> list[Any]:
    """The select list with each * replaced by columns."""
    found = []
    for item in items:
        star = item.this if isinstance(item, exp.Column) else item
        if not isinstance(star, exp.Star):
            found.append(item)
            continue
        refuse_unknown(star, frozenset(), "*")
        table = folded(item.args["table"]) if isinstance(item, exp.Column) else None
        for one in scope.starred(table):
            name = exp.to_identifier(one.name, quoted=True)
            owner = exp.to_identifier(one.table, quoted=True) if one.table else None
            found.append(exp.Column(this=name, table=owner))
    return found
