"""Which rows a scan reads: row groups that may match, and in these the pages that may."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from skipproof.stand.reference.evaluating import columns_of, filtered
from skipproof.stand.reference.judging import Judging
from skipproof.stand.reference.ranges import TRUE, Lookup
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row
from strategies.engines.questions import Json

# Which row groups a scan may take, by what is known of their columns.
Allowed: TypeAlias = Callable[[Lookup], bool]


class Selecting(Judging):
    """Scans; each part is a method that a mutant may replace. What was saved is counted in `saved`."""

    def __init__(self) -> None:
        self.saved: Counter[str] = Counter()

    def scan(self, table: Table, where: Json, allowed: Allowed | None = None) -> list[Row]:
        """The rows of a table that satisfy a condition, without groups that are not allowed."""
        rows: list[Row] = []
        for group in self.groups(table, where):
            if allowed is not None and not allowed(self.lookup(table, group)):
                self.saved["row groups by a join"] += 1
                continue
            rows += self.read(table, group, where)
        return rows

    def groups(self, table: Table, where: Json) -> list[Group]:
        """The row groups that may hold a row of the answer."""
        found = [
            group
            for group in table.groups
            if self.may_match(where, self.lookup(table, group), len(group.rows))
        ]
        self.saved["row groups"] += len(table.groups) - len(found)
        return found

    def lookup(self, table: Table, group: Group) -> Lookup:
        """What is known of the columns of a group."""
        positions = {name: position for name, (position, _) in table.schema.items()}
        return lambda name: self.facts_of(group, name, positions)

    def read(self, table: Table, group: Group, where: Json) -> list[Row]:
        """The rows of a group that satisfy a condition, which is not asked where all do."""
        if where is None:
            return list(group.rows)
        lookup = self.lookup(table, group)
        if self.matches_fully(where, lookup):
            self.saved["filters"] += 1
            return list(group.rows)
        return filtered(self.rows_selected(group, where, lookup), where, table.schema)

    def rows_selected(self, group: Group, where: Json, lookup: Lookup) -> Sequence[Row]:
        """The rows of the pages that may match."""
        selected = self.selected(where, lookup, len(group.rows))
        if len(selected) == len(group.rows):
            return group.rows
        self.saved["pages"] += 1
        return [row for at, row in enumerate(group.rows) if at in selected]

    def selected(self, where: Json, lookup: Lookup, count: int) -> set[int]:
        """The positions of rows that may match, by the pages of each column."""
        if where.get("call") in ("and", "or"):
            parts = [self.selected(part, lookup, count) for part in where["of"]]
            return self.both(parts) if where["call"] == "and" else self.either(parts)
        columns = columns_of(where)
        if len(columns) != 1:
            return set(range(count))
        (column,) = columns
        return self.by_pages(where, lookup(column), count)

    def both(self, parts: Sequence[set[int]]) -> set[int]:
        """AND of selections."""
        return set.intersection(*parts)

    def either(self, parts: Sequence[set[int]]) -> set[int]:
        """OR of selections."""
        return set.union(*parts)

    def by_pages(self, where: Json, facts: Facts, count: int) -> set[int]:
        """The rows of the pages of a column that may match."""
        if not facts.pages:
            return set(range(count))
        chosen: set[int] = set()
        for ordinal, (start, end, page) in enumerate(facts.pages):
            if self.page_may_match(where, page):
                chosen.update(self.page_rows(facts, ordinal, start, end))
        return chosen

    def page_may_match(self, where: Json, page: Facts) -> bool:
        """Whether some row of a page may be in the answer."""
        return bool(self.truths(where, lambda name: page) & TRUE)

    def page_rows(self, facts: Facts, ordinal: int, start: int, end: int) -> range:
        """The positions of a page's rows."""
        return range(start, end)
