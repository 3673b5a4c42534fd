"""Queries as warehouses get them: drawn from published distributions, and from invented ones where none are.

Published, of Snowflake's and BigQuery's customers:

==========================================  ==============================================  ==============
what                                        value                                           source
==========================================  ==============================================  ==============
SELECTs with LIMIT, and with top-k          2.60 %, of which 0.37 without predicate; 5.55 % [P] Table 1
k                                           97 % at most 10,000, 99.9 % at most 2,000,000,  [P] Figure 6
                                            most 0 or 1
queries without a filter                    under 10 %                                      [M] 4
queries selecting under 1 %, under 0.01 %   over 60 %, 25 %                                 [M] 4
filters that could prune and prune nothing  27 %                                            [P] 3.3
probe blocks that a join prunes             mean 79 %, best 99.99 %, median at least 72 %;  [P] 6
                                            13 % of queries prune all
==========================================  ==============================================  ==============

Invented: how these go together (each is drawn by itself), where in a table a query looks (evenly), how
selectivities lie between the published points (evenly in their logarithm), how often k is 0 or 1 (60 %), and
when queries come (evenly). A filter that prunes nothing is one on a column that is not clustered.

Of joins also: how many queries have one (20 % of those without LIMIT), that it is an inner join of two tables
by the column that clusters the probe side, of which nothing else is asked, and that what a join prunes lies
evenly between the best and as low an end as gives the published mean; the median is 79 % then. The build side
is asked for the range of keys that leaves so many blocks, or for none.
"""

import random

from sim.kernel.model import Model


class Workload(Model, frozen=True, kw_only=True):
    """Queries of one spread table, which come within `span_us`.

    Attributes:
        build: Another spread table with as many keys, the build side of joins; without it there are none.
    """

    table: str
    build: str = ""
    queries: int
    span_us: int


_WITHOUT_FILTER = 0.09
_UNCLUSTERED = 0.27
# Cumulative shares of queries, each with the range of shares of rows that they select.
_SELECTIVITIES = ((0.25, 1e-6, 1e-4), (0.61, 1e-4, 1e-2), (1.0, 1e-2, 1.0))
_LIMITED, _LIMITED_WITHOUT_FILTER, _TOP_K = 0.0260, 0.0037, 0.0555
_JOINED = 0.20
# The share of joins that prune all probe blocks, and the range of shares that the others prune.
_ALL_PRUNED, _PRUNED = 0.13, (0.5173, 0.9999)
_LIMITS = ((0.60, 0, 1), (0.97, 2, 10_000), (0.999, 10_001, 2_000_000), (1.0, 2_000_001, 20_000_000))


def draw_queries(draw: random.Random, workload: Workload, keys: int) -> list[tuple[int, str]]:
    """Draw the queries, each with its time of arrival in us.

    Args:
        keys: The number of values of the columns.
    """
    return sorted(
        (draw.randrange(workload.span_us), _text(draw, workload, keys)) for _ in range(workload.queries)
    )


def _text(draw: random.Random, workload: Workload, keys: int) -> str:
    kind = draw.random()
    is_limited, is_top_k = kind < _LIMITED, _LIMITED <= kind < _LIMITED + _TOP_K
    if workload.build and not is_limited and not is_top_k and draw.random() < _JOINED:
        return _join(draw, workload, keys)
    share = _LIMITED_WITHOUT_FILTER / _LIMITED if is_limited else _WITHOUT_FILTER
    where = "" if draw.random() < share else f" WHERE {_condition(draw, keys)}"
    order = f" ORDER BY {_column(draw)} DESC" if is_top_k else ""
    limit = f" LIMIT {_limit(draw)}" if is_limited or is_top_k else ""
    return f"SELECT * FROM {workload.table}{where}{order}{limit}"


def _join(draw: random.Random, workload: Workload, keys: int) -> str:
    table, build = workload.table, workload.build
    condition = f"{build}.k >= {keys}"
    if draw.random() >= _ALL_PRUNED:
        condition = f"{build}.k {_within(draw, keys, 1 - draw.uniform(*_PRUNED))}"
    return f"SELECT * FROM {table} JOIN {build} ON {table}.k = {build}.k WHERE {condition}"


def _condition(draw: random.Random, keys: int) -> str:
    at = draw.random()
    low, high = next((low, high) for most, low, high in _SELECTIVITIES if at <= most)
    within = _within(draw, keys, low * (high / low) ** draw.random())
    return f"{_column(draw)} {within}"


def _within(draw: random.Random, keys: int, share: float) -> str:
    """Draw a range that holds a share of the keys."""
    width = max(1, round(keys * share))
    begin = draw.randrange(max(1, keys - width))
    return f"BETWEEN {begin} AND {begin + width - 1}"


def _column(draw: random.Random) -> str:
    return "u" if draw.random() < _UNCLUSTERED else "k"


def _limit(draw: random.Random) -> int:
    at = draw.random()
    low, high = next((low, high) for most, low, high in _LIMITS if at <= most)
    return draw.randint(low, high)
