"""The rooms of the museum, and the current releases that stand beside the old ones."""

from museums.releases import FIRST_ROOM, SECOND_ROOM
from museums.third_room import THIRD_ROOM

ROOMS = {1: FIRST_ROOM, 2: SECOND_ROOM, 3: THIRD_ROOM}
# What pip installs of a package that is not installed here: its newest release.
CURRENT = {
    "duckdb": ("duckdb",),
    "datafusion": ("datafusion", "pyarrow"),
    "polars": ("polars",),
    "pyiceberg": ("pyiceberg[sql-sqlite]", "pyiceberg-core", "pyarrow"),
    "deltalake": ("deltalake", "pyarrow"),
    "chdb": ("chdb", "chdb-core", "pyarrow"),
    "daft": ("daft", "pyarrow"),
    "pyarrow": ("pyarrow",),
}
