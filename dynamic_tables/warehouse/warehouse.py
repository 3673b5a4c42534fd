"""A warehouse: base tables, views and dynamic tables in a directory, which several processes may use."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import SYSTEM
from dynamic_tables.on_spark.spark_backend import SETTINGS
from dynamic_tables.sql.statements import Refresh, first_word
from dynamic_tables.sql.writes import read_write
from dynamic_tables.stores.formats import log_of
from dynamic_tables.stores.published_tables import open_copy
from dynamic_tables.values.changes import Contents
from dynamic_tables.warehouse.accounts import WarehouseAccount, wall_us
from dynamic_tables.warehouse.answers import Answer
from dynamic_tables.warehouse.creating import attach, execute, statement_of
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.driver import WORKERS, Driver
from dynamic_tables.warehouse.events import LoggedEvent
from dynamic_tables.warehouse.expiry import Expired, expire
from dynamic_tables.warehouse.histories import histories
from dynamic_tables.warehouse.leases import Lease
from dynamic_tables.warehouse.limits import LIMITS, Limits
from dynamic_tables.warehouse.naming import dynamic_table, lookup_in, qualify, with_files
from dynamic_tables.warehouse.reading import run_query
from dynamic_tables.warehouse.requests import refresh_as_of_now
from dynamic_tables.warehouse.statuses import Explanation, TableStatus, explain, statuses
from dynamic_tables.warehouse.verifying import Verdict, verify
from dynamic_tables.warehouse.writing import append, run_write

QUERY_WORDS = frozenset({"SELECT", "WITH", "("})


class Warehouse:
    """A warehouse, opened by one process.

    Attributes:
        account: Its catalog and tables.
        records_reads: True to write to the log which versions each query reads.
    """

    def __init__(
        self,
        directory: str | Path,
        spark: Callable[[], SparkSession],
        *,
        now_us: Callable[[], int] = wall_us,
        limits: Limits = LIMITS,
    ) -> None:
        """Open a warehouse.

        Args:
            directory: Its directory.
            spark: Returns a session; called when something is too much for Python.
            now_us: The wall clock.
            limits: The numbers of rows above which Spark computes.

        Raises:
            InputError: The directory is no warehouse.
        """
        self.records_reads = False
        self.account = WarehouseAccount(Path(directory), session_of(spark), now_us=now_us, limits=limits)

    def close(self) -> None:
        """Close the catalog."""
        self.account.database.close()

    # Statements

    def sql(self, text: str) -> Answer:
        """Run a statement: a SELECT, a change of rows of a base table, or one that the catalog keeps.

        Raises:
            InputError: It is refused; the message says why.

        >>> import tempfile
        >>> from dynamic_tables import init, open
        >>> folder = tempfile.TemporaryDirectory()
        >>> init(folder.name)
        >>> warehouse = open(folder.name)
        >>> _ = warehouse.sql("CREATE TABLE flights (carrier TEXT, delay INTEGER)")
        >>> warehouse.sql("INSERT INTO flights VALUES ('UA', 5), ('AA', 40), ('UA', 90)").message
        '3 rows inserted, 0 deleted'
        >>> warehouse.sql(
        ...     "CREATE DYNAMIC TABLE late TARGET_LAG = '1 minute'"
        ...     " AS SELECT carrier, count(*) AS n FROM flights WHERE delay > 15 GROUP BY carrier"
        ... ).message
        'main.late is refreshed incrementally'
        >>> _ = warehouse.sql("DELETE FROM flights WHERE carrier = 'AA'")
        >>> warehouse.refresh("late")
        >>> warehouse.sql("SELECT * FROM late ORDER BY carrier").rows
        (('UA', 1),)
        >>> warehouse.close()
        """
        self.account.catch_up()
        if first_word(text) in QUERY_WORDS:
            return self.query(text)
        write = read_write(text, lookup_in(self.account))
        if write is not None:
            return Answer(message=run_write(self.account, write, text))
        statement = statement_of(self.account, text)
        if isinstance(statement, Refresh):
            self.refresh(statement.name)
            return Answer(message=f"{qualify(statement.name)} is refreshed")
        return Answer(message=execute(self.account, statement))

    def append(self, name: str, rows: Any) -> int:
        """Add rows to a base table in one commit; return their number.

        Args:
            name: The table.
            rows: An Arrow table or a DataFrame of Spark, with the columns of the table by name.

        Raises:
            InputError: A column is missing, or its values do not fit.
        """
        self.account.catch_up()
        return append(self.account, self.account.catalog.state.get(qualify(name)).identity, rows)

    def attach(self, name: str, location: str | Path, *, key: Sequence[str] = ()) -> None:
        """Make a base table that follows a table of Delta Lake or Iceberg, or a directory of Parquet files.

        Others write it; each data timestamp sees its newest version. Columns of nested types are left out.

        Args:
            name: The name of the new table.
            location: The directory of the table, on the local disk.
            key: Columns whose values together are unique in each version, NULL included; a row is then the
                same as long as its key is. Without one, rows are told apart by all their cells.

        Raises:
            InputError: There is no table, it has what is not supported, or two rows have one key.
        """
        self.account.catch_up()
        attach(self.account, name, str(Path(location).absolute()), tuple(key))

    def publish(self, name: str, location: str | Path, format: str = "delta") -> None:
        """Keep a copy of a dynamic table for other programs; a refresh that changes it is one commit there.

        The copy has the columns of the table and the row ids, as `_row_id`.

        Args:
            name: The dynamic table.
            location: The directory of the copy; in Iceberg's, a catalog in SQLite has the table
                `skipproof.rows`.
            format: delta or iceberg, or an empty text to stop.

        Raises:
            InputError: There is no such dynamic table or format.
        """
        self.account.catch_up()
        entity = dynamic_table(self.account, name)
        place = str(Path(location).absolute())
        if format:
            open_copy(format, place)
        self.account.run(ddl.Publish(entity.name, place, format), SYSTEM)
        self.account.publish(entity.identity)

    # Reading

    def query(self, text: str, *, as_of_us: int | None = None) -> Answer:
        """Return the rows of a SELECT, of all tables as they are now or were at a data timestamp.

        Args:
            text: The SELECT.
            as_of_us: Microseconds since 1970; the newest data timestamp until then is read.

        Raises:
            InputError: The query is refused, or nothing is known of that time.
        """
        self.account.catch_up()
        return run_query(self.account, text, as_of_us, records_reads=self.records_reads)

    def isolation_histories(self) -> list[dict[str, Any]]:
        """Return what was written, refreshed and read, as histories for a checker of isolation."""
        self.account.catch_up()
        return histories(self.account)

    def contents(self, name: str) -> Contents:
        """Return the present rows of a small table, by id."""
        self.account.catch_up()
        entity = self.account.catalog.state.get(qualify(name))
        return self.account.tables[entity.identity].files.contents(
            self.account.tables[entity.identity].latest.number
        )

    def location(self, name: str) -> Path:
        """Return the directory of a table, which other programs read if its format is delta or iceberg.

        Rows have two more columns there: `_row_id`, and `_version`, in which they were written. In that of
        Iceberg, a catalog in SQLite, `catalog.db`, has the table `skipproof.rows`.

        Raises:
            InputError: There is no such table, or it is a view.
        """
        self.account.catch_up()
        return self.account.tables[with_files(self.account, name).identity].directory

    # Refreshes

    def refresh(self, name: str) -> None:
        """Refresh a dynamic table, and everything that it is computed from, to a moment after the call.

        Raises:
            InputError: There is no such dynamic table, or the refresh failed.
        """
        refresh_as_of_now(self.account, qualify(name))

    def status(self) -> list[TableStatus]:
        """Return the states of all dynamic tables, in order of creation."""
        self.account.catch_up()
        return statuses(self.account, self.account.now_us())

    def history(self, name: str | None = None, *, limit: int = 20) -> list[tuple[str, LoggedEvent]]:
        """Return the newest events, each with the present name of its table.

        Args:
            name: The table; None: all events.
            limit: The most events.

        Raises:
            InputError: There is no such table.
        """
        self.account.catch_up()
        state = self.account.catalog.state
        identity = None if name is None else state.get(qualify(name)).identity
        return [
            (state.entities[event.identity].name if event.identity in state.entities else "", event)
            for event in self.account.events.read(identity, limit=limit)
        ]

    def explain(self, name: str) -> Explanation:
        """Return how a dynamic table is maintained, and what a refresh now would do.

        Raises:
            InputError: There is no such dynamic table, or its query cannot be bound now.
        """
        self.account.catch_up()
        return explain(self.account, dynamic_table(self.account, name))

    def verify(self, name: str | None = None) -> list[Verdict]:
        """Compare dynamic tables with their queries at their data timestamps.

        Args:
            name: The table; None: all dynamic tables.

        Raises:
            InputError: There is no such dynamic table, or its query cannot be bound now.
        """
        self.account.catch_up()
        entities = list(self.account.catalog.state.dynamic_tables())
        if name is not None:
            entities = [dynamic_table(self.account, name)]
        return [verify(self.account, entity) for entity in entities]

    def compact(self, name: str) -> bool:
        """Write small files of a table anew, as a version without changes; False if a writer was faster.

        Raises:
            InputError: There is no such table.
        """
        self.account.catch_up()
        return self.account.tables[with_files(self.account, name).identity].compact(self.account.now_us)

    def expire(self, before_us: int) -> Expired:
        """Remove old versions, data timestamps and events that no refresh needs any more.

        Args:
            before_us: Microseconds since 1970: what was valid then, and all that is later, stays readable.
        """
        return expire(self.account, before_us)

    def collect_orphans(self, *, staged_before: float) -> int:
        """Remove files that belong to no version; return their number.

        Args:
            staged_before: Younger files stay, in seconds since 1970: their writers may be about to commit.
        """
        self.account.catch_up()
        return sum(
            table.files.purge(0, staged_before=staged_before) for table in self.account.tables.values()
        )

    def driven_by(self) -> str | None:
        """Return the host and the process of the driver that has the lease; None if none has it."""
        return Lease(self.account.database, 0).present_holder(self.account.now_us())

    def driver(self, *, workers: int = WORKERS) -> Driver:
        """Return a driver, whose `run` refreshes the tables until its `stop` is called."""
        return Driver(self.account, workers=workers)


def session_of(spark: Callable[[], SparkSession]) -> Callable[[], SparkSession]:
    """Return a function that gives one session of its own, with the settings that rows and ids need."""
    sessions: list[SparkSession] = []

    def session() -> SparkSession:
        if not sessions:
            own = spark().newSession()
            for name, value in SETTINGS.items():
                own.conf.set(name, value)
            sessions.append(own)
        return sessions[0]

    return session


def init(directory: str | Path, *, format: str = "parquet") -> None:
    """Make a new warehouse.

    Args:
        directory: Where it is made; created if it does not exist.
        format: The format of the tables: parquet, which costs least, or delta or iceberg, whose tables other
            programs can read as well.

    Raises:
        InputError: There is a warehouse already, or there is no such format.
        MissingPackage: The package of the format is not installed.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> init(folder.name)
    >>> open(folder.name).status()
    []
    """
    log_of(format)
    Database.create(Path(directory), {"format": format})


def open(directory: str | Path, spark: SparkSession | Callable[[], SparkSession] | None = None) -> Warehouse:
    """Open a warehouse.

    Args:
        directory: Its directory.
        spark: The session, or a function that returns it when it is needed. None: the active session, or a
            new one.

    Raises:
        InputError: The directory is no warehouse.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> init(folder.name)
    >>> warehouse = open(folder.name)
    >>> _ = warehouse.sql("CREATE TABLE flights (carrier TEXT)")
    >>> warehouse.sql("INSERT INTO flights VALUES ('UA')").message
    '1 rows inserted, 0 deleted'
    >>> open(folder.name).sql("SELECT * FROM flights").rows
    (('UA',),)
    """
    if spark is None:
        return Warehouse(directory, SparkSession.builder.getOrCreate)
    return Warehouse(directory, spark if callable(spark) else lambda: spark)
