"""The catalog of a warehouse: a database of SQLite that processes share.

Whatever changes a warehouse does so inside one transaction of this database, one process at a time. So all
commits have one order, a data timestamp sees the same prefix of it in every table, and a process whose lease
another one took over cannot commit.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynamic_tables.storage.clock import Clock, Timestamp
from pruning.errors import InputError

FILE = "catalog.sqlite"
LAYOUT = "1"
# The time for which a process waits for the transaction of another one.
WAIT_SECONDS = 60
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE clock (physical_us INTEGER NOT NULL);
CREATE TABLE statements (
    number INTEGER PRIMARY KEY, committed TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE timestamps (data_us INTEGER PRIMARY KEY, versions TEXT NOT NULL);
CREATE TABLE refreshes (
    identity TEXT NOT NULL, data_us INTEGER NOT NULL, version INTEGER NOT NULL, frontier TEXT NOT NULL,
    PRIMARY KEY (identity, data_us)
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at_us INTEGER NOT NULL, identity TEXT NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX events_of_tables ON events (identity, number);
CREATE TABLE lease (token INTEGER NOT NULL, holder TEXT NOT NULL, until_us INTEGER NOT NULL);
CREATE TABLE requests (
    number INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL, asked_us INTEGER NOT NULL,
    token INTEGER NOT NULL
);
"""


class Database:
    """A connection to the catalog, for all threads of a process."""

    def __init__(self, directory: Path) -> None:
        """Open the catalog of a warehouse.

        Raises:
            InputError: There is none in this directory, or it is of a later release.
        """
        self.path = directory / FILE
        if not self.path.is_file():
            raise InputError(f"{directory} is no warehouse: make one by `skipproof tables init`")
        self.lock = threading.RLock()
        try:
            self.connection = connect(self.path)
            rows = self.rows("SELECT value FROM settings WHERE name = 'layout'")
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is no catalog of a warehouse: {error}") from None
        if rows != [(LAYOUT,)]:
            raise InputError(f"{self.path} has another layout, {rows}: use the release that made it")
        self.clock: Clock | None = None

    @staticmethod
    def create(directory: Path, settings: dict[str, str]) -> None:
        """Create the catalog of a new warehouse; of two processes that do, one fails.

        Raises:
            InputError: There is one already.
        """
        directory.mkdir(parents=True, exist_ok=True)
        connection = connect(directory / FILE)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise InputError(f"{directory} is a warehouse already")
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO clock VALUES (-1)")
            connection.execute("INSERT INTO lease VALUES (0, '', -1)")
            connection.executemany(
                "INSERT INTO settings VALUES (?, ?)", {"layout": LAYOUT, **settings}.items()
            )
            connection.execute("COMMIT")
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            self.connection.close()

    def commit(self) -> None:
        """Save the present transaction, on disk before this returns."""
        self.connection.execute("COMMIT")

    def setting(self, name: str) -> str:
        """Return a setting, which the warehouse was made with."""
        ((value,),) = self.rows("SELECT value FROM settings WHERE name = ?", name)
        return str(value)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.lock:
            return self.connection.execute(query, values).fetchall()

    def run(self, statement: str, *values: Any) -> None:
        """Change the catalog, inside a transaction."""
        assert self.clock is not None, "the catalog changes in transactions"
        self.connection.execute(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[Clock]:
        """Exclude other processes, and save all or nothing; yield the clock of commits.

        Transactions inside each other are one.

        Raises:
            InputError: Another process has not ended its transaction in time.
        """
        with self.lock:
            if self.clock is not None:
                yield self.clock
                return
            try:
                self.connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise InputError(
                    f"{self.path} is in use by another process that does not answer ({error}): end that one"
                ) from None
            try:
                (mark_us,) = self.rows("SELECT physical_us FROM clock")[0]
                self.clock = Clock(0, mark_us=mark_us)
                yield self.clock
                self.run("UPDATE clock SET physical_us = ?", self.clock.physical_us)
                self.commit()
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            finally:
                self.clock = None


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection whose commits are on disk when they return."""
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def timestamp_of(text: str) -> Timestamp:
    """Return the timestamp of a JSON text."""
    return Timestamp(*json.loads(text))
