"""Ways to keep the metadata of remote lakes, and to ask for it, that are wrong in one way each."""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from mutants.replacements import Replacement
from pruning.metadata.files import globs, listing, locations
from pruning.metadata.files.listing import Contents
from pruning.metadata.store import collecting, recording
from pruning.metadata.store.history import absent_paths


def _address(path: str) -> str:
    parts = urlsplit(path)
    return f"arrow+{parts.scheme}://{parts.netloc}{unquote(parts.path)}".rstrip("/")


MUTANTS: Mapping[str, Replacement] = {
    "a listing of a whole lake tells nothing of other files": Replacement(
        recording,
        "absent_paths",
        lambda history, listed, vanished, complete: absent_paths(history, listed, vanished, complete=False),
    ),
    "a listing of some files is of all": Replacement(
        listing, "Contents", lambda **fields: Contents(**(fields | {"whole": True}))
    ),
    "an address is of any endpoint": Replacement(locations, "address", _address),
    "a directory is asked about before it is listed": Replacement(globs, "is_pattern", bool),
    "marks of formats are looked for at the store": Replacement(
        collecting, "listed_marker", lambda listing, marker: None
    ),
}
