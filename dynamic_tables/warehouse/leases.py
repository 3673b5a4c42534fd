"""The lease of the driver: it saves work, and its token, checked with each commit, makes that safe."""

import os
import socket

from dynamic_tables.warehouse.database import Database


class LeaseLost(Exception):
    """Another driver took over: this one may not commit any more."""


class Lease:
    """The right to refresh the tables of a warehouse, for a while.

    Attributes:
        length_us: The time for which it is valid without being renewed.
        token: Its number, which is greater than those of all leases before; None while another has it.
    """

    def __init__(self, database: Database, length_us: int) -> None:
        self.database = database
        self.length_us = length_us
        self.holder = f"{socket.gethostname()}:{os.getpid()}"
        self.token: int | None = None

    def take(self, now_us: int) -> bool:
        """Take the lease if nobody holds it, and tell whether this driver has it."""
        with self.database.transaction():
            ((token, _, until_us),) = self.database.rows("SELECT token, holder, until_us FROM lease")
            if until_us > now_us:
                return False
            self.token = token + 1
            self.database.run(
                "UPDATE lease SET token = ?, holder = ?, until_us = ?",
                self.token,
                self.holder,
                now_us + self.length_us,
            )
            return True

    def renew(self, now_us: int) -> None:
        """Prolong the lease.

        Raises:
            LeaseLost: Another driver took it.
        """
        with self.database.transaction():
            self.check()
            self.database.run("UPDATE lease SET until_us = ?", now_us + self.length_us)

    def check(self) -> None:
        """Raise LeaseLost if another driver took over; inside a transaction, nobody can afterwards."""
        ((token, holder, _),) = self.database.rows("SELECT token, holder, until_us FROM lease")
        if token != self.token:
            raise LeaseLost(f"{holder} drives this warehouse now")

    def release(self) -> None:
        """Give the lease back."""
        with self.database.transaction():
            self.database.run("UPDATE lease SET until_us = -1 WHERE token = ?", self.token)

    def present_holder(self, now_us: int) -> str | None:
        """Return the driver that holds a valid lease; None if there is none."""
        ((_, holder, until_us),) = self.database.rows("SELECT token, holder, until_us FROM lease")
        return holder if until_us > now_us else None
