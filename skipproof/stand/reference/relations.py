"""Relations: the rows of a table that a condition, a LIMIT, an order or a window leaves."""

from collections.abc import Callable, Sequence

from skipproof.stand.reference.answering import Rows, TopRows, apply_relation, limit_rows, window_rows
from skipproof.stand.reference.evaluating import Schema, compile_term
from skipproof.stand.reference.ranges import Lookup, Range
from skipproof.stand.reference.selecting import Allowed, ScanRules
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row, Value
from strategies.engines.questions import Json

# The functions of windows that give no row a lower place if rows after it are left out.
_BOUNDED_WINDOWS = ("row_number", "rank")


class RelationRules(ScanRules):
    """The rules for one relation; a mutant replaces one of the methods."""

    def relation(
        self, relation: Json, table: Table, *, allowed: Allowed | None = None, needed: int | None = None
    ) -> tuple[Rows, Schema]:
        """Return the rows of a relation, or as many of them as are needed."""
        if relation["order"] and relation["limit"] is not None and not relation["distinct"]:
            return self.top_rows(relation, table), table.schema
        if needed is not None and self.is_filtered_only(relation):
            return self.some_rows(table, relation["where"], needed), table.schema
        return apply_relation(relation, self.scan(table, relation["where"], allowed), table.schema)

    def is_filtered_only(self, relation: Json) -> bool:
        """Tell whether a relation has all rows that satisfy its condition, if it has one."""
        return not relation["distinct"] and self.may_be_pruned(relation)

    def may_be_pruned(self, relation: Json) -> bool:
        """Tell whether a relation has no LIMIT or OFFSET, so that dropped rows are not replaced by others."""
        return relation["limit"] is None and not relation["offset"]

    def rows_needed(self, limit: int | None, offset: int) -> int | None:
        """Return the number of rows that LIMIT and OFFSET need; None is all."""
        return None if limit is None else limit + offset

    def some_rows(self, table: Table, where: Json, needed: int) -> list[Row]:
        """Return `needed` or more matching rows, from fully matching groups alone if they have enough."""
        if needed == 0:
            return []
        candidates = groups = self.groups(table, where)
        full = [group for group in groups if self.matches_fully(where, self.lookup(table, group))]
        if self.counted_rows(full) >= needed:
            self.saved["row groups by a limit"] += len(groups) - len(full)
            groups = full
        return self.read_groups(table, where, groups, is_all=groups is candidates, needed=needed)

    def counted_rows(self, groups: Sequence[Group]) -> int:
        """Return the number of rows in groups."""
        return sum(len(group.rows) for group in groups)

    def top_rows(self, relation: Json, table: Table) -> Rows:
        """Return the rows that an order and a LIMIT leave."""
        needed, order = self.rows_needed(relation["limit"], relation["offset"]), relation["order"]
        rows = self.first_rows(relation, table, needed, TopRows(order, table.schema, needed))
        return limit_rows(rows, relation["limit"], relation["offset"])

    def first_rows(
        self, relation: Json, table: Table, needed: int | None, cut: Callable[[Rows], Rows]
    ) -> Rows:
        """Return the first rows of an order; skip groups whose rows all come after those already held.

        Args:
            relation: Its condition and its order.
            needed: The number of rows after which others do not count, unless they are equal to the last.
            cut: Returns the rows, in order, that count if there are no others. It gets those that it returned
                last before the rest.
        """
        best: Rows = []
        for group in self.groups(table, relation["where"]):
            if needed == 0:
                break
            lookup, full = self.lookup(table, group), needed is not None and len(best) >= needed
            if full and self.comes_after(relation["order"], lookup, best[(needed or 0) - 1], table.schema):
                self.saved["row groups by an order"] += 1
                continue
            best = [*best, *self.read(table, group, relation["where"])]
            if needed is not None and len(best) >= needed:
                best = cut(best)
        return cut(best)

    def window_candidates(self, question: Json, table: Table) -> tuple[Rows, Schema]:
        """Return rows among which are all that a window keeps; places among them are those among all."""
        window, source = question["window"], question["source"]
        if not self.is_filtered_only(source) or not self.does_bound_prune(window):
            return self.relation(source, table)
        if not window["order"]:
            return self.relation(source, table, needed=window["at_most"])
        rows = self.first_rows(
            source | {"order": window["order"]},
            table,
            window["at_most"],
            lambda rows: self.first_places(window, rows, table.schema),
        )
        return rows, table.schema

    def does_bound_prune(self, window: Json) -> bool:
        """Tell whether rows that come after as many others as the window keeps are not in the answer."""
        return window["function"] in _BOUNDED_WINDOWS and window["partition"] is None

    def first_places(self, window: Json, rows: Rows, schema: Schema) -> Rows:
        """Return the rows that a window keeps, with all that are equal to the last, in order."""
        return window_rows(window, rows, schema)

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
