"""What must hold in a small world at every step; a `Violation` begins with the promise's id."""

from small_queries import bag, evaluated

from dynamic_tables.catalog.graphs import node_of, nodes
from dynamic_tables.catalog.lags import PERIODS_US
from dynamic_tables.refreshes.actions import RefreshAction
from dynamic_tables.scheduling.events import Fault, Finished, Trigger
from dynamic_tables.scheduling.policy import ATTEMPTS_MAX, ERRORS_MAX
from dynamic_tables.scheduling.scheduler import TICK_US
from dynamic_tables.scheduling.states import Condition, table_state
from dynamic_tables.storage.versions import NoVersion, Purged
from dynamic_tables.values.errors import UserError
from pruning.errors import InputError

# How a table is told to be while a worker with a heartbeat refreshes it.
RUNNING = (Condition.EXECUTING, Condition.INITIALIZING)


class Violation(AssertionError):
    """A promise is broken; the text begins with its id."""


class Promises:
    """The checks of a world; they read its account, scheduler and workers."""

    def count_errors(self, event):
        """R-DVS-34, by hand: consecutive errors of scheduled refreshes, until a success."""
        if isinstance(event, Finished):
            if self.live.pop((event.table, event.data_us), None):
                self.errors[event.table] = 0
        elif event.fault is not Fault.SYSTEM or event.attempt + 1 == ATTEMPTS_MAX:
            order = self.live.get((event.table, event.data_us))
            if order is None or order.attempt != event.attempt:
                return
            del self.live[event.table, event.data_us]
            if event.fault is Fault.USER and order.trigger is Trigger.SCHEDULED:
                self.errors[event.table] = self.errors.get(event.table, 0) + 1

    def is_healthy(self, node):
        status = self.scheduler.status(node.table)
        return status.suspended is None and not node.missing and status.errors == 0

    def is_healthy_above(self, table, healthy):
        """Whether nothing is wrong with a table or what it reads; tables that nobody times are not late."""
        upstream = self.node(table).upstream
        return healthy[table] and all(self.is_healthy_above(source, healthy) for source in upstream)

    def check_errors(self, table):
        """R-DVS-34: a table with too many errors is suspended."""
        status = self.scheduler.status(table)
        if status.errors > ERRORS_MAX and status.suspended is None:
            raise Violation(f"R-DVS-34 {table} is not suspended after {status.errors} errors")

    def check_order(self, order):
        """R-DVS-72, 08: what it reads has the timestamp. R-DVS-30: it does not run. R-DVS-73."""
        node = self.node(order.table)
        if node is None:
            return
        for source in self.upstream_then(node, order.data_us):
            try:
                self.account.tables[source].refreshed_at(order.data_us)
            except NoVersion as error:
                if any(order.data_us <= horizon_us for horizon_us in self.purged):
                    continue
                raise Violation(f"R-DVS-72 {order} starts before {source} has it") from error
            except Purged:
                continue
        alive = (work for work in self.works if not work.silent and not work.gone)
        running = [work.order for work in alive if work.order.table == order.table]
        if running:
            raise Violation(f"R-DVS-30 {order} starts while {running} run")
        if order.trigger is Trigger.SCHEDULED:
            if order.attempt == 0 and node.suspended is not None:
                raise Violation(f"R-DVS-34 {order} though it is suspended: {node.suspended}")
            self.check_tick(order, node)
        frontier = self.account.tables[order.table].frontier
        if order.attempt == 0 and frontier is not None and frontier.data_us > order.data_us:
            raise Violation(f"R-DVS-04 {order} goes back from {frontier.data_us}")

    def upstream_then(self, node, data_us):
        """What it reads, now and as of the timestamp; of other tables the refresh itself will tell."""
        then = self.account.catalog.as_of(max(data_us, node.created_us))
        entity = then.entities.get(node.table)
        return [] if entity is None else [u for u in node_of(then, entity).upstream if u in node.upstream]

    def check_tick(self, order, node):
        """R-DVS-73: a tick, of a canonical period."""
        status = self.scheduler.status(order.table)
        if order.data_us % TICK_US:
            raise Violation(f"R-DVS-73 {order} is no tick")
        assert status.period_us is None or status.period_us in PERIODS_US

    def check_periods(self):
        """R-DVS-74: after a tick no period is shorter than one upstream."""
        for table, node in nodes(self.account.catalog.state).items():
            own_us = self.scheduler.status(table).period_us
            above = [self.scheduler.status(source).period_us for source in node.upstream]
            if own_us is not None and any(us is not None and us > own_us for us in above):
                raise Violation(f"R-DVS-74 the period of {table} is {own_us}, those upstream are {above}")

    def check_commit(self, work, before):
        """R-DVS-02: contents equal the query at the data timestamp. R-DVS-04: which went forward."""
        table_id, data_us, *_ = work.order
        table = self.account.tables[table_id]
        frontier = table.frontier
        if before is not None and frontier.data_us < before.data_us:
            raise Violation(f"R-DVS-04 {table_id} went back")
        if work.plan.action is RefreshAction.INCREMENTAL and work.plan.changed_count == 0:
            raise Violation(f"R-DVS-23 {work.plan} is not NO_DATA")
        if frontier.data_us == data_us:
            self.check_contents(table_id)

    def check_contents(self, table_id):
        """R-DVS-02, with row ids."""
        table = self.account.tables[table_id]
        held = table.contents(table.latest.number)
        entity = self.account.catalog.state.entities.get(table_id)
        if entity is None:
            return
        try:
            right = evaluated(self.account, entity, table.frontier.data_us)
        except Purged:
            return
        except (InputError, UserError) as error:
            raise Violation(f"R-DVS-02 {table_id} was refreshed, and its query fails: {error}") from error
        if dict(held) != dict(right):
            raise Violation(f"R-DVS-02 {table_id} holds {bag(held)} and should hold {bag(right)}")

    def check_states(self):
        """R-DVS-37: the state of each table can be told, and agrees with what runs."""
        running = {work.order.table for work in self.works if not work.gone and not work.silent}
        for table, node in nodes(self.account.catalog.state).items():
            told = table_state(node, self.scheduler.status(table), now_us=self.now_us)
            if told.condition is Condition.UNKNOWN:
                raise Violation(f"R-DVS-37 {table} is not known")
            if (told.suspended is None) != (node.suspended is None):
                raise Violation(f"R-DVS-34 {table} is {told.suspended}, and in the catalog {node.suspended}")
            frontier = self.account.tables[table].frontier
            if told.data_us is not None and (frontier is None or frontier.data_us < told.data_us):
                raise Violation(f"R-DVS-38 {table} is told at {told.data_us}, with {frontier}")
            if table in running and told.condition not in RUNNING:
                raise Violation(f"R-DVS-37 {table} runs and is told idle")
