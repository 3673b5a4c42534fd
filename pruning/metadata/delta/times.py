"""Times of commits, and the version of a table at a time."""

from collections.abc import Mapping

from pruning.errors import InputError
from pruning.metadata.delta.actions import commit_info
from pruning.metadata.delta.log_files import DeltaLog

_ENABLED = "delta.enableInCommitTimestamps"
_FIRST_VERSION = "delta.inCommitTimestampEnablementVersion"
_FIRST_TIME = "delta.inCommitTimestampEnablementTimestamp"


def version_at(log: DeltaLog, time_us: int, configuration: Mapping[str, str]) -> int:
    """Return the newest version that was committed at a time or before it.

    A commit's time is what it says itself, from the version on at which the table began to write it down;
    earlier ones have the time of their file, or that of the commit before it and a millisecond.

    Args:
        log: The table's log.
        time_us: The time, us since 1970.
        configuration: The properties of the table's newest version.

    Raises:
        InputError: the table's log does not reach back so far, or is damaged.
    """
    time_ms = time_us // 1000
    times = _file_times(log)
    first = _first_own_time(log, configuration)
    if first is not None and first[0] in log.commits and time_ms >= first[1]:
        return _latest_own(log, first[0], time_ms)
    earlier = [version for version in times if first is None or version < first[0]]
    reached = [version for version in earlier if times[version] <= time_ms]
    if not reached:
        raise InputError(
            f"{log.location}: has no version that was committed at {time_us} us since 1970 or before, "
            f"because its log begins with version {log.oldest}; give a later time"
        )
    return max(reached)


def _file_times(log: DeltaLog) -> dict[int, int]:
    """Return the times of the commits that can be read, ms since 1970, ascending as their versions do."""
    times: dict[int, int] = {}
    latest = None
    for version in sorted(log.commits):
        if version < log.oldest:
            continue
        modified_ms = log.commits[version].modified_ms
        latest = modified_ms if latest is None else max(modified_ms, latest + 1)
        times[version] = latest
    return times


def _first_own_time(log: DeltaLog, configuration: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the first version whose commit says its time, and that time; None if none does."""
    if configuration.get(_ENABLED, "").lower() != "true":
        return None
    version = configuration.get(_FIRST_VERSION)
    if version is not None and int(version) >= log.oldest:
        return int(version), int(configuration[_FIRST_TIME])
    first = min(version for version in log.commits if version >= log.oldest)
    return first, _own_time(log, first)


def _latest_own(log: DeltaLog, first: int, time_ms: int) -> int:
    """Return the newest version whose own time is not after a time; that of the first one is not."""
    versions = sorted(version for version in log.commits if version >= first)
    start, end = 0, len(versions)
    while end - start > 1:
        middle = (start + end) // 2
        if _own_time(log, versions[middle]) <= time_ms:
            start = middle
        else:
            end = middle
    return versions[start]


def _own_time(log: DeltaLog, version: int) -> int:
    path = log.commits[version].path
    time = commit_info(path, log.bytes_of(path)).get("inCommitTimestamp")
    if not isinstance(time, int):
        raise InputError(
            f"{path}: lacks the time of its commit, which the table's properties promise; read the table by "
            "version"
        )
    return time
