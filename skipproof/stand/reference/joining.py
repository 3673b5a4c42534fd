"""Joins and set operations: the side that drops rows without a partner is scanned last, by keys."""

from collections.abc import Mapping
from typing import TypeAlias

from skipproof.stand.reference.answering import Rows, answer_of_set, join_rows
from skipproof.stand.reference.evaluating import Schema, columns_of
from skipproof.stand.reference.ranges import Range
from skipproof.stand.reference.relations import RelationRules
from skipproof.stand.reference.selecting import Allowed
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Table
from skipproof.stand.reference.values import Value
from strategies.engines.questions import Json

KEYS_MAX = 10
# The joins below which a condition on the left side may move, and the joins and set operations that drop
# rows of the left or the right side without a partner.
_KEEPS_LEFT_WHERE = ("inner", "left", "semi", "anti", "not in")
_LEFT_MUST_MEET = ("inner", "right", "semi", "intersect")
_RIGHT_MUST_MEET = ("inner", "left", "semi", "anti", "not in", "intersect", "except")

Side: TypeAlias = tuple[Rows, Schema]


class JoinRules(RelationRules):
    """The rules for joins and set operations; a mutant replaces one of the methods."""

    def join_relations(self, question: Json, tables: Mapping[str, Table]) -> Side:
        """Return the rows of one join or two; below a second one neither a condition nor a LIMIT moves."""
        second = question.get("second")
        if second is None:
            return self.join(question, tables)
        left = self.join(question | {"where": None, "limit": None}, tables)
        right = self.right_side(second, left, tables)
        return join_rows(second, left[0], right[0], (left[1], right[1]))

    def join(self, question: Json, tables: Mapping[str, Table]) -> Side:
        """Return the rows of a join."""
        join, source = self.joined_sources(question, tables[question["source"]["table"]].schema)
        needed = question["limit"] if self.does_limit_move(question) else None
        left, right = self.sides(join, source, tables, needed=needed)
        return join_rows(join, left[0], right[0], (left[1], right[1]))

    def sides(
        self, join: Json, source: Json, tables: Mapping[str, Table], *, needed: int | None = None
    ) -> tuple[Side, Side]:
        """Return the rows of both sides, of one of them perhaps only those that may have a partner."""
        table = tables[source["table"]]
        if join["kind"] in self.kinds_that_prune_left() and self.may_be_pruned(source):
            right = self.relation(join["right"], tables[join["right"]["table"]])
            keys = self.keys(right[0], right[1][join["right_key"]][0])
            allowed = self.group_filter(keys, join, join["left_key"])
            return self.relation(source, table, allowed=allowed), right
        left = self.relation(source, table, needed=needed)
        return left, self.right_side(join, left, tables)

    def right_side(self, join: Json, left: Side, tables: Mapping[str, Table]) -> Side:
        """Return the rows of the right side, perhaps only those that may have a partner."""
        relation, table = join["right"], tables[join["right"]["table"]]
        if join["kind"] not in _RIGHT_MUST_MEET or not self.may_be_pruned(relation):
            return self.relation(relation, table)
        keys = self.keys(left[0], left[1][self.left_key(join, left[1])][0])
        return self.relation(relation, table, allowed=self.group_filter(keys, join, join["right_key"]))

    def left_key(self, join: Json, schema: Schema) -> str:
        """Return the column of the left side by whose values the right side is pruned."""
        return str(join["left_key"])

    def set_operation(self, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
        """Return the answer to a set operation, the sides of which are pruned by their first columns."""
        operation = question["set"]
        join = {
            "kind": operation["kind"],
            "right": operation["right"],
            "left_key": question["select"][0],
            "right_key": operation["columns"][0],
            "null_safe": self.do_nulls_meet(operation),
        }
        left, right = self.sides(join, question["source"], tables)
        return self.combined_sides(question, left, right)

    def do_nulls_meet(self, operation: Json) -> bool:
        """Tell whether NULL is equal to NULL in a set operation; it always is."""
        return True

    def combined_sides(self, question: Json, left: Side, right: Side) -> list[list[Value]]:
        """Return the answer to a set operation from the rows of its sides."""
        return answer_of_set(question, left, right)

    def does_limit_move(self, question: Json) -> bool:
        """Tell whether LIMIT may apply to the left side, each row of which gives at least one row."""
        return question["join"]["kind"] == "left" and question["where"] is None and not question["order"]

    def kinds_that_prune_left(self) -> tuple[str, ...]:
        """Return the joins and set operations that drop rows of the left side without a partner."""
        return _LEFT_MUST_MEET

    def joined_sources(self, question: Json, schema: Schema) -> tuple[Json, Json]:
        """Return the join and its left side, with a condition on the left side moved into it if possible."""
        join, source, where = question["join"], question["source"], question["where"]
        if where is None or not columns_of(where) <= schema.keys() or not self.does_where_move(join, source):
            return join, source
        both = where if source["where"] is None else {"call": "and", "of": [source["where"], where]}
        return join, source | {"where": both}

    def does_where_move(self, join: Json, source: Json) -> bool:
        """Tell whether a condition may move below a join; it never moves below a LIMIT."""
        return join["kind"] in _KEEPS_LEFT_WHERE and self.may_be_pruned(source)

    def keys(self, rows: Rows, position: int) -> frozenset[Value]:
        """Return the keys of the side that was scanned first, including NULL."""
        return frozenset(row[position] for row in rows)

    def group_filter(self, keys: frozenset[Value], join: Json, name: str) -> Allowed:
        """Return a predicate that tells whether a row group may hold a partner of one of the keys."""
        return lambda lookup: self.may_meet(keys, join, lookup(name))

    def may_meet(self, keys: frozenset[Value], join: Json, facts: Facts) -> bool:
        """Tell whether a column may have a partner of a key; for NOT IN, also a NULL that decides it."""
        if not self.must_be_equal(join):
            return True
        if join["kind"] == "not in" and None in keys:
            # NULL NOT IN an empty side is true, so every row of the other side matters.
            return True
        if self.null_may_meet(keys, join) and self.may_be_null(facts):
            return True
        values = [key for key in keys if key is not None]
        if not values:
            return False
        if len(values) > KEYS_MAX:
            key_range = Range(lower=min(values), upper=max(values), nulls=False)
            return bool(self.comparison_truths("=", self.column_range(facts), key_range) & 1)
        return any(self.may_equal(facts, value) for value in values)

    def must_be_equal(self, join: Json) -> bool:
        """Tell whether partners have equal keys; otherwise another condition of ON decides."""
        return bool(join.get("equal", True))

    def null_may_meet(self, keys: frozenset[Value], join: Json) -> bool:
        """Tell whether a NULL key matters to the answer."""
        return join["kind"] == "not in" or (join["null_safe"] and None in keys)
