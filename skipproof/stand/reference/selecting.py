"""Scans of the row groups that may match, and of their pages that may match."""

from collections import Counter
from collections.abc import Callable, Sequence
from json import dumps
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
        candidates = self.groups(table, where)
        groups = [group for group in candidates if allowed is None or allowed(self.lookup(table, group))]
        self.saved["row groups by a join"] += len(candidates) - len(groups)
        return self.read_groups(table, where, groups, is_all=allowed is None)

    def read_groups(
        self, table: Table, where: Json, groups: Sequence[Group], *, is_all: bool, needed: int | None = None
    ) -> list[Row]:
        """Return the rows of groups that satisfy a condition, until there are as many as are needed.

        Args:
            is_all: Whether these are all groups that may hold a matching row.
        """
        rows: list[Row] = []
        matching = []
        for group in groups:
            if needed is not None and len(rows) >= needed:
                is_all = False
                break
            selected = self.read(table, group, where)
            rows += selected
            if selected:
                matching.append(group)
        self.remember(table, where, matching, is_complete=is_all)
        return rows

    def remember(self, table: Table, where: Json, groups: list[Group], *, is_complete: bool) -> None:
        """Remember the row groups that had a matching row, if all that may have a matching row were read."""
        if is_complete:
            table.remembered[self.memory_key(where)] = groups

    def memory_key(self, where: Json) -> str:
        """Return the key of a condition in the memory of a table."""
        return dumps(where)

    def groups(self, table: Table, where: Json) -> list[Group]:
        """Return the row groups that may hold a matching row, or those that are remembered to hold one."""
        remembered = table.remembered.get(self.memory_key(where))
        if remembered is not None:
            self.saved["row groups by memory"] += len(table.groups) - len(remembered)
            return remembered
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
