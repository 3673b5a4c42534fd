"""Check that a table uses nothing of Delta's protocol that this package does not read."""

from collections.abc import Mapping
from typing import Any

from pruning.errors import InputError

# Of these, each is read here, or needs nothing of a reader.
READ_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
    }
)
# From this version of the protocol on, a table lists its features.
_LISTS_FEATURES = 3
_MAPS_COLUMNS = 2
MODE = "delta.columnMapping.mode"


def check_protocol(location: str, protocol: Mapping[str, Any] | None) -> None:
    """Check that a table can be read.

    Raises:
        InputError: its log has no protocol, or a reader needs what is not known here.
    """
    if protocol is None or not isinstance(protocol.get("minReaderVersion"), int):
        raise InputError(f"{location}: its log has no protocol, so it is damaged: restore its first commits")
    version = protocol["minReaderVersion"]
    if version > _LISTS_FEATURES:
        raise InputError(
            f"{location}: needs readers of version {version} of Delta's protocol, and this package reads up "
            f"to version {_LISTS_FEATURES}; read the table with an engine that does"
        )
    for feature in (protocol.get("readerFeatures") or ()) if version == _LISTS_FEATURES else ():
        if feature not in READ_FEATURES:
            raise InputError(
                f"{location}: uses the feature {feature!r} of Delta's protocol, which this package does not "
                "read; read the table with an engine that does, or drop the feature from it"
            )


def mapping_mode(location: str, protocol: Mapping[str, Any], configuration: Mapping[str, str]) -> str:
    """Return how columns are mapped to those in files: "none", "name" or "id".

    Raises:
        InputError: the mode is another one.
    """
    version, features = protocol["minReaderVersion"], protocol.get("readerFeatures") or ()
    mode = configuration.get(MODE, "none")
    if version < _MAPS_COLUMNS or (version == _LISTS_FEATURES and "columnMapping" not in features):
        return "none"
    if mode not in ("none", "name", "id"):
        raise InputError(f"{location}: has {MODE} = {mode!r}, which is not none, name or id: correct it")
    return mode
