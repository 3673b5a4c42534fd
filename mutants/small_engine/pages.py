"""Mutants that select wrong rows of a row group, or apply too little of a condition to them."""

from collections.abc import Sequence

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.evaluating import columns_of, filter_rows
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row
from strategies.engines.questions import Json


@mutant(
    "page_rows", "PAGE", "apache/datafusion#4744", "A page's rows begin after as many as the page before has."
)
def rows_of_the_page_before(self: Rules, facts: Facts, ordinal: int, start: int, end: int) -> range:
    sizes = [end - start for start, end, _ in facts.pages]
    moved = sum(sizes[:ordinal][1:]) + (sizes[ordinal] if ordinal else 0)
    return range(moved, moved + end - start)


@mutant("page_rows", "PAGE", "trinodb/trino#9587", "The first row of a page is passed over.")
def first_row_is_passed(self: Rules, facts: Facts, ordinal: int, start: int, end: int) -> range:
    return range(start + (ordinal > 0), end)


@mutant(
    "page_rows",
    "PAGE NESTED NULLS",
    "apache/parquet-java#1527",
    "Rows that are NULL are not counted in pages.",
)
def nulls_are_not_counted(self: Rules, facts: Facts, ordinal: int, start: int, end: int) -> range:
    missed = sum(page.nulls or 0 for _, _, page in facts.pages[:ordinal])
    return range(start - missed, end - missed)


@mutant("intersect", "PAGE", "apache/datafusion#4002", "A selection is applied to what another has left.")
def selections_one_after_another(self: Rules, parts: Sequence[set[int]]) -> set[int]:
    left = sorted(parts[0])
    for part in parts[1:]:
        left = [row for at, row in enumerate(left) if at in part]
    return set(left)


@mutant(
    "groups", "PAGE", "trinodb/trino#20267", "Reading stops where the pages of a row group are ruled out."
)
def stops_at_ruled_out_pages(self: Rules, table: Table, where: Json) -> list[Group]:
    groups = []
    for group in Rules.groups(self, table, where):
        if where is not None and not self.matching_positions(
            where, self.lookup(table, group), len(group.rows)
        ):
            break
        groups.append(group)
    return groups


@mutant(
    "read", "PART EXPR", "apache/datafusion#16588", "Beside a condition on the partition no other is applied."
)
def partition_alone(self: Rules, table: Table, group: Group, where: Json) -> list[Row]:
    name = next(iter(table.schema))
    if where is None or where["call"] != "and" or not self.lookup(table, group)(name).partition:
        return Rules.read(self, table, group, where)
    conditions = [part for part in where["of"] if columns_of(part) == {name}]
    return filter_rows(group.rows, {"call": "and", "of": conditions or where["of"]}, table.schema)


@mutant(
    "read", "PART DICT", "pola-rs/polars#23113", "The condition on a partition is removed once it has pruned."
)
def partition_is_enough(self: Rules, table: Table, group: Group, where: Json) -> list[Row]:
    name = next(iter(table.schema))
    if where is None or not self.lookup(table, group)(name).partition:
        return Rules.read(self, table, group, where)
    return list(group.rows) if columns_of(where) == {name} else Rules.read(self, table, group, where)


@mutant(
    "read",
    "SCHEMA NESTED",
    "apache/datafusion#25268",
    "A condition that a file cannot apply is dropped for it.",
)
def condition_dropped(self: Rules, table: Table, group: Group, where: Json) -> list[Row]:
    missing = {name for name in table.schema if not any(chunk.column == name for chunk in group.chunks)}
    if where is not None and columns_of(where) & missing:
        return list(group.rows)
    return Rules.read(self, table, group, where)
