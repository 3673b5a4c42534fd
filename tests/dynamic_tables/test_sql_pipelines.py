"""Whole pipelines in SQL: created, filled, refreshed by their lags, read."""

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog.ddl import CreateView
from dynamic_tables.catalog.lags import MINUTE_US
from dynamic_tables.refreshes.accounts import Account
from dynamic_tables.refreshes.actions import AlreadyRefreshed
from dynamic_tables.scheduling.events import Finished, StartRefresh, Tick, Timer
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.sql.binding import bind, name_lookup
from dynamic_tables.sql.statements import read_statement
from dynamic_tables.storage.clock import Clock
from dynamic_tables.values.changes import Action, Change

SECOND_US = 1_000_000

ARRIVALS = """
CREATE DYNAMIC TABLE s.train_arrivals TARGET_LAG = DOWNSTREAM WAREHOUSE = w AS
SELECT e.payload:train::INTEGER AS train_id, e.payload:late::INTEGER AS late_minutes
FROM s.train_events e WHERE e.kind = 'arrival'
"""
DELAYED = """
CREATE DYNAMIC TABLE s.delayed_trains TARGET_LAG = '1 minute' WAREHOUSE = w AS
SELECT train_id, count_if(late_minutes > 10) AS delays FROM s.train_arrivals GROUP BY ALL
"""


def in_session(name):
    return name if "." in name else f"s.{name}"


class Pipeline:
    """An account in SQL with workers that take no time."""

    def __init__(self):
        self.log = []
        self.account = Account(backend=BagBackend(), bind=bind, log=self.log.append)
        self.clock = Clock(0)
        self.scheduler = Scheduler()
        self.now_us = 0
        self.timer_us = None

    def execute(self, text):
        state = self.account.catalog.state
        lookup = name_lookup(state, in_session, self.account.engine.columns_in(state))
        self.tell(self.account.execute(read_statement(text, lookup), clock=self.clock, wall_us=self.now_us))

    def tell(self, event):
        for command in self.scheduler.step(self.now_us, event):
            if isinstance(command, Timer):
                self.timer_us = command.at_us
            elif isinstance(command, StartRefresh):
                self.refresh(command)

    def refresh(self, order):
        engine = self.account.engine
        try:
            plan = engine.begin(order.table, order.data_us, now_us=self.now_us)
            engine.commit(engine.compute(plan), clock=self.clock, wall_us=self.now_us, now_us=self.now_us)
        except AlreadyRefreshed:
            return
        self.tell(Finished(order.table, order.data_us, True))

    def insert(self, name, **rows):
        changes = tuple(Change(Action.INSERT, row_id, row) for row_id, row in rows.items())
        self.account.write({name: changes}, clock=self.clock, wall_us=self.now_us)

    def advance(self, seconds):
        until_us = self.now_us + seconds * SECOND_US
        while self.timer_us <= until_us:
            self.now_us, self.timer_us = self.timer_us, until_us + 1
            self.tell(Tick())
        self.now_us = until_us

    def lag_us(self, name):
        table = self.account.tables[self.account.catalog.state.get(name).identity]
        return self.now_us - table.frontier.data_us


def test_the_trains_of_the_paper_run_end_to_end():
    """R-DVS-11. Listing 1: extraction below, an aggregate of a minute above, never later than that."""
    pipeline = Pipeline()
    pipeline.execute("CREATE TABLE s.train_events (kind TEXT, payload VARIANT)")
    pipeline.execute(ARRIVALS)
    pipeline.execute(DELAYED)
    for minute in range(5):
        late = {"train": minute % 2, "late": 5 * minute}
        pipeline.insert("s.train_events", **{f"r{minute}": ("arrival", late), f"x{minute}": ("other", late)})
        pipeline.advance(60)
        assert pipeline.lag_us("s.delayed_trains") <= MINUTE_US
    pipeline.advance(48)
    assert sorted(pipeline.account.read("s.delayed_trains").values()) == [(0, 1), (1, 1)]
    assert {told.action.value for told in pipeline.log[2:]} == {"INCREMENTAL", "NO_DATA"}


def test_views_in_sql_are_expanded_where_they_stand():
    """R-DVS-05, R-DVS-44. Names in a view are of its schema; another body is seen."""
    pipeline = Pipeline()
    pipeline.execute("CREATE TABLE s.b (a INTEGER)")
    pipeline.execute("CREATE VIEW s.v AS SELECT a FROM b WHERE a > 1")
    pipeline.execute("CREATE DYNAMIC TABLE t.d TARGET_LAG = '1 minute' WAREHOUSE = w AS SELECT a FROM s.v")
    pipeline.insert("s.b", one=(1,), two=(2,))
    pipeline.advance(48)
    assert list(pipeline.account.read("t.d").values()) == [(2,)]
    pipeline.execute("CREATE OR REPLACE VIEW s.v AS SELECT a FROM b WHERE a < 2")
    assert isinstance(pipeline.account.catalog.log[-1].statement, CreateView)
    pipeline.advance(48)
    assert list(pipeline.account.read("t.d").values()) == [(1,)]
    assert pipeline.log[-1].action.value == "REINITIALIZE"
