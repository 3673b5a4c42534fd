"""The model of the cloud around dynamic tables: frozen numbers with units, no process."""

from sim.kernel.model import Model
from sim.kernel.scenario_schema import Count, Positive

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


class RefreshWarehouse(Model, frozen=True, kw_only=True):
    """Workers that compute refreshes; a refresh that does not change data needs none (R-DVS-23).

    Attributes:
        workers: The number of refreshes that it computes at once.
        fixed_us, row_us: The cost of a refresh: a fixed part, and a part for each changed row of its sources,
        or for each row if all are read (R-DVS-27).
        full_row_us: The part for each row if all are read, where it is another; None: `row_us`.
    """

    name: str = "w"
    workers: Positive = 2
    fixed_us: Count = 1_000_000
    row_us: Count = 1_000
    full_row_us: Count | None = None


class RefreshWorld(Model, frozen=True, kw_only=True):
    """The cloud of one account.

    Attributes:
        nodes: Machines, each with a clock, on which users' transactions and refreshes run; the scheduler
            reads
        the clock of node 0.
        phase_us: The offset of ticks (R-DVS-73).
        begin_us, commit_us: The times that the two ends of a refresh take, besides the warehouse.
        delay_us_min, delay_us_max: The delay of a message between the scheduler and a refresh, drawn evenly.
        heartbeat_us: The time between heartbeats of a refresh.
        noticed_us: The time from the death of a worker to its report; 0: only its silence reveals it.
        until_us: The time at which users stop; faults have to end by then.
        settle_us: The time for which the run goes on after users and faults, so that tables can meet their
            lags.
        persisted: True if a refresh reads the newest version of a dynamic table instead of the one with its
        timestamp, as separately refreshed materialized views do ([D] Figure 1). The resulting anomalies are
        counted, and are no violations.
    """

    nodes: Positive = 3
    phase_us: Count = 0
    begin_us: Count = 20_000
    commit_us: Count = 30_000
    delay_us_min: Count = 200
    delay_us_max: Count = 5_000
    heartbeat_us: Positive = 10_000_000
    noticed_us: Count = 2_000_000
    until_us: Positive = 10 * MINUTE_US
    settle_us: Count = 10 * MINUTE_US
    persisted: bool = False


class Statement(Model, frozen=True, kw_only=True):
    """A statement of SQL that is executed once; the trace tells if it is refused."""

    sql: str
    at_us: Count = 0
    node: Count = 0


class Writer(Model, frozen=True, kw_only=True):
    """A user who changes one table in transactions.

    Attributes:
        reads: Tables that each transaction reads first. A transaction is aborted if another changed,
            meanwhile,
        a table that it writes.
        every_us: The time between transactions: exactly this if `regular`, else half to one and a half times
            it.
        think_us: The time from a transaction's begin to its commit.
        inserts, updates, deletes: Rows, in each transaction.
        values: The number of distinct numbers, counted from 1, and of distinct texts.
        fields: The names of the fields of objects; their values are numbers.
        nulls_percent: The percentage of cells that are NULL.
        rows_max: The size of the table above which the oldest rows are deleted first.
    """

    table: str
    reads: tuple[str, ...] = ()
    node: Count = 0
    from_us: Count = 0
    until_us: Count = 0
    every_us: Positive = 30_000_000
    regular: bool = False
    think_us: Count = 0
    inserts: Count = 1
    updates: Count = 0
    deletes: Count = 0
    values: Positive = 4
    fields: tuple[str, ...] = ()
    nulls_percent: Count = 0
    rows_max: Positive = 1_000_000


class Reader(Model, frozen=True, kw_only=True):
    """A user who reads tables, all in one transaction."""

    tables: tuple[str, ...]
    node: Count = 0
    from_us: Count = 0
    every_us: Positive = 30_000_000


class Setup(Model, frozen=True, kw_only=True):
    """The input of a run, apart from its seed.

    Attributes:
        checked: True if contents are kept for the checks; large worlds do without.
    """

    world: RefreshWorld = RefreshWorld()
    warehouse: tuple[RefreshWarehouse, ...] = (RefreshWarehouse(),)
    statement: tuple[Statement, ...] = ()
    writer: tuple[Writer, ...] = ()
    reader: tuple[Reader, ...] = ()
    checked: bool = True
