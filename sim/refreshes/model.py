"""What the cloud around dynamic tables is made of: frozen numbers with their units, no process."""

from sim.kernel.model import Model
from sim.kernel.scenario_schema import Count, Positive

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


class Warehouse(Model, frozen=True, kw_only=True):
    """Workers that compute refreshes; what does not change data needs none (R-DVS-23).

    Attributes:
        workers: How many refreshes it computes at once.
        fixed_us, row_us: What a refresh takes: the one, and the other for each row of its sources that
            changed, or that there is if all are read (R-DVS-27).
    """

    name: str = "w"
    workers: Positive = 2
    fixed_us: Count = 1_000_000
    row_us: Count = 1_000


class World(Model, frozen=True, kw_only=True):
    """The cloud of one account.

    Attributes:
        nodes: Machines with a clock each, on which users' transactions and refreshes run; the scheduler reads
            the clock of node 0.
        phase_us: When ticks are (R-DVS-73).
        begin_us, commit_us: What the two ends of a refresh take, beside the warehouse.
        delay_us_min, delay_us_max: Of a message between the scheduler and a refresh, drawn evenly.
        heartbeat_us: From one heartbeat of a refresh to the next.
        noticed_us: After a worker died, until that is told; 0: its silence is all that tells it.
        until_us: How long users go on; faults are to end by then.
        settle_us: How long it goes on after both, for tables to come within their target lags.
        persisted: Whether a refresh reads the newest version of a dynamic table, instead of the one that has
            its timestamp: what materialized views that are refreshed apart do ([D] Figure 1). What then goes
            wrong is counted, and is no violation.
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
    """A statement of SQL that somebody executes once; where it is refused, that is told in the trace."""

    sql: str
    at_us: Count = 0
    node: Count = 0


class Writer(Model, frozen=True, kw_only=True):
    """A user who changes one table in transactions.

    Attributes:
        reads: Tables that each transaction reads first; if one that it writes was changed meanwhile by
            another, it is aborted.
        every_us: From one transaction to the next; each time half to one and a half times as long, or exactly
            so if `regular`.
        think_us: From a transaction's begin to its commit.
        inserts, updates, deletes: Rows, in each transaction.
        values: Of numbers how many there are, from 1 on, and of texts.
        fields: Of objects the names of their fields, which are numbers.
        nulls_percent: Of cells.
        rows_max: Above so many rows in the table, the oldest are deleted first.
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
    """All that a run is given, but for its seed.

    Attributes:
        checked: Whether contents are kept for the checks; large worlds do without.
    """

    world: World = World()
    warehouse: tuple[Warehouse, ...] = (Warehouse(),)
    statement: tuple[Statement, ...] = ()
    writer: tuple[Writer, ...] = ()
    reader: tuple[Reader, ...] = ()
    checked: bool = True
