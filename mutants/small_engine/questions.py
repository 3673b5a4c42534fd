"""Mutants that leave out what a LIMIT, an order, a join, an aggregate or a change needs."""

from collections.abc import Sequence

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.answering import (
    Rows,
    aggregated_schema,
    limit_rows,
    selected_values,
    sort_rows,
)
from skipproof.stand.reference.evaluating import Schema, filter_rows
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import FALSE, TRUE, Lookup
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Table
from skipproof.stand.reference.values import Row, Value
from strategies.engines.questions import Json


@mutant(
    "top_rows",
    "TOPK PAGE",
    "apache/datafusion#24355",
    "The rows selected of a dropped group are taken of the next.",
)
def selection_of_the_dropped(self: Rules, relation: Json, table: Table) -> Rows:
    needed, carried = self.rows_needed(relation["limit"], relation["offset"]), None
    best: Rows = []
    for group in self.groups(table, relation["where"]):
        lookup, where = self.lookup(table, group), relation["where"]
        chosen = None if where is None else self.matching_positions(where, lookup, len(group.rows))
        if (
            needed
            and len(best) >= needed
            and self.comes_after(relation["order"], lookup, best[-1], table.schema)
        ):
            carried = chosen
            continue
        rows = [row for at, row in enumerate(group.rows) if carried is None or at in carried]
        best = sort_rows([*best, *filter_rows(rows, where, table.schema)], relation["order"], table.schema)
        best = limit_rows(best, needed, 0)
    return limit_rows(best, relation["limit"], relation["offset"])


@mutant(
    "top_rows",
    "TOPK",
    "duckdb/duckdb#16269",
    "Beside a condition that is always true, the others are not asked.",
)
def filters_are_skipped(self: Rules, relation: Json, table: Table) -> Rows:
    where = relation["where"]
    if where is None or where.get("call") != "and":
        return Rules.top_rows(self, relation, table)
    rows: list[Row] = []
    for group in self.groups(table, where):
        lookup = self.lookup(table, group)
        true = any(self.truths(part, lookup) == TRUE for part in where["of"])
        rows += group.rows if true else self.read(table, group, where)
    return limit_rows(sort_rows(rows, relation["order"], table.schema), relation["limit"], relation["offset"])


@mutant(
    "comes_after",
    "TOPK NULLSAFE NULLS",
    "apache/datafusion#25239",
    "NULLs that come first are not looked for.",
)
def nulls_never_come_first(
    self: Rules, order: Sequence[Json], lookup: Lookup, last: Row, schema: Schema
) -> bool:
    return Rules.comes_after(self, [order[0] | {"nulls_first": False}], lookup, last, schema)


@mutant(
    "comes_after", "TOPK ALLNULL", "duckdb/duckdb#21160", "A row group whose keys are all NULL is dropped."
)
def no_key_comes_after(self: Rules, order: Sequence[Json], lookup: Lookup, last: Row, schema: Schema) -> bool:
    key_range = self.range_of(order[0]["by"], lookup)
    return not key_range.values or Rules.comes_after(self, order, lookup, last, schema)


@mutant(
    "rows_needed",
    "LIMIT TOPK",
    "apache/datafusion#12423",
    "A LIMIT that moves down leaves its OFFSET behind.",
)
def offset_is_lost(self: Rules, limit: int | None, offset: int) -> int | None:
    return limit


@mutant("rows_needed", "LIMIT TOPK", "duckdb/duckdb#22656", "A LIMIT that is not set is one of 0 rows.")
def unset_limit_is_zero(self: Rules, limit: int | None, offset: int) -> int | None:
    return offset if limit is None and offset else Rules.rows_needed(self, limit, offset)


@mutant("some_rows", "LIMIT", "apache/spark#14583", "Rows are counted for a LIMIT before they are filtered.")
def limit_before_the_filter(self: Rules, table: Table, where: Json, needed: int) -> list[Row]:
    rows: list[Row] = []
    for group in self.groups(table, where):
        rows += limit_rows(group.rows, max(0, needed - len(rows)), 0)
    return filter_rows(rows, where, table.schema)


