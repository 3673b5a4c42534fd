"""Data timestamps: each is resolved once to the versions of all base tables, in one transaction.

A data timestamp is a name for these versions; later it is compared only with other data timestamps.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache

from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.warehouse.database import Database

# The number of base tables by which the versions of a timestamp are kept in memory.
KEPT = 64
# None: what others write could not be read.
Versions = Mapping[TableId, int | None]


class Timestamps:
    """The data timestamps of a warehouse."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.kept = lru_cache(maxsize=KEPT)(self.read)

    @property
    def newest_us(self) -> int:
        """The greatest data timestamp so far; -1 before the first."""
        ((newest_us,),) = self.database.rows("SELECT max(data_us) FROM timestamps")
        return -1 if newest_us is None else newest_us

    def resolve(self, data_us: int, heads: Callable[[], Versions]) -> Versions:
        """Return the version of each base table at a data timestamp, which is settled now if it was not.

        Args:
            data_us: The data timestamp.
            heads: Returns the newest version of each base table.
        """
        with self.database.transaction() as clock:
            clock.pass_over(data_us)
            if self.is_resolved(data_us):
                return self.versions(data_us)
            versions = dict(heads())
            later = self.database.rows(
                "SELECT versions FROM timestamps WHERE data_us > ? ORDER BY data_us LIMIT 1", data_us
            )
            if later:
                # No table goes back from one timestamp to the next.
                versions = json.loads(later[0][0])
            self.database.run("INSERT INTO timestamps VALUES (?, ?)", data_us, json.dumps(versions))
            return versions

    def is_resolved(self, data_us: int) -> bool:
        """Tell whether this is a data timestamp of the warehouse."""
        try:
            self.versions(data_us)
        except NoVersion:
            return False
        return True

    def versions(self, data_us: int) -> Versions:
        """Return the version of each base table at a data timestamp.

        Raises:
            NoVersion: This is no data timestamp of the warehouse.
        """
        return self.kept(data_us)

    def read(self, data_us: int) -> Versions:
        """Read the versions at a data timestamp."""
        rows = self.database.rows("SELECT versions FROM timestamps WHERE data_us = ?", data_us)
        if not rows:
            raise NoVersion(f"{data_us} us is no data timestamp of this warehouse")
        versions: Versions = json.loads(rows[0][0])
        return versions

    def newest_until(self, data_us: int) -> int | None:
        """Return the greatest data timestamp that is at most another one; None if there is none."""
        rows = self.database.rows("SELECT max(data_us) FROM timestamps WHERE data_us <= ?", data_us)
        newest_us: int | None = rows[0][0]
        return newest_us
