"""The files that a table held at a time in the past, as the store has seen it."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pruning.arguments import check_number, describe_value
from pruning.errors import InputError
from pruning.metadata.files.listing import Listing, Paths, list_files
from pruning.metadata.files.places import Place, file_stamp
from pruning.metadata.store.history import History, first_look_at
from pruning.metadata.store.store import Store, open_store

_SECONDS_MAX = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteLook:
    """A time at which the whole table was listed, and what had changed since the one before.

    Attributes:
        time: When it was, in UTC.
        files: The number of files that the table held.
        added: How many of them the look before did not find; one that is written again is another file.
        removed: How many files of the look before it did not find.
    """

    time: datetime
    files: int
    added: int
    removed: int


def complete_looks(directory: Paths) -> list[CompleteLook]:
    """Return the times that `as_of` tells apart, the earliest first; empty if there are none.

    Args:
        directory: The directory of a table.
    Raises:
        InputError: the directory does not exist or holds no data.
    """
    listing = list_files(directory)
    looked = _place_and_history(open_store(listing), listing.parent)
    if looked is None:
        return []
    _, history = looked
    created = [file.created_us for file in history.files.values()]
    created = sorted([*created, *(file.created_us for file in history.former)])
    removed = sorted(file.removed_us for file in history.former)
    looks: list[CompleteLook] = []
    before = (0, 0)
    for look in history.complete_us:
        counts = bisect_right(created, look), bisect_right(removed, look)
        looks.append(
            CompleteLook(
                time=datetime.fromtimestamp(look / 1_000_000, UTC),
                files=counts[0] - counts[1],
                added=counts[0] - before[0],
                removed=counts[1] - before[1],
            )
        )
        before = counts
    return looks


def files_as_of(listing: Listing, store: Store, as_of: Any) -> Listing:
    """Return the part of a listing that the table held at a time: at the last complete look until then.

    Args:
        listing: All data files of one directory, now.
        store: The store for them.
        as_of: The time, as `microseconds` takes it.
    Raises:
        InputError: the listing is not of one directory; the store had not looked at it by then; or a file
            that the table held has been removed or written again since, which is named.
    """
    time_us = microseconds(as_of)
    if not listing.whole or listing.parent is None:
        raise InputError("as_of is about a whole table: name one directory")
    directory = listing.parent
    looked = _place_and_history(store, directory)
    if looked is None:
        raise InputError(f"{directory}: has no history; each `pruning.collect` of the directory adds to it")
    place, history = looked
    listed = dict(place.listed_by_path(listing))
    present = {path: file_stamp(file) for path, file in listed.items()}
    first = first_look_at(history, present)
    until = f"the first time that can be told is {_text(first)}" if first else "no time before can be told"
    looks = [look for look in history.complete_us if history.begin_us <= look <= time_us]
    if not looks:
        raise InputError(f"{directory}: its files at {_text(time_us)} are not known; {until}")
    files = history.files_at(looks[-1])
    for path, stamp in files.items():
        if present.get(path) != stamp:
            raise InputError(
                f"{directory}/{path}: was in the table at {_text(time_us)}, and has been removed or written "
                f"again since; {until}"
            )
    return Listing(tuple(listed[path] for path in files), directory, looked_us=listing.looked_us)


def _place_and_history(store: Store, directory: str | None) -> tuple[Place, History] | None:
    """Return where a store has listed a whole directory, and not one above it alone; None if it has not."""
    for part in (store, *store.others):
        place, history = part.place, part.version.history
        if place is not None and place.directory == directory and history.complete_us:
            return place, history
    return None


def microseconds(as_of: Any, name: str = "as_of") -> int:
    """Return a time as microseconds since 1970.

    Args:
        as_of: A `datetime`, of local time if it has no time zone; its text in ISO 8601; or seconds since
            1970 in UTC.
        name: The name of the argument.
    Raises:
        InputError: it is something else.
    """
    if isinstance(as_of, str):
        try:
            as_of = datetime.fromisoformat(as_of)
        except ValueError as error:
            raise InputError(
                f"{name} is {describe_value(as_of)}; give a time such as '2026-05-01 12:00:00'."
            ) from error
    if isinstance(as_of, datetime):
        as_of = as_of.timestamp()
    check_number(name, as_of, least=0, greatest=_SECONDS_MAX)
    return round(float(as_of) * 1_000_000)


def _text(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).isoformat(sep=" ")
