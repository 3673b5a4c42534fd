"""Whole questions with pruning: what of a question moves into the scans, and what statistics answer alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from skipproof.stand.reference.answering import (
    FOLDS,
    Rows,
    aggregated,
    changed,
    cut,
    joined,
    ordered,
    related,
    shown,
    typed,
    updated,
    whole,
)
from skipproof.stand.reference.evaluating import Schema, columns_of, compiled
from skipproof.stand.reference.ranges import Lookup, Range
from skipproof.stand.reference.selecting import Allowed, Selecting
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row, Value, is_float
from strategies.engines.questions import Json

KEYS_MAX = 10
# The kinds of joins that a condition on the left side may move below; the kinds that leave out rows of one
# side that meet no row of the other.
_KEEPS_LEFT_WHERE = ("inner", "left", "semi", "anti", "not in")
_LEFT_MUST_MEET = ("inner", "right", "semi")
_RIGHT_MUST_MEET = ("left", "anti", "not in")


class Rules(Selecting):
    """The correct engine; a mutant is a subclass."""

    def answer(self, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
        """The answer, from as few rows as can be proved to be enough."""
        table = tables[question["source"]["table"]]
        if question["change"]:
            return shown(question, self.changed(question, table), table.schema)
        if question["join"] is not None:
            rows, schema = self.join(question, tables)
            return whole(question, rows, schema)
        if question["aggregates"]:
            return self.aggregates(question, table)
        if question["order"]:
            whole_source = question["source"] | {"order": question["order"], "limit": question["limit"]}
            rows = self.top(whole_source | {"offset": question["offset"]}, table)
            return shown(question | {"limit": None, "offset": 0}, rows, table.schema)
        needed = self.rows_needed(question["limit"], question["offset"])
        rows, schema = self.relation(question["source"], table, needed=needed)
        return self.shown(question, rows, schema)

    def shown(self, question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
        """The rows that LIMIT and OFFSET leave."""
        return shown(question, rows, schema)

    def relation(
        self, relation: Json, table: Table, *, allowed: Allowed | None = None, needed: int | None = None
    ) -> tuple[Rows, Schema]:
        """The rows of a relation, or as many of them as are needed."""
        if relation["order"] and relation["limit"] is not None and not relation["distinct"]:
            return self.top(relation, table), table.schema
        if needed is not None and relation["limit"] is None and not relation["distinct"]:
            return self.some(table, relation["where"], needed), table.schema
        return related(relation, self.scan(table, relation["where"], allowed), table.schema)

    def rows_needed(self, limit: int | None, offset: int) -> int | None:
        """How many rows LIMIT and OFFSET look at; None is all."""
        return None if limit is None else limit + offset

    def some(self, table: Table, where: Json, needed: int) -> list[Row]:
        """Some rows that satisfy a condition: of groups that match fully, if these have enough."""
        if needed == 0:
            return []
        groups = self.groups(table, where)
        full = [group for group in groups if self.matches_fully(where, self.lookup(table, group))]
        if self.counted_rows(full) >= needed:
            self.saved["row groups by a limit"] += len(groups) - len(full)
            groups = full
        rows: list[Row] = []
        for group in groups:
            if len(rows) < needed:
                rows += self.read(table, group, where)
        return rows

    def counted_rows(self, groups: Sequence[Group]) -> int:
        """How many rows there are in groups."""
        return sum(len(group.rows) for group in groups)

    def top(self, relation: Json, table: Table) -> Rows:
        """The first rows of an order; groups are left out that can only hold rows after these."""
        needed = self.rows_needed(relation["limit"], relation["offset"])
        best: Rows = []
        for group in self.groups(table, relation["where"]):
            if needed == 0:
                break
            lookup, full = self.lookup(table, group), len(best) == needed
            if full and self.comes_after(relation["order"], lookup, best[-1], table.schema):
                self.saved["row groups by an order"] += 1
                continue
            found = self.read(table, group, relation["where"])
            best = cut(ordered([*best, *found], relation["order"], table.schema), needed, 0)
        return cut(best, relation["limit"], relation["offset"])

    def comes_after(self, order: Sequence[Json], lookup: Lookup, last: Row, schema: Schema) -> bool:
        """Whether each row of a group comes after a row, by the first key; equal keys leave it open."""
        key = order[0]
        known = self.range_of(key["by"], lookup)
        value = compiled(key["by"], schema)(last)
        extreme = self.first_of(known, key)
        if known.values and (extreme is None or not self.before(value, extreme, key)):
            return False
        return not known.nulls or self.before(value, None, key)

    def first_of(self, known: Range, key: Json) -> Value:
        """The value of a range that an order puts first."""
        return known.upper if key["descending"] else known.lower

    def before(self, x: Value, y: Value, key: Json) -> bool:
        """Whether an order puts one value strictly before another."""
        if x is None or y is None:
            return (x is None) != (y is None) and (x is None) == key["nulls_first"]
        return bool(x > y if key["descending"] else x < y)

    def join(self, question: Json, tables: Mapping[str, Table]) -> tuple[Rows, Schema]:
        """The rows of a join; the side whose rows must meet others is scanned last, by their keys."""
        left = tables[question["source"]["table"]]
        join, source = self.joined_sources(question, left.schema)
        right = tables[join["right"]["table"]]
        if join["kind"] in self.kinds_that_prune_left() and self.may_be_pruned(source):
            right_rows, right_schema = self.relation(join["right"], right)
            keys = self.keys(right_rows, right_schema[join["right_key"]][0])
            allowed = self.allowed(keys, join, join["left_key"])
            left_rows, left_schema = self.relation(source, left, allowed=allowed)
        else:
            needed = question["limit"] if self.limit_moves(question) else None
            left_rows, left_schema = self.relation(source, left, needed=needed)
            keys = self.keys(left_rows, left_schema[join["left_key"]][0])
            prunes = join["kind"] in _RIGHT_MUST_MEET and self.may_be_pruned(join["right"])
            allowed = self.allowed(keys, join, join["right_key"])
            right_rows, right_schema = self.relation(
                join["right"], right, allowed=allowed if prunes else None
            )
        return joined(join, left_rows, right_rows, (left_schema, right_schema))

    def limit_moves(self, question: Json) -> bool:
        """Whether as many rows of the left side as the LIMIT has are enough: each gives a row at least."""
        return question["join"]["kind"] == "left" and question["where"] is None and not question["order"]

    def kinds_that_prune_left(self) -> tuple[str, ...]:
        """The joins that leave out rows of the left side that meet no other."""
        return _LEFT_MUST_MEET

    def joined_sources(self, question: Json, schema: Schema) -> tuple[Json, Json]:
        """The join and its left side, into which a condition on it moves where that changes nothing."""
        join, source, where = question["join"], question["source"], question["where"]
        if where is None or not columns_of(where) <= schema.keys() or not self.where_moves(join, source):
            return join, source
        both = where if source["where"] is None else {"call": "and", "of": [source["where"], where]}
        return join, source | {"where": both}

    def where_moves(self, join: Json, source: Json) -> bool:
        """Whether a condition after a join may be asked before it: never below a LIMIT."""
        return join["kind"] in _KEEPS_LEFT_WHERE and self.may_be_pruned(source)

    def may_be_pruned(self, relation: Json) -> bool:
        """Whether rows may be left out of a relation's table: not where others would take their place."""
        return relation["limit"] is None and not relation["offset"]

    def keys(self, rows: Rows, position: int) -> frozenset[Value]:
        """The keys of the side that was scanned first, NULL among them."""
        return frozenset(row[position] for row in rows)

    def allowed(self, keys: frozenset[Value], join: Json, name: str) -> Allowed:
        """Whether a row group may hold a row that meets one of some keys."""
        return lambda lookup: self.may_meet(keys, join, lookup(name))

    def may_meet(self, keys: frozenset[Value], join: Json, facts: Facts) -> bool:
        """Whether a column may have one of some keys; a NULL decides NOT IN, else it meets NULL only."""
        if join["kind"] == "not in" and None in keys:
            # NULL NOT IN nothing is true, so that any row of the other side decides it.
            return True
        if self.null_may_meet(keys, join) and self.may_be_null(facts):
            return True
        values = [key for key in keys if key is not None]
        if not values:
            return False
        if len(values) > KEYS_MAX:
            known = Range(lower=min(values), upper=max(values), nulls=False)
            return bool(self.compared("=", self.column_range(facts), known) & 1)
        return any(self.may_equal(facts, value) for value in values)

    def null_may_meet(self, keys: frozenset[Value], join: Json) -> bool:
        """Whether a NULL key changes the answer."""
        return join["kind"] == "not in" or (join["null_safe"] and None in keys)

    def aggregates(self, question: Json, table: Table) -> list[list[Value]]:
        """Aggregates, of groups that match fully by their statistics."""
        where, schema = question["source"]["where"], table.schema
        if question["group"] is not None:
            return whole(question, self.scan(table, where), schema)
        parts = []
        for group in self.groups(table, where):
            part = self.known_part(question, table, group)
            if part is None:
                rows = self.read(table, group, where)
                part = [aggregated(one, rows, schema) for one in question["aggregates"]]
            else:
                self.saved["row groups by aggregates"] += 1
            parts.append(part)
        combined = [
            self.combined_aggregate(one["function"], [part[at] for part in parts])
            for at, one in enumerate(question["aggregates"])
        ]
        return typed(question, [combined], schema)

    def known_part(self, question: Json, table: Table, group: Group) -> list[Value] | None:
        """What statistics say of a group all of whose rows are counted."""
        lookup = self.lookup(table, group)
        if not self.matches_fully(question["source"]["where"], lookup):
            return None
        return self.known_aggregates(question, group, lookup)

    def combined_aggregate(self, function: str, values: Sequence[Value]) -> Value:
        """One aggregate, of those of the groups."""
        known = [value for value in values if value is not None]
        if function == "count":
            return sum(known)
        return FOLDS[function](known) if known else None

    def known_aggregates(self, question: Json, group: Group, lookup: Lookup) -> list[Value] | None:
        """What statistics say of all aggregates; None where they do not."""
        found = []
        for one in question["aggregates"]:
            facts = None if one["of"] is None else lookup(one["of"])
            is_known, value = self.known_aggregate(one["function"], facts, len(group.rows))
            if not is_known:
                return None
            found.append(value)
        return found

    def known_aggregate(self, function: str, facts: Facts | None, rows: int) -> tuple[bool, Value]:
        """What statistics say of one aggregate, and whether they do."""
        if facts is None:
            return True, rows
        if facts.nulls is None:
            return False, None
        if function == "count":
            return True, rows - facts.nulls
        if facts.nulls == rows:
            return True, None
        return self.known_extreme(function, facts) if function in ("min", "max") else (False, None)

    def known_extreme(self, function: str, facts: Facts) -> tuple[bool, Value]:
        """MIN or MAX, which only bounds that occur can tell; NaN is the greatest."""
        if is_float(facts.type) and facts.nans is None:
            return False, None
        known = self.column_range(facts)
        return known.exact, known.lower if function == "min" else known.upper

    def changed(self, question: Json, table: Table) -> list[Row]:
        """The table after a change: files that cannot match stay, those that match fully go as a whole."""
        where = question["source"]["where"]
        rows: list[Row] = []
        for group in table.groups:
            lookup: Any = self.lookup(table, group)
            if not self.may_match(where, lookup, len(group.rows)):
                self.saved["files kept"] += 1
                rows += group.rows
            elif not self.matches_fully(where, lookup):
                rows += changed(question, group.rows, table.schema)
            else:
                self.saved["files dropped"] += 1
                if question["change"] != "delete":
                    rows += [updated(question, row, table.schema) for row in group.rows]
        return rows
