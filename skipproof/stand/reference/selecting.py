"""Scans of the row groups that may match, and of their pages that may match."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from skipproof.stand.reference.evaluating import columns_of, filter_rows
from skipproof.stand.reference.judging import TruthRules
from skipproof.stand.reference.ranges import TRUE, Lookup
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row
from strategies.engines.questions import Json

# A predicate of row groups that a join allows, from the facts about their columns.
Allowed: TypeAlias = Callable[[Lookup], bool]


class ScanRules(TruthRules):
    """The rules of scans; a mutant replaces one of the methods. `saved` counts what was not read."""

    def __init__(self) -> None:
        self.saved: Counter[str] = Counter()

    def scan(self, table: Table, where: Json, allowed: Allowed | None = None) -> list[Row]:
        """Return the rows of a table that satisfy a condition, from the row groups that are allowed."""
        rows: list[Row] = []
        for group in self.groups(table, where):
            if allowed is not None and not allowed(self.lookup(table, group)):
                self.saved["row groups by a join"] += 1
                continue
            rows += self.read(table, group, where)
        return rows

    def groups(self, table: Table, where: Json) -> list[Group]:
        """Return the row groups that may hold a matching row."""
        kept = [
            group
            for group in table.groups
            if self.may_match(where, self.lookup(table, group), len(group.rows))
        ]
        self.saved["row groups"] += len(table.groups) - len(kept)
        return kept

    def lookup(self, table: Table, group: Group) -> Lookup:
        """Return a function from column names to the facts about a group."""
        positions = {name: position for name, (position, _) in table.schema.items()}
        return lambda name: self.facts_of(group, name, positions)

    def read(self, table: Table, group: Group, where: Json) -> list[Row]:
        """Return the rows of a group that satisfy a condition; it is not evaluated if all rows satisfy it."""
        if where is None:
            return list(group.rows)
        lookup = self.lookup(table, group)
        if self.matches_fully(where, lookup):
            self.saved["filters"] += 1
            return list(group.rows)
        return filter_rows(self.rows_selected(group, where, lookup), where, table.schema)

    def rows_selected(self, group: Group, where: Json, lookup: Lookup) -> Sequence[Row]:
        """Return the rows of the pages that may match."""
        selected = self.matching_positions(where, lookup, len(group.rows))
        if len(selected) == len(group.rows):
            return group.rows
        self.saved["pages"] += 1
        return [row for at, row in enumerate(group.rows) if at in selected]

    def matching_positions(self, where: Json, lookup: Lookup, count: int) -> set[int]:
        """Return the positions of rows that may match, from the pages of each column."""
        if where.get("call") in ("and", "or"):
            parts = [self.matching_positions(part, lookup, count) for part in where["of"]]
            return self.intersect(parts) if where["call"] == "and" else self.unite(parts)
        columns = columns_of(where)
        if len(columns) != 1:
            return set(range(count))
        (column,) = columns
        return self.page_positions(where, lookup(column), count)

    def intersect(self, parts: Sequence[set[int]]) -> set[int]:
        """Return the positions that all parts of an AND select."""
        return set.intersection(*parts)

    def unite(self, parts: Sequence[set[int]]) -> set[int]:
        """Return the positions that some part of an OR selects."""
        return set.union(*parts)

    def page_positions(self, where: Json, facts: Facts, count: int) -> set[int]:
        """Return the positions of the rows of a column's pages that may match."""
        if not facts.pages:
            return set(range(count))
        chosen: set[int] = set()
        for ordinal, (start, end, page) in enumerate(facts.pages):
            if self.page_may_match(where, page):
                chosen.update(self.page_rows(facts, ordinal, start, end))
        return chosen

    def page_may_match(self, where: Json, page: Facts) -> bool:
        """Tell whether some row of a page may match."""
        return bool(self.truths(where, lambda name: page) & TRUE)

    def page_rows(self, facts: Facts, ordinal: int, start: int, end: int) -> range:
        """Return the positions of a page's rows."""
        return range(start, end)
