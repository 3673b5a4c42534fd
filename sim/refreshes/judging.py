"""How each dynamic table stands to its target lag at the end, and why if it is beyond."""

from collections.abc import Iterator, Mapping

from dynamic_tables.catalog.graphs import node_of
from dynamic_tables.scheduling.states import Condition, TableState
from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.cloud import Cloud
from sim.refreshes.events import Judged

# A table that is beyond its target lag without one of these is at fault.
UNEXPLAINED = ""


def judged(cloud: Cloud, states: Mapping[TableId, TableState], now_us: int) -> Iterator[Judged]:
    """Of each table what is so at the end."""
    upstream = {table: _upstream(cloud, table) for table in states}
    own = {table: _why(cloud, states[table]) for table in states}
    for table, state in states.items():
        status = cloud.scheduler.status(table)
        target_us = (status.lag_us if status else None) or 0
        # The clock of the scheduler may be skewed no more; what readers see is by the true one.
        frontier = cloud.account.tables[table].frontier
        lag_us = -1 if frontier is None else now_us - frontier.data_us
        late = target_us > 0 and not 0 <= lag_us <= target_us
        because = own[table]
        if not because and late:
            above = next((one for one in _all_above(table, upstream) if own.get(one)), None)
            because = f"upstream {above}: {own[above]}" if above else UNEXPLAINED
        if late or because:
            yield Judged(
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


def _all_above(table: TableId, upstream: Mapping[TableId, tuple[TableId, ...]]) -> Iterator[TableId]:
    open_tables, seen = [*upstream[table]], {table}
    while open_tables:
        one = open_tables.pop()
        if one not in seen:
            seen.add(one)
            yield one
            open_tables += upstream.get(one, ())


def _why(cloud: Cloud, state: TableState) -> str:
    """What keeps a table from its target lag by itself; empty if nothing does."""
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
