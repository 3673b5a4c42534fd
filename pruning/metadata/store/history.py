"""The history of a table of files: which files the store has seen, from when to when ([M] 4.3).

The store learns what a table holds by *looks*: listings of some of its files, or of all of them. Each file
that a look finds has a creation time, that of the first look that found it, and a removal time, that of the
first look that missed it. A file is its path, size and modification time; a file that is rewritten is
another one. The files "as of" a time are a filter on these times. They are answered for times of complete
looks alone, because between two looks nobody knows what the table held.

All here is pure: a state is changed by applying changes to it, and nothing reads a clock or a file.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import NamedTuple

from pruning.metadata.files.places import FileStamp

# Files that are gone are remembered to answer for the past; of more, the times before are forgotten.
FORMER_MAX, COMPLETE_LOOKS_MAX = 10_000, 10_000


class KeptFile(NamedTuple):
    """A file whose metadata is kept.

    Attributes:
        path: Its path relative to the directory of the table.
        stamp: Its size in bytes and its modification time in ns.
        created_us: When a look first found it, in microseconds since 1970.
        pack: The name of the pack that has its metadata.
        row: Its number among the files of that pack.
    """

    path: str
    stamp: FileStamp
    created_us: int
    pack: str
    row: int


class FormerFile(NamedTuple):
    """A file that a look missed, or found with another size or time."""

    path: str
    stamp: FileStamp
    created_us: int
    removed_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change that one look makes.

    Attributes:
        looked_us: When the look began.
        complete: True if it has listed the whole table.
        added: Files that it found, or kept ones whose metadata has moved to another pack.
        removed: The paths of files that are gone.
    """

    looked_us: int
    complete: bool
    added: tuple[KeptFile, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The knowledge of a store after some looks.

    Attributes:
        looked_us: When the last look that changed something began.
        files: The files that the table holds, by path.
        former: The files that it held before, in the order in which they were removed.
        complete_us: The times of complete looks, in order.
        begin_us: Of earlier times, some files are forgotten.
    """

    looked_us: int = 0
    files: Mapping[str, KeptFile]
    former: tuple[FormerFile, ...] = ()
    complete_us: tuple[int, ...] = ()
    begin_us: int = 0

    def files_at(self, look_us: int) -> dict[str, FileStamp]:
        """Return the files that a complete look found, by path, sorted."""
        kept = (file for file in self.files.values() if file.created_us <= look_us)
        former = (file for file in self.former if file.created_us <= look_us < file.removed_us)
        files: Iterator[KeptFile | FormerFile] = chain(kept, former)
        return dict(sorted((file.path, file.stamp) for file in files))


EMPTY = History(files={})


def apply(history: History, change: Change) -> History:
    """Return the history after a change that was made from it."""
    files = dict(history.files)
    gone = [_former(files.pop(path), change.looked_us) for path in change.removed]
    files |= {file.path: file for file in change.added}
    complete_us = (*history.complete_us, change.looked_us) if change.complete else history.complete_us
    return _without_oldest(
        replace(
            history,
            looked_us=change.looked_us,
            files=files,
            former=(*history.former, *gone) if gone else history.former,
            complete_us=complete_us,
        )
    )


def _former(file: KeptFile, removed_us: int) -> FormerFile:
    return FormerFile(path=file.path, stamp=file.stamp, created_us=file.created_us, removed_us=removed_us)


def _without_oldest(history: History) -> History:
    """Return a history that remembers no more than it may; what is forgotten moves its begin."""
    forgotten = history.former[:-FORMER_MAX]
    begin_us = max([history.begin_us, *(file.removed_us for file in forgotten)])
    complete_us = tuple(look for look in history.complete_us[-COMPLETE_LOOKS_MAX:] if look >= begin_us)
    return replace(history, former=history.former[-FORMER_MAX:], complete_us=complete_us, begin_us=begin_us)


def is_late(history: History, looked_us: int) -> bool:
    """Tell whether a look began before another one whose changes are in the history already.

    It may have missed what the other one found, or listed what the other one saw removed.
    """
    return looked_us <= history.looked_us


def absent_paths(
    history: History, listed: Mapping[str, FileStamp], vanished: Iterable[str], *, complete: bool
) -> tuple[str, ...]:
    """Return the paths of kept files that a look shows to be gone.

    Args:
        history: The history before.
        listed: The files that the look has listed.
        vanished: Paths of which it is known that there is no file.
        complete: Whether the look has listed the whole table.
    """
    gone = set(vanished) & set(history.files)
    if complete:
        gone |= set(history.files) - set(listed)
    # A listed file with another size or time is no longer the one that was kept.
    gone |= {
        path for path, stamp in listed.items() if path in history.files and history.files[path].stamp != stamp
    }
    return tuple(sorted(gone))


def lacks_complete_look(history: History) -> bool:
    """Tell whether no complete look has yet seen the present files."""
    return not history.complete_us or history.complete_us[-1] < history.looked_us


def first_look_at(history: History, present: Mapping[str, FileStamp]) -> int | None:
    """Return the time of the first complete look all of whose files are still present; None if none is.

    Args:
        history: The history.
        present: The files that exist now, by path.
    """
    looks = [look for look in history.complete_us if look >= history.begin_us]
    # Add 1 at the first look that found an absent file, and -1 at the first that did not find it any more.
    absent = [0] * (len(looks) + 1)
    for kept in history.files.values():
        if present.get(kept.path) != kept.stamp:
            absent[bisect_left(looks, kept.created_us)] += 1
    for former in history.former:
        if present.get(former.path) != former.stamp:
            absent[bisect_left(looks, former.created_us)] += 1
            absent[bisect_left(looks, former.removed_us)] -= 1
    return next((look for look, count in zip(looks, accumulate(absent), strict=False) if count == 0), None)
