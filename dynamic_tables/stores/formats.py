"""The formats that tables can have."""

from collections.abc import Mapping
from importlib.util import find_spec

from dynamic_tables.stores.delta_log import DeltaLog
from dynamic_tables.stores.iceberg_log import IcebergLog
from dynamic_tables.stores.version_logs import ManifestLog, VersionLog
from pruning.errors import InputError, MissingPackage

LOGS: Mapping[str, type[VersionLog]] = {"parquet": ManifestLog, "delta": DeltaLog, "iceberg": IcebergLog}
# The package that a format needs, and the extra that has it.
PACKAGES = {"delta": "deltalake", "iceberg": "pyiceberg"}


def log_of(format: str) -> type[VersionLog]:
    """Return the kind of log that tables of a format have.

    Raises:
        InputError: There is no such format.
        MissingPackage: Its package is not installed.

    >>> log_of("parquet").keeps_deletions
    True
    """
    if format not in LOGS:
        raise InputError(f"the format is {format}; it is one of {', '.join(LOGS)}")
    package = PACKAGES.get(format)
    if package is not None and find_spec(package) is None:
        raise MissingPackage(f"tables in {format} need its extra: pip install 'skipproof[{format}]'")
    return LOGS[format]
