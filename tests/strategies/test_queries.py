"""Reach and well-formedness of drawn queries: every kind of join, ending and step, and one right answer."""

import random
from collections import Counter

import pytest
from budget import examples
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame, session
from oracles.answers.open_answers import answer_difference
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from pruning.expressions.types import LONG, Kind
from strategies.base.tables import Table, is_nan
from strategies.queries.committed_queries import decode_query, encode_query
from strategies.queries.drawing import queries
from strategies.queries.endings import Ending
from strategies.queries.joins import JoinSyntax
from strategies.queries.queries import Openness, Query
from strategies.queries.source_drawing import source_queries

SEEDS, OF_SEED = 90, 9
STEPS = (
    "filter", "plain filter", "computed filter", "projection", "GROUP BY", "HAVING", "DISTINCT", "window",
    "filter on a window", "UNION ALL", "inner top-k", "inner top-k of keys", "count of LIMIT",
    "scalar subquery", "correlated scalar subquery", "EXISTS of LIMIT", "star join", "table read twice",
)  # fmt: skip
KEYS = (
    "several keys", "either key", "null-safe key", "computed key", "cast key", "non-equi condition",
    "condition on one side", "correlated IN", "several order keys", "order by expression",
)  # fmt: skip
COMBINED = (
    "limit over UNION ALL", "limit over filter", "limit over left join", "limit over right join",
    "limit over full join", "top-k over inner join", "top-k over left join", "top-k over right join",
    "top-k over GROUP BY", "top-k over filter", "offset", "plan a", "plan b", "plan c", "plan d",
)  # fmt: skip
# What stands in the analysed plan of a query with the feature.
IN_PLAN = {
    JoinSyntax.CROSS.value: "Join Cross",
    JoinSyntax.LEFT.value: "Join LeftOuter",
    JoinSyntax.RIGHT.value: "Join RightOuter",
    JoinSyntax.FULL.value: "Join FullOuter",
    JoinSyntax.SEMI.value: "Join LeftSemi",
    JoinSyntax.ANTI.value: "Join LeftAnti",
    JoinSyntax.NOT_IN.value: "NOT ",
    JoinSyntax.EXISTS.value: "exists#",
    "GROUP BY": "Aggregate",
    "DISTINCT": "Distinct",
    "window": "Window",
    "UNION ALL": "Union",
    "scalar subquery": "scalar-subquery#",
    "null-safe key": "<=>",
    "plan a": "GlobalLimit",
    "plan b": "Join Inner",
}


def queries_of_seed(seed_: int) -> list[Query]:
    """Return the first queries of a seed; later ones are much like these."""
    found: list[Query] = []

    @seed(seed_)
    @settings(
        max_examples=OF_SEED,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        # It only draws; how slowly, and how large, is no fault.
        suppress_health_check=list(HealthCheck),
    )
    @given(queries())
    def collect(query: Query) -> None:
        found.append(query)

    collect()
    return found


# Drawing the sample takes seconds.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sample() -> list[Query]:
    """The same queries every time; a search for each feature would take minutes."""
    return [query for seed_ in range(SEEDS) for query in queries_of_seed(seed_)]


@pytest.fixture(scope="module")
def tally(sample: list[Query]) -> Counter[str]:
    return Counter(feature for query in sample for feature in query.features)


def test_queries_reach_every_ending_join_and_step(tally: Counter[str]) -> None:
    wanted = (*(each.value for each in (*Ending, *JoinSyntax)), *STEPS, *KEYS, *COMBINED)
    assert [feature for feature in wanted if not tally[feature]] == []


def test_queries_reach_one_to_three_tables_of_several_blocks(sample: list[Query]) -> None:
    assert {len(query.tables) for query in sample} == {1, 2, 3}
    sizes = [len(table.blocks) for query in sample for table in query.tables]
    assert min(sizes) == 1
    assert max(sizes) >= 10
    assert any(not table.rows for query in sample for table in query.tables)


def test_queries_reach_every_openness_no_limit_and_a_limit_beyond_the_table(sample: list[Query]) -> None:
    assert {query.openness for query in sample} == set(Openness)
    assert {query.limit is None for query in sample} == {False, True}
    assert any(query.limit == 0 for query in sample)
    assert any((query.limit or 0) > len(query.tables[0].rows) for query in sample)
    assert any(query.limit is None and query.offset for query in sample)


def test_queries_reach_null_nan_ties_and_each_family_of_types(sample: list[Query]) -> None:
    columns = [
        (column.type.kind, table.values(column.name))
        for query in sample
        for table in query.tables
        for column in table.columns
    ]
    kinds = {kind for kind, _ in columns}
    wanted = {Kind.INTEGER, Kind.LONG, Kind.DATE, Kind.STRING, Kind.DECIMAL, Kind.DOUBLE, Kind.TIMESTAMP}
    assert wanted <= kinds
    assert any(None in values for _, values in columns)
    assert any(is_nan(value) for _, values in columns for value in values)
    assert any(1 < len(set(values)) < len(values) for _, values in columns)


def test_queries_reach_tables_whose_blocks_are_in_order_and_others(sample: list[Query]) -> None:
    """Sorted blocks are those that pruning acts on."""
    ordered = Counter(_in_order(table) for query in sample for table in query.tables)
    assert ordered[True] > 0.2 * ordered.total()
    assert ordered[False] > 0.2 * ordered.total()


@given(queries() | source_queries())
def test_tables_always_number_their_rows_and_share_no_column_name(query: Query) -> None:
    names = [column.name for table in query.tables for column in table.columns]
    assert len(set(names)) == len(names)
    for table in query.tables:
        assert table.columns[-1].type == LONG
        assert table.values(table.columns[-1].name) == tuple(range(len(table.rows)))


@given(queries() | source_queries())
def test_a_query_is_the_same_when_read_back(query: Query) -> None:
    encoded = encode_query(query)
    assert encode_query(decode_query(encoded)) == encoded


def test_features_stand_in_the_plans_of_spark(spark: SparkSession, sample: list[Query]) -> None:
    """A feature is more than a name: Spark's own plan has what it says."""
    lacking = []
    for feature, text in IN_PLAN.items():
        query = next(each for each in sample if feature in each.features)
        frames = {
            name: rows_frame(spark, table).drop(ROW_ORDINAL) for name, table in query.tables_by_name.items()
        }
        with temporary_views(spark, frames):
            plan = spark.sql(query.sql)._jdf.queryExecution().analyzed().toString()
        if text not in plan:
            lacking.append((feature, query.sql))
    assert lacking == []


@examples(0.2)
@given(queries() | source_queries())
def test_a_query_over_rows_in_another_order_is_right_as_well(spark: SparkSession, query: Query) -> None:
    """QUERY-7. What SQL leaves open is all that the order of rows decides; and no query raises."""
    chance = random.Random(query.sql)
    shuffled = {name: _shuffled(table, chance) for name, table in query.tables_by_name.items()}
    with session(spark):
        expected = unlimited_rows(spark, query)
        frames = {name: rows_frame(spark, table).drop(ROW_ORDINAL) for name, table in shuffled.items()}
        with temporary_views(spark, frames):
            found = spark.sql(query.sql).collect()
    assert answer_difference(query, found, expected) is None


def _shuffled(table: Table, chance: random.Random) -> Table:
    return Table(table.columns, (tuple(chance.sample(table.rows, len(table.rows))),))


def _in_order(table: Table) -> bool:
    """Tell whether the values of the first column never decrease from one block to the next."""
    values = [value for value in table.values(table.columns[0].name) if value is not None]
    return values == sorted(values, key=lambda value: (is_nan(value), value))
