"""Check the states that are reported of tables against the facts; a trace alone does not show these."""

from collections.abc import Callable

from dynamic_tables.catalog.graphs import nodes
from dynamic_tables.refreshes.accounts import Account
from dynamic_tables.scheduling.events import StartRefresh
from dynamic_tables.scheduling.policy import SILENCE_US_MAX
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.states import Condition, TableState, table_state
from dynamic_tables.storage.frontiers import TableId
from sim.kernel import draws
from sim.kernel.trace import Event
from sim.refreshes import events as trace_events
from sim.refreshes.node_clocks import NodeClocks

RUNNING = (Condition.EXECUTING, Condition.INITIALIZING, Condition.SILENT)


class StateChecks:
    """The reported states of dynamic tables, and checks of them."""

    def __init__(
        self, env: draws.Clock, *, account: Account, clocks: NodeClocks, emit: Callable[[Event], None]
    ) -> None:
        self._env = env
        self._account = account
        self._clocks = clocks
        self._emit = emit
        # Refreshes that were ordered and not reported as ended: a delayed message may keep the scheduler from
        # knowing that they ended.
        self._working: dict[TableId, tuple[StartRefresh, int]] = {}

    def expected(self, scheduler: Scheduler) -> dict[TableId, TableState]:
        """Return the state of each dynamic table as it would be reported now (R-DVS-37)."""
        now = self._clocks.wall_us(0)
        return {
            table: table_state(node, scheduler.status(table), now_us=now)
            for table, node in nodes(self._account.catalog.state).items()
        }

    def begin(self, order: StartRefresh) -> None:
        """Note that a refresh was ordered."""
        self._working[order.table] = order, self._env.now_us

    def end(self, table: TableId, data_us: int, attempt: int) -> None:
        """Note that a refresh was reported as ended; the attempt -1 stands for any."""
        if table in self._working:
            order, _ = self._working[table]
            if order.data_us == data_us and attempt in (-1, order.attempt):
                del self._working[table]

    def forget(self) -> None:
        """Forget the refreshes that a lost scheduler ordered."""
        self._working.clear()

    def check(self, scheduler: Scheduler) -> None:
        """Record each reported state that contradicts the facts."""
        catalog = self._account.catalog.state
        for table, state in self.expected(scheduler).items():
            frontier = self._account.tables[table].frontier
            what = ""
            if state.condition is Condition.UNKNOWN:
                what = "the scheduler does not know it"
            elif state.data_us is not None and (frontier is None or frontier.data_us < state.data_us):
                what = f"it is told at {state.data_us} us, and is at {frontier and frontier.data_us}"
            elif (state.suspended is None) != (catalog.entities[table].suspended is None):
                what = f"the catalog says {catalog.entities[table].suspended}"
            elif self._is_working(table) and state.condition not in RUNNING and state.attempt == 0:
                what = "it is refreshed"
            if what:
                self._record_misstatement(table, state, what)

    def check_restart(self, scheduler: Scheduler) -> None:
        """Record each table that a new scheduler takes for older or newer than its frontier."""
        for table, state in self.expected(scheduler).items():
            frontier = self._account.tables[table].frontier
            if state.data_us != (frontier and frontier.data_us):
                what = f"a new scheduler has it at {state.data_us} us, and it is at {frontier}"
                self._record_misstatement(table, state, what)

    def _is_working(self, table: TableId) -> bool:
        """Tell whether a table is being refreshed; after a long silence its refresh may be taken for lost."""
        if table not in self._working:
            return False
        return self._env.now_us - self._working[table][1] <= 2 * SILENCE_US_MAX

    def _record_misstatement(self, table: TableId, state: TableState, what: str) -> None:
        self._emit(
            trace_events.Misstated(at_us=self._env.now_us, table=table, told=state.condition.name, what=what)
        )
