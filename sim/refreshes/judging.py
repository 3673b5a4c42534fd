"""Judge the lag of each dynamic table at the end of a run, and explain a lag beyond the target."""

from collections.abc import Iterator, Mapping

from dynamic_tables.catalog.graphs import node_of
from dynamic_tables.scheduling.states import Condition, TableState
from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.cloud import Cloud
from sim.refreshes.events import LagJudged

# The reason of a table whose lag beyond its target is not explained, which is a violation.
UNEXPLAINED = ""


def judge_lags(cloud: Cloud, states: Mapping[TableId, TableState], now_us: int) -> Iterator[LagJudged]:
    """Yield a judgement of each table that is late, or that something keeps from being refreshed."""
    upstream = {table: _upstream(cloud, table) for table in states}
    own = {table: _own_reason(cloud, states[table]) for table in states}
    for table, state in states.items():
        status = cloud.scheduler.status(table)
        target_us = (status.lag_us if status else None) or 0
        # Use the true clock, which readers' lags use, too; the scheduler's clock may have been skewed.
        frontier = cloud.account.tables[table].frontier
        lag_us = -1 if frontier is None else now_us - frontier.data_us
        late = target_us > 0 and not 0 <= lag_us <= target_us
        because = own[table]
        if not because and late:
            above = next(
                (source for source in _transitive_upstream(table, upstream) if own.get(source)), None
            )
            because = f"upstream {above}: {own[above]}" if above else UNEXPLAINED
        if late or because:
            yield LagJudged(
                at_us=now_us,
                table=table,
                condition=state.condition.name,
                lag_us=lag_us,
                target_us=target_us,
                because=because,
                unexplained=not because,
            )


def _upstream(cloud: Cloud, table: TableId) -> tuple[TableId, ...]:
    state = cloud.account.catalog.state
    return node_of(state, state.entities[table]).upstream


def _transitive_upstream(
    table: TableId, upstream: Mapping[TableId, tuple[TableId, ...]]
) -> Iterator[TableId]:
    open_tables, visited = [*upstream[table]], {table}
    while open_tables:
        source = open_tables.pop()
        if source not in visited:
            visited.add(source)
            yield source
            open_tables += upstream.get(source, ())


def _own_reason(cloud: Cloud, state: TableState) -> str:
    """Return what keeps a table itself from its target lag; empty if nothing does."""
    status = cloud.scheduler.status(state.table)
    if state.suspended is not None:
        return f"suspended: {state.suspended}"
    if state.missing:
        return f"missing: {', '.join(state.missing)}"
    if state.errors:
        return "its query fails"
    if status is None or status.period_us is None or status.lag_us is None:
        return "" if state.condition is Condition.UNKNOWN else "not scheduled"
    if status.period_us + status.cost_us >= status.lag_us:
        return f"infeasible: period {status.period_us} us and cost {status.cost_us} us"
    return UNEXPLAINED
