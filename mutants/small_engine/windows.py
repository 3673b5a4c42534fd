"""Mutants that leave out what a window or a set operation needs."""

from collections.abc import Mapping

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.answering import Rows, limit_rows, sort_rows, window_rows
from skipproof.stand.reference.evaluating import Schema, filter_rows
from skipproof.stand.reference.joining import Side
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.tables import Table
from skipproof.stand.reference.values import Value
from strategies.engines.questions import Json


@mutant(
    "first_places",
    "WINDOW TOPK",
    "MonetDB/MonetDB#7990",
    "A bound of RANK becomes a LIMIT, which cuts off rows that are equal to the last.",
)
def ties_are_cut(self: Rules, window: Json, rows: Rows, schema: Schema) -> Rows:
    return limit_rows(sort_rows(rows, window["order"], schema), window["at_most"], 0)


@mutant(
    "does_bound_prune",
    "WINDOW TOPK",
    "apache/doris#24727",
    "Rows are counted for DENSE_RANK, of which distinct keys count.",
)
def dense_rank_counts_rows(self: Rules, window: Json) -> bool:
    return Rules.does_bound_prune(self, window | {"function": "rank"})


@mutant(
    "does_bound_prune",
    "WINDOW TOPK",
    "ArroyoSystems/arroyo#26",
    "A partition of a window is not looked at, so that places are those among all rows.",
)
def partition_is_ignored(self: Rules, window: Json) -> bool:
    return Rules.does_bound_prune(self, window | {"partition": None})


@mutant(
    "window_candidates",
    "WINDOW TOPK",
    "apache/paimon#8458",
    "The first rows are chosen before the condition leaves some of them out.",
)
def bound_before_the_filter(self: Rules, question: Json, table: Table) -> Side:
    window, where = question["window"], question["source"]["where"]
    rows = window_rows(window, table.rows, table.schema)
    return filter_rows(rows, where, table.schema), table.schema


@mutant(
    "window_candidates",
    "WINDOW LIMIT",
    "ClickHouse/ClickHouse#23125",
    "A LIMIT applies to the rows before the window.",
)
def limit_below_a_window(self: Rules, question: Json, table: Table) -> Side:
    rows, schema = self.relation(question["source"], table)
    return limit_rows(rows, self.rows_needed(question["limit"], question["offset"]), 0), schema


@mutant(
    "do_nulls_meet",
    "SET NULLSAFE",
    "facebookincubator/axiom#1235",
    "NULLs of set operations are compared by =, so that they meet nothing.",
)
def nulls_of_sets_differ(self: Rules, operation: Json) -> bool:
    return False


@mutant(
    "combined_sides",
    "SET NULLSAFE",
    "apache/doris#50951",
    "The = that INTERSECT implies is asked of its sides, which leaves out NULL.",
)
def intersection_without_null(self: Rules, question: Json, left: Side, right: Side) -> list[list[Value]]:
    if question["set"]["kind"] == "intersect":
        at = left[1][question["select"][0]][0]
        left = [row for row in left[0] if row[at] is not None], left[1]
    return Rules.combined_sides(self, question, left, right)


@mutant(
    "combined_sides",
    "SET NEG",
    "ClickHouse/ClickHouse#98871",
    "Of several columns, each is excluded by itself.",
)
def first_column_is_excluded(self: Rules, question: Json, left: Side, right: Side) -> list[list[Value]]:
    if question["set"]["kind"] == "except":
        at, other = left[1][question["select"][0]][0], right[1][question["set"]["columns"][0]][0]
        keys = self.keys(right[0], other)
        left = [row for row in left[0] if row[at] is None or row[at] not in keys], left[1]
    return Rules.combined_sides(self, question, left, right)


@mutant(
    "combined_sides",
    "SET",
    "ClickHouse/ClickHouse#96801",
    "EXCEPT ALL and INTERSECT ALL see only whether a row is there, not how often.",
)
def multiplicities_are_lost(self: Rules, question: Json, left: Side, right: Side) -> list[list[Value]]:
    if question["set"]["all"] and question["set"]["kind"] != "union":
        right = [*right[0]] * len(left[0]), right[1]
    return Rules.combined_sides(self, question, left, right)


@mutant(
    "set_operation",
    "SET LIMIT",
    "MonetDB/MonetDB-old#2090",
    "A LIMIT moves below a set operation that leaves rows out.",
)
def limit_below_a_set(self: Rules, question: Json, tables: Mapping[str, Table]) -> list[list[Value]]:
    source = question["source"]
    if source["limit"] is None and not source["distinct"]:
        source = source | {"limit": question["limit"]}
    return Rules.set_operation(self, question | {"source": source}, tables)
