"""Mutants that take a subquery for another one, and those that prune by the keys of a wrong join."""

from collections.abc import Mapping, Sequence

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.tables import Table
from skipproof.stand.reference.values import Value
from strategies.engines.questions import Json


@mutant(
    "is_filtered_only",
    "SUBQUERY LIMIT AGG",
    "apache/datafusion#8048",
    "The rows of a subquery are counted by statistics that know nothing of its LIMIT.",
)
def count_without_the_limit(self: Rules, relation: Json) -> bool:
    return True


@mutant(
    "scalar",
    "SUBQUERY AGG",
    "spiceai/spiceai#11599",
    "Statistics answer for a relation as if it had no condition.",
)
def scalar_without_the_filter(self: Rules, question: Json, table: Table) -> Value:
    return Rules.scalar(self, question | {"source": question["source"] | {"where": None}}, table)


@mutant(
    "membership",
    "SUBQUERY NULLSAFE NEG",
    "apache/auron#1898",
    "NULL among the values of a subquery is left out, which NOT IN needs.",
)
def null_of_a_subquery(self: Rules, term: Json, values: Sequence[Value], type_: str) -> Json:
    return Rules.membership(self, term, [value for value in values if value is not None], type_)


@mutant(
    "membership",
    "SUBQUERY NULLSAFE NEG",
    "prestodb/presto#6622",
    "NULL IN no values is NULL.",
)
def null_in_nothing(self: Rules, term: Json, values: Sequence[Value], type_: str) -> Json:
    if values or term["query"] != "in":
        return Rules.membership(self, term, values, type_)
    return {"call": "!=", "of": [*term["of"], *term["of"]]}


@mutant(
    "membership",
    "SUBQUERY NULLSAFE NEG",
    "duckdb/duckdb#9456",
    "EXISTS is NULL where what it compares is.",
)
def exists_is_null(self: Rules, term: Json, values: Sequence[Value], type_: str) -> Json:
    result = Rules.membership(self, term, values, type_)
    return result["of"][0] if result.get("call") == "is true" else result


@mutant(
    "with_values",
    "SUBQUERY OR",
    "rjwalters/vibesql#3367",
    "IN under OR becomes a semi join, which leaves out what only the other part of OR keeps.",
)
def members_under_or(self: Rules, question: Json, tables: Mapping[str, Table]) -> Json:
    result = Rules.with_values(self, question, tables)
    where = question["source"]["where"]
    if where.get("call") != "or" or "query" not in where["of"][0]:
        return result
    first = result["source"]["where"]["of"][0]
    return result | {"source": result["source"] | {"where": first}}


@mutant(
    "left_key",
    "JOIN",
    "apache/datafusion#20213",
    "Of two joins, the keys of one prune by the column of the other.",
)
def keys_of_the_other_join(self: Rules, join: Json, schema: Schema) -> str:
    first, key = next(iter(schema)), Rules.left_key(self, join, schema)
    return first if schema[first][1] == schema[key][1] else key
