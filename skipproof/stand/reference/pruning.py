"""Pruning of whole questions: by LIMIT, order, joins and changes, and aggregates from statistics alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from skipproof.stand.reference.answering import (
    FOLDS,
    Rows,
    aggregate_value,
    aggregated_answer,
    answer_of_set,
    answer_of_source,
    apply_relation,
    changed_rows,
    join_rows,
    limit_rows,
    selected_values,
    sort_rows,
    updated_row,
)
from skipproof.stand.reference.evaluating import Schema, columns_of, compile_term
from skipproof.stand.reference.ranges import Lookup, Range
from skipproof.stand.reference.selecting import Allowed, ScanRules
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.subqueries import without_subqueries
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row, Value, is_float
from strategies.engines.questions import Json

KEYS_MAX = 10
# The joins below which a condition on the left side may move, and the joins that drop rows of the left or the
# right side without a partner.
_KEEPS_LEFT_WHERE = ("inner", "left", "semi", "anti", "not in")
_LEFT_MUST_MEET = ("inner", "right", "semi")
_RIGHT_MUST_MEET = ("left", "anti", "not in")


class Rules(ScanRules):
    """The rules of the correct engine; a mutant is a subclass."""

    def answer(self, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
        """Return the answer, from as few rows as are proved to be enough."""
        if question["area"] == "subquery":
            question = without_subqueries(
                question, lambda relation: self.relation(relation, tables[relation["table"]])
            )
        table = tables[question["source"]["table"]]
        if question["change"]:
            return selected_values(question, self.changed_table(question, table), table.schema)
        if question.get("set"):
            other = question["set"]["right"]
            right = self.relation(other, tables[other["table"]])
            return answer_of_set(question, self.relation(question["source"], table), right)
        if question.get("window"):
            return answer_of_source(question, *self.relation(question["source"], table))
        if question["join"] is not None:
            rows, schema = self.joined(question, tables)
            return answer_of_source(question, rows, schema)
        if question["aggregates"]:
            return self.aggregates(question, table)
        if question["order"]:
            whole_source = question["source"] | {"order": question["order"], "limit": question["limit"]}
            rows = self.top_rows(whole_source | {"offset": question["offset"]}, table)
            return selected_values(question | {"limit": None, "offset": 0}, rows, table.schema)
        needed = self.rows_needed(question["limit"], question["offset"])
        rows, schema = self.relation(question["source"], table, needed=needed)
        return self.answer_rows(question, rows, schema)

    def answer_rows(self, question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
        """Return the answer's rows that LIMIT and OFFSET leave."""
        return selected_values(question, rows, schema)

    def relation(
        self, relation: Json, table: Table, *, allowed: Allowed | None = None, needed: int | None = None
    ) -> tuple[Rows, Schema]:
        """Return the rows of a relation, or as many of them as are needed."""
        if relation["order"] and relation["limit"] is not None and not relation["distinct"]:
            return self.top_rows(relation, table), table.schema
        if needed is not None and relation["limit"] is None and not relation["distinct"]:
            return self.some_rows(table, relation["where"], needed), table.schema
        return apply_relation(relation, self.scan(table, relation["where"], allowed), table.schema)

    def rows_needed(self, limit: int | None, offset: int) -> int | None:
        """Return the number of rows that LIMIT and OFFSET need; None is all."""
        return None if limit is None else limit + offset

    def some_rows(self, table: Table, where: Json, needed: int) -> list[Row]:
        """Return `needed` or more matching rows, from fully matching groups alone if they have enough."""
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
        """Return the number of rows in groups."""
        return sum(len(group.rows) for group in groups)

    def top_rows(self, relation: Json, table: Table) -> Rows:
        """Return the first rows of an order; skip groups whose rows all come after those already held."""
        needed = self.rows_needed(relation["limit"], relation["offset"])
        best: Rows = []
        for group in self.groups(table, relation["where"]):
            if needed == 0:
                break
            lookup, full = self.lookup(table, group), len(best) == needed
            if full and self.comes_after(relation["order"], lookup, best[-1], table.schema):
                self.saved["row groups by an order"] += 1
                continue
            matching = self.read(table, group, relation["where"])
            best = limit_rows(sort_rows([*best, *matching], relation["order"], table.schema), needed, 0)
        return limit_rows(best, relation["limit"], relation["offset"])

    def comes_after(self, order: Sequence[Json], lookup: Lookup, last: Row, schema: Schema) -> bool:
        """Tell whether the first key puts each row of a group strictly after a row."""
        key = order[0]
        range_ = self.range_of(key["by"], lookup)
        value = compile_term(key["by"], schema)(last)
        extreme = self.first_bound(range_, key)
        if range_.values and (extreme is None or not self.is_before(value, extreme, key)):
            return False
        return not range_.nulls or self.is_before(value, None, key)

    def first_bound(self, range_: Range, key: Json) -> Value:
        """Return the bound of a range that an order puts first."""
        return range_.upper if key["descending"] else range_.lower

    def is_before(self, x: Value, y: Value, key: Json) -> bool:
        """Tell whether an order puts one value strictly before another."""
        if x is None or y is None:
            return (x is None) != (y is None) and (x is None) == key["nulls_first"]
        return bool(x > y if key["descending"] else x < y)

    def joined(self, question: Json, tables: Mapping[str, Table]) -> tuple[Rows, Schema]:
        """Return the rows of one join or two; below a second one neither a condition nor a LIMIT moves."""
        second = question.get("second")
        if second is None:
            return self.join(question, tables)
        rows, schema = self.join(question | {"where": None, "limit": None}, tables)
        other, other_schema = self.relation(second["right"], tables[second["right"]["table"]])
        return join_rows(second, rows, other, (schema, other_schema))

    def join(self, question: Json, tables: Mapping[str, Table]) -> tuple[Rows, Schema]:
        """Return the rows of a join; the side that drops rows without a partner is scanned last, by keys."""
        left = tables[question["source"]["table"]]
        join, source = self.joined_sources(question, left.schema)
        right = tables[join["right"]["table"]]
        if join["kind"] in self.kinds_that_prune_left() and self.may_be_pruned(source):
            right_rows, right_schema = self.relation(join["right"], right)
            keys = self.keys(right_rows, right_schema[join["right_key"]][0])
            allowed = self.group_filter(keys, join, join["left_key"])
            left_rows, left_schema = self.relation(source, left, allowed=allowed)
        else:
            needed = question["limit"] if self.does_limit_move(question) else None
            left_rows, left_schema = self.relation(source, left, needed=needed)
            keys = self.keys(left_rows, left_schema[join["left_key"]][0])
            prunes = join["kind"] in _RIGHT_MUST_MEET and self.may_be_pruned(join["right"])
            allowed = self.group_filter(keys, join, join["right_key"])
            right_rows, right_schema = self.relation(
                join["right"], right, allowed=allowed if prunes else None
            )
        return join_rows(join, left_rows, right_rows, (left_schema, right_schema))

    def does_limit_move(self, question: Json) -> bool:
        """Tell whether LIMIT may apply to the left side, each row of which gives at least one row."""
        return question["join"]["kind"] == "left" and question["where"] is None and not question["order"]

    def kinds_that_prune_left(self) -> tuple[str, ...]:
        """Return the joins that drop rows of the left side without a partner."""
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

    def may_be_pruned(self, relation: Json) -> bool:
        """Tell whether a relation has no LIMIT or OFFSET, so that dropped rows are not replaced by others."""
        return relation["limit"] is None and not relation["offset"]

    def keys(self, rows: Rows, position: int) -> frozenset[Value]:
        """Return the keys of the side that was scanned first, including NULL."""
        return frozenset(row[position] for row in rows)

    def group_filter(self, keys: frozenset[Value], join: Json, name: str) -> Allowed:
        """Return a predicate that tells whether a row group may hold a partner of one of the keys."""
        return lambda lookup: self.may_meet(keys, join, lookup(name))

    def may_meet(self, keys: frozenset[Value], join: Json, facts: Facts) -> bool:
        """Tell whether a column may have a partner of a key; for NOT IN, also a NULL that decides it."""
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

    def null_may_meet(self, keys: frozenset[Value], join: Json) -> bool:
        """Tell whether a NULL key matters to the answer."""
        return join["kind"] == "not in" or (join["null_safe"] and None in keys)

    def aggregates(self, question: Json, table: Table) -> list[list[Value]]:
        """Return the aggregates; groups that match fully are answered by their statistics if possible."""
        where, schema = question["source"]["where"], table.schema
        if question["group"] is not None or any(part.get("distinct") for part in question["aggregates"]):
            return answer_of_source(question, self.scan(table, where), schema)
        parts = []
        for group in self.groups(table, where):
            part = self.aggregates_of_full_group(question, table, group)
            if part is None:
                rows = self.read(table, group, where)
                part = [aggregate_value(aggregate, rows, schema) for aggregate in question["aggregates"]]
            else:
                self.saved["row groups by aggregates"] += 1
            parts.append(part)
        combined = [
            self.combined_aggregate(aggregate["function"], [part[at] for part in parts])
            for at, aggregate in enumerate(question["aggregates"])
        ]
        return aggregated_answer(question, [combined], schema)

    def aggregates_of_full_group(self, question: Json, table: Table, group: Group) -> list[Value] | None:
        """Return the aggregates of a group from statistics; None if a row may not match."""
        lookup = self.lookup(table, group)
        if not self.matches_fully(question["source"]["where"], lookup):
            return None
        return self.aggregates_from_statistics(question, group, lookup)

    def combined_aggregate(self, function: str, values: Sequence[Value]) -> Value:
        """Combine one aggregate of all groups."""
        present = [value for value in values if value is not None]
        if function == "count":
            return sum(present)
        return FOLDS[function](present) if present else None

    def aggregates_from_statistics(self, question: Json, group: Group, lookup: Lookup) -> list[Value] | None:
        """Return all aggregates of a group from its statistics; None if one is unknown."""
        values = []
        for aggregate in question["aggregates"]:
            if isinstance(aggregate["of"], dict) or aggregate.get("where") is not None:
                return None
            facts = None if aggregate["of"] is None else lookup(aggregate["of"])
            is_known, value = self.aggregate_from_statistics(aggregate["function"], facts, len(group.rows))
            if not is_known:
                return None
            values.append(value)
        return values

    def aggregate_from_statistics(self, function: str, facts: Facts | None, rows: int) -> tuple[bool, Value]:
        """Return whether statistics determine one aggregate, and its value."""
        if facts is None:
            return True, rows
        if facts.nulls is None:
            return False, None
        if function == "count":
            return True, rows - facts.nulls
        if facts.nulls == rows:
            return True, None
        return self.extreme_from_statistics(function, facts) if function in ("min", "max") else (False, None)

    def extreme_from_statistics(self, function: str, facts: Facts) -> tuple[bool, Value]:
        """Return whether statistics determine MIN or MAX, and its value; only exact bounds do."""
        if is_float(facts.type) and facts.nans is None:
            return False, None
        range_ = self.column_range(facts)
        return range_.exact, range_.lower if function == "min" else range_.upper

    def changed_table(self, question: Json, table: Table) -> list[Row]:
        """Return the table after a change; files that cannot match, or match fully, are not read."""
        where = question["source"]["where"]
        rows: list[Row] = []
        for group in table.groups:
            lookup: Any = self.lookup(table, group)
            if not self.may_match(where, lookup, len(group.rows)):
                self.saved["files kept"] += 1
                rows += group.rows
            elif not self.matches_fully(where, lookup):
                rows += changed_rows(question, group.rows, table.schema)
            else:
                self.saved["files dropped"] += 1
                if question["change"] != "delete":
                    rows += [updated_row(question, row, table.schema) for row in group.rows]
        return rows
