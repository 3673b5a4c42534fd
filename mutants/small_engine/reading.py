"""Mutants that read the statistics of a column wrongly, or those of another column."""

from collections.abc import Mapping
from dataclasses import replace

from mutants.small_engine.mutating import mutant
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import FALSE, TRUE, Lookup, Range
from skipproof.stand.reference.statistics import Facts
from skipproof.stand.reference.tables import Group, Partition, Table
from skipproof.stand.reference.values import Nan, Value, is_float
from strategies.engines.questions import Json


@mutant(
    "may_be_null",
    "NOSTATS NULLSAFE TOPK",
    "apache/datafusion#25239",
    "An absent count of NULLs is read as zero.",
)
def absent_count_is_zero(self: Rules, facts: Facts) -> bool:
    return bool(facts.nulls)


@mutant("may_be_null", "NOSTATS NULLSAFE", "apache/datafusion#3044", "A count of NULLs cannot be unknown.")
def count_cannot_be_unknown(self: Rules, facts: Facts) -> bool:
    assert facts.nulls is not None, "non-nullable column null_count has no value"
    return facts.nulls > 0


@mutant(
    "column_range",
    "NOSTATS NULLSAFE",
    "apache/datafusion#18241",
    "A column without statistics has neither NULLs nor values.",
)
def nothing_known_is_nothing(self: Rules, facts: Facts) -> Range:
    if facts.nulls is None and not facts.bounded and facts.partition is None:
        return Range(nulls=False, values=False)
    return Rules.column_range(self, facts)


@mutant("column_range", "NOSTATS PART", "delta-io/delta-kernel-rs#700", "Statistics are assumed to be there.")
def statistics_are_assumed(self: Rules, facts: Facts) -> Range:
    assert facts.nulls is not None, "missing statistics"
    return Rules.column_range(self, facts)


@mutant("may_have_value", "NOSTATS", "apache/hudi#10389", "Missing statistics count every row as NULL.")
def absent_count_is_all(self: Rules, facts: Facts) -> bool:
    return facts.nulls is not None and facts.nulls < facts.rows


@mutant(
    "column_range",
    "ALLNULL STR",
    "apache/parquet-java#1660",
    "Texts that are all NULL have no bounds to ask.",
)
def bounds_of_nulls(self: Rules, facts: Facts) -> Range:
    assert facts.type != "string" or facts.nulls != facts.rows, "null statistics"
    return Rules.column_range(self, facts)