@mutant(
    "some_rows",
    "LIMIT RANGE",
    "apache/datafusion#21907",
    "Groups that match in part are counted as if they did fully.",
)
def part_counts_as_full(self: Rules, table: Table, where: Json, needed: int) -> list[Row]:
    rows: list[Row] = []
    counted = 0
    for group in self.groups(table, where):
        if counted < needed:
            rows += self.read(table, group, where)
            counted += len(group.rows)
    return rows


@mutant("answer_rows", "LIMIT", "apache/datafusion#14204", "A LIMIT above another is taken to be met by it.")
def inner_limit_is_enough(self: Rules, question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    limited = question["source"]["limit"] is not None
    return selected_values(question | ({"limit": None} if limited else {}), rows, schema)


@mutant("does_limit_move", "LIMIT JOIN", "apache/spark#19647", "A LIMIT moves below one side of a full join.")
def limit_below_a_full_join(self: Rules, question: Json) -> bool:
    return question["join"]["kind"] == "full" or Rules.does_limit_move(self, question)


@mutant(
    "joined_sources",
    "LIMIT JOIN",
    "apache/datafusion#14335",
    "A LIMIT moves below both sides of a full join.",
)
def limit_below_both_sides(self: Rules, question: Json, schema: Schema) -> tuple[Json, Json]:
    join, source = Rules.joined_sources(self, question, schema)
    if join["kind"] != "full" or question["limit"] is None:
        return join, source
    cut_off = {"limit": question["limit"]}
    right = join["right"] if join["right"]["limit"] is not None else join["right"] | cut_off
    return join | {"right": right}, source if source["limit"] is not None else source | cut_off


@mutant("may_be_pruned", "JOIN LIMIT", "duckdb/duckdb#22963", "The keys of a join move below a LIMIT.")
def keys_below_a_limit(self: Rules, relation: Json) -> bool:
    return True


@mutant(
    "kinds_that_prune_left",
    "JOIN EMPTY",
    "duckdb/duckdb#21757",
    "A left join leaves out rows that meet none.",
)
def left_join_loses_rows(self: Rules) -> tuple[str, ...]:
    return (*Rules.kinds_that_prune_left(self), "left")


@mutant("keys", "JOIN", "apache/datafusion#17188", "The keys of the first part of a side stand for all.")
def keys_of_the_first_part(self: Rules, rows: Rows, position: int) -> frozenset[Value]:
    return Rules.keys(self, rows[: (len(rows) + 1) // 2], position)


@mutant(
    "null_may_meet",
    "JOIN NULLSAFE NEG",
    "apache/datafusion#23103",
    "NULL is left out before NOT IN has seen it.",
)
def null_of_not_in(self: Rules, keys: frozenset[Value], join: Json) -> bool:
    return join["kind"] != "not in" and Rules.null_may_meet(self, keys, join)


@mutant(
    "null_may_meet", "JOIN NULLSAFE", "facebookincubator/velox#9276", "NULL keys that meet are taken not to."
)
def null_meets_nothing(self: Rules, keys: frozenset[Value], join: Json) -> bool:
    return bool(join["kind"] == "not in")


@mutant(
    "extreme_from_statistics",
    "AGG NAN",
    "apache/iceberg#15069",
    "MAX is the upper bound, in which NaN is not.",
)
def extremes_without_nan(self: Rules, function: str, facts: Facts) -> tuple[bool, Value]:
    return facts.bounded and facts.exact, facts.lower if function == "min" else facts.upper


@mutant(
    "aggregate_from_statistics",
    "AGG NOSTATS",
    "apache/datafusion#25239",
    "COUNT takes an absent count of NULLs for zero.",
)
def count_without_nulls(self: Rules, function: str, facts: Facts | None, rows: int) -> tuple[bool, Value]:
    if function == "count" and facts is not None and facts.nulls is None:
        return True, rows
    return Rules.aggregate_from_statistics(self, function, facts, rows)


@mutant(
    "combined_aggregate",
    "AGG SCHEMA NULLS",
    "apache/datafusion#25147",
    "MIN of nothing is below every value.",
)
def nothing_is_least(self: Rules, function: str, values: Sequence[Value]) -> Value:
    return None if function == "min" and None in values else Rules.combined_aggregate(self, function, values)


@mutant("aggregates_of_full_group", "AGG", "pola-rs/polars#19236", "Bounds serve for what a filter has left.")
def bounds_after_a_filter(self: Rules, question: Json, table: Table, group: Group) -> list[Value] | None:
    return self.aggregates_from_statistics(question, group, self.lookup(table, group))


@mutant(
    "filtered_aggregate",
    "AGG",
    "apache/calcite#5079",
    "MIN and MAX are found without their FILTER.",
)
def filter_of_an_aggregate(self: Rules, aggregate: Json, rows: int, lookup: Lookup) -> tuple[bool, Value]:
    return Rules.filtered_aggregate(self, aggregate | {"where": None}, rows, lookup)


@mutant(
    "aggregate_of_expression",
    "AGG EXPR",
    "duckdb/duckdb#22515",
    "MIN and MAX are the bounds, though no row need have these as values.",
)
def bounds_are_values(self: Rules, aggregate: Json, lookup: Lookup) -> tuple[bool, Value]:
    range_ = self.range_of(aggregate["of"], lookup)
    value = range_.lower if aggregate["function"] == "min" else range_.upper
    return aggregate["function"] in ("min", "max") and value is not None, value


@mutant(
    "are_parts_combined",
    "AGG",
    "apache/spark#35873",
    "The distinct values of parts are counted, and the counts added.",
)
def distinct_counts_are_added(self: Rules, question: Json) -> bool:
    return question["group"] is None


@mutant(
    "answer_from_parts",
    "AGG",
    "XiaoMi/Gaea#297",
    "HAVING is asked of each part before the parts are combined.",
)
def having_of_each_part(
    self: Rules, question: Json, parts: Sequence[list[Value]], table: Table
) -> list[list[Value]]:
    having, schema = question.get("having"), aggregated_schema(question, table.schema)
    if having is None or not parts:
        return Rules.answer_from_parts(self, question, parts, table)
    left = [part for part in parts if filter_rows([part], having, schema)]
    return Rules.answer_from_parts(self, question | {"having": None}, left, table) if left else []


@mutant(
    "parts_of_aggregates",
    "AGG RANGE",
    "restatedev/restate#5214",
    "Of MIN and MAX, what cannot raise MAX is dropped, though it has the least value.",
)
def greatest_hides_the_least(self: Rules, question: Json, table: Table) -> list[list[Value]]:
    names = [part["of"] for part in question["aggregates"] if part["function"] == "max"]
    if not names or not isinstance(names[0], str):
        return Rules.parts_of_aggregates(self, question, table)
    position, kept, greatest = table.schema[names[0]][0], list[Group](), None
    for group in table.groups:
        upper = self.column_range(self.lookup(table, group)(names[0])).upper
        if upper is None or greatest is None or upper > greatest:
            kept.append(group)
            rows = self.read(table, group, question["source"]["where"])
            cells = [row[position] for row in rows if row[position] is not None]
            greatest = max(cells if greatest is None else [*cells, greatest], default=None)
    return Rules.parts_of_aggregates(self, question, Table(table.schema, kept))


@mutant(
    "changed_table",
    "NULLS NEG",
    "apache/iceberg-python#3521",
    "A file of which no row is false is deleted.",
    tables="own",
)
def deletes_what_is_never_false(self: Rules, question: Json, table: Table) -> list[Row]:
    where = question["source"]["where"]
    lookups = [self.lookup(table, group) for group in table.groups]
    kept = [
        group
        for group, lookup in zip(table.groups, lookups, strict=True)
        if question["change"] != "delete" or not group.rows or self.truths(where, lookup) & FALSE
    ]
    return Rules.changed_table(self, question, Table(table.schema, kept))