@mutant(
    "facts_of", "ALLNULL NOSTATS SCHEMA", "pola-rs/polars#27021", "A column of NULLs alone has no statistics."
)
def statistics_of_unequal_length(self: Rules, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
    facts = Rules.facts_of(self, group, name, positions)
    assert facts.type or not facts.rows, "lengths do not match"
    return facts


@mutant("may_be_nan", "NAN", "apache/iceberg-cpp#685", "An absent count of NaN is read as zero.")
def absent_nan_count_is_zero(self: Rules, facts: Facts) -> bool:
    return is_float(facts.type) and bool(facts.nans)


@mutant("may_be_nan", "NAN NEG", "apache/arrow#28074", "Bounds are taken to hold NaN as well.")
def nan_within_bounds(self: Rules, facts: Facts) -> bool:
    return Rules.may_be_nan(self, facts) and not facts.bounded


@mutant(
    "may_have_value",
    "NAN BADSTATS",
    "apache/iceberg#6517",
    "What has no bounds, for NaN has none, is all NULL.",
)
def no_bounds_is_no_value(self: Rules, facts: Facts) -> bool:
    return Rules.may_have_value(self, facts) and (facts.bounded or not facts.nans)


@mutant(
    "nan_test_truths",
    "NAN",
    "pola-rs/polars#22289",
    "Whether there is NaN is told by bounds that leave it out.",
)
def nan_told_by_bounds(self: Rules, x: Range) -> int:
    truths = Rules.nan_test_truths(self, x)
    return truths if x.lower is None or isinstance(x.lower, Nan) else truths & ~TRUE


@mutant("comparison_truths", "NEG", "apache/datafusion#561", "!= asks that both bounds differ.")
def both_bounds_differ(self: Rules, name: str, x: Range, y: Range) -> int:
    truths = Rules.comparison_truths(self, name, x, y)
    touches = x.lower is not None and y.lower in (x.lower, x.upper)
    return truths & ~TRUE if name == "!=" and touches else truths


@mutant(
    "comparison_truths",
    "NULLS NAN NEG",
    "apache/iceberg-python#3521",
    "What may hold NULL or NaN is taken to differ.",
)
def nulls_differ(self: Rules, name: str, x: Range, y: Range) -> int:
    if name == "!=" and (x.nulls or isinstance(x.upper, Nan)):
        return TRUE
    return Rules.comparison_truths(self, name, x, y)


@mutant(
    "null_test_truths", "NULLS NULLSAFE", "apache/datafusion#9230", "IS NOT NULL asks for no NULL at all."
)
def not_null_asks_for_none(self: Rules, name: str, x: Range) -> int:
    return FALSE if name == "is not null" and x.nulls else Rules.null_test_truths(self, name, x)


@mutant("null_test_truths", "NULLS NULLSAFE", "pola-rs/polars#11069", "IS NULL is told by the bounds.")
def null_told_by_bounds(self: Rules, name: str, x: Range) -> int:
    return FALSE if name == "is null" and x.lower is not None else Rules.null_test_truths(self, name, x)


@mutant("null_test_truths", "NULLS NULLSAFE", "delta-io/delta-rs#1496", "IS NULL finds files of NULLs alone.")
def null_asks_for_all(self: Rules, name: str, x: Range) -> int:
    return FALSE if name == "is null" and x.values else Rules.null_test_truths(self, name, x)


@mutant(
    "matches_fully",
    "NULLS LIMIT",
    "apache/datafusion#21907",
    "What is never false is taken to be always true.",
)
def never_false_is_true(self: Rules, where: Json, lookup: Lookup) -> bool:
    return where is None or not self.truths(where, lookup) & FALSE


@mutant(
    "matches_fully",
    "EMPTY PART",
    "trinodb/trino#21253",
    "No partition column, and so every one, is enforced.",
)
def nothing_is_enforced(self: Rules, where: Json, lookup: Lookup) -> bool:
    if where is None or where.get("call") != "or":
        return Rules.matches_fully(self, where, lookup)
    return all(not self.truths(part, lookup) & FALSE for part in where["of"] if lookup("a").partition)


@mutant(
    "matches_fully", "OR EXPR", "apache/drill#1552", "A filter is dropped of which a part is always true."
)
def part_is_enough(self: Rules, where: Json, lookup: Lookup) -> bool:
    if where is not None and where.get("call") == "and":
        return any(self.matches_fully(part, lookup) for part in where["of"])
    return Rules.matches_fully(self, where, lookup)


@mutant(
    "partition_facts",
    "PART NULLS",
    "facebookincubator/velox#9276",
    "The partition of NULL has nothing known of it.",
)
def partition_without_null(self: Rules, facts: Facts, partition: Partition) -> Facts:
    if partition.value is None:
        return Facts(type=facts.type, rows=facts.rows, nulls=0, nans=0)
    return Rules.partition_facts(self, facts, partition)


@mutant("groups", "RANGE", "delta-io/delta-rs#1063", "The files that cannot match are those that are read.")
def inverted_groups(self: Rules, table: Table, where: Json) -> list[Group]:
    groups = Rules.groups(self, table, where)
    return groups if where is None else [group for group in table.groups if group not in groups]


@mutant(
    "dictionary_values",
    "DICT NULLSAFE NEG",
    "apache/parquet-java#2291",
    "A dictionary is taken to have all values, though NULL is not in it.",
)
def dictionary_without_null(self: Rules, facts: Facts) -> list[Value]:
    assert facts.dictionary is not None
    return list(facts.dictionary)


@mutant("lookup", "BLOOM", "apache/doris#65487", "The bloom filter of the first row group serves for all.")
def bloom_of_the_first_group(self: Rules, table: Table, group: Group) -> Lookup:
    own, first = Rules.lookup(self, table, group), Rules.lookup(self, table, table.groups[0])
    return lambda name: replace(own(name), bloom=own(name).bloom and first(name).bloom)


@mutant("lookup", "PAGE", "milvus-io/milvus#51440", "Two row groups are judged by the first of them.")
def statistics_of_the_neighbour(self: Rules, table: Table, group: Group) -> Lookup:
    at = table.groups.index(group)
    return Rules.lookup(self, table, table.groups[at - at % 2])


@mutant(
    "facts_of", "SCHEMA", "apache/datafusion#2170", "Statistics are found by a column's place in the table."
)
def statistics_by_place(self: Rules, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
    if positions[name] >= len(group.chunks):
        return self.absent_column_facts(group)
    return self.cached_facts(group, group.chunks[positions[name]])


@mutant("facts_of", "NESTED NOSTATS", "delta-io/delta-rs#3173", "A field of a struct stands for the column.")
def statistics_of_a_field(self: Rules, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
    for chunk in group.chunks:
        if chunk.path.split(".")[-1] == name:
            return self.cached_facts(group, chunk)
    return self.absent_column_facts(group)


@mutant("facts_of", "NESTED", "apache/spark#14067", "The top-level column of a field's name stands for it.")
def statistics_of_the_same_name(self: Rules, group: Group, name: str, positions: Mapping[str, int]) -> Facts:
    for chunk in group.chunks:
        if chunk.path == name:
            return self.cached_facts(group, chunk)
    return Rules.facts_of(self, group, name, positions)


@mutant(
    "facts_of",
    "NESTED",
    "apache/paimon#9423",
    "A column whose name has a dot stands for the field of its path.",
)
def statistics_of_the_dotted_name(
    self: Rules, group: Group, name: str, positions: Mapping[str, int]
) -> Facts:
    facts = Rules.facts_of(self, group, name, positions)
    own = next((chunk for chunk in group.chunks if chunk.column == name), None)
    alike = [chunk for chunk in group.chunks if own is not None and chunk.path == own.path]
    return self.cached_facts(group, alike[-1]) if alike else facts


@mutant(
    "facts_of",
    "NESTED NULLS",
    "apache/iceberg#17561",
    "NULLs of a struct are not counted as those of its fields.",
)
def nulls_of_structs_are_left_out(
    self: Rules, group: Group, name: str, positions: Mapping[str, int]
) -> Facts:
    facts = Rules.facts_of(self, group, name, positions)
    own = next((chunk for chunk in group.chunks if chunk.column == name and chunk.path != name), None)
    if own is None or facts.nulls is None:
        return facts
    struct = own.path.partition(".")[0] + "."
    fields = [chunk.cells for chunk in group.chunks if chunk.column and chunk.path.startswith(struct)]
    empty = sum(all(cell is None for cell in cells) for cells in zip(*fields, strict=True))
    return replace(facts, nulls=facts.nulls - empty)


@mutant(
    "lookup", "SCHEMA PART", "duckdb/duckdb#12578", "A column has its place in the first file everywhere."
)
def place_in_the_first_file(self: Rules, table: Table, group: Group) -> Lookup:
    places = {chunk.column: at for at, chunk in enumerate(table.groups[0].chunks)}

    def find_facts(name: str) -> Facts:
        at = places.get(name, len(group.chunks))
        return (
            self.cached_facts(group, group.chunks[at])
            if at < len(group.chunks)
            else self.absent_column_facts(group)
        )

    return find_facts


@mutant(
    "remember",
    "CACHE LIMIT",
    "JanusGraph/janusgraph#4941",
    "What a LIMIT ended early is remembered as if it were complete.",
)
def part_is_remembered(
    self: Rules, table: Table, where: Json, groups: list[Group], *, is_complete: bool
) -> None:
    Rules.remember(self, table, where, groups, is_complete=True)


@mutant(
    "memory_key",
    "CACHE SUBQUERY IN",
    "ClickHouse/ClickHouse#87091",
    "Conditions that differ in the values of a subquery are remembered as one.",
)
def values_are_forgotten(self: Rules, where: Json) -> str:
    def without_members(term: Json) -> Json:
        if term is None or "of" not in term:
            return term
        operands = term["of"][:1] if term["call"] == "in" else term["of"]
        return term | {"of": [without_members(operand) for operand in operands]}

    return Rules.memory_key(self, without_members(where))


@mutant(
    "memory_key",
    "CACHE PART",
    "pingcap/tidb#33031",
    "What the first execution of a prepared statement leaves serves every value of its parameters.",
)
def parameters_are_forgotten(self: Rules, where: Json) -> str:
    def without_values(term: Json) -> Json:
        if term is None or "column" in term:
            return term
        if "literal" in term:
            return term | {"literal": None} if "parameter" in term else term
        return term | {"of": [without_values(operand) for operand in term["of"]]}

    return Rules.memory_key(self, without_values(where))
