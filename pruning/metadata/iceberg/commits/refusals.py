"""Tables that this package does not write to, because it could not keep what they promise to readers."""

from collections.abc import Mapping
from typing import Any

from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri

# Properties that name formats, sizes, places, modes and hints of writers. A snapshot that this package writes
# follows them or is as right without: they change where and how files are written, never the table's rows.
_HARMLESS = (
    "write.audit.",
    "write.avro.",
    "write.data.path",
    "write.delete.",
    "write.distribution-mode",
    "write.fanout.",
    "write.folder-storage.path",
    "write.format.default",
    "write.manifest.",
    "write.merge.",
    "write.metadata.",
    "write.object-storage.",
    "write.orc.",
    "write.parquet.",
    "write.py-location-provider.",
    "write.spark.",
    "write.summary.",
    "write.target-file-size-bytes",
    "write.update.",
    "write.upsert.",
    "write.wap.enabled",
)


def check_writable(name: str, metadata: Any, *, deletes_positions: bool) -> None:
    """Check that a version of a table can be written by this package.

    Args:
        name: The table's name, for the message.
        metadata: The `TableMetadata` of PyIceberg.
        deletes_positions: Whether rows are deleted by their positions.
    Raises:
        InputError: it cannot.
    """
    version = metadata.format_version
    if version >= 3:
        raise InputError(
            f"{name}: the table has format version {version}, in which deleted rows must be deletion "
            "vectors and rows have ids, which this package does not write; use an engine that does, or a "
            "table of version 2."
        )
    if version < 2 and deletes_positions:
        raise InputError(
            f"{name}: the table has format version 1, which knows no deleted positions; rewrite whole files, "
            "or set its property 'format-version' to 2."
        )
    _check_properties(name, metadata.properties)


def _check_properties(name: str, properties: Mapping[str, str]) -> None:
    for key in sorted(properties):
        if key.startswith("encryption."):
            raise InputError(
                f"{name}: the table is encrypted ({key}), and this package writes plain files only."
            )
        if key.startswith("write.") and not key.startswith(_HARMLESS):
            raise InputError(
                f"{name}: the property {key!r} may constrain writers in a way that this package does not "
                "know; write with the engine that set it, or unset it."
            )


def check_manifest(name: str, manifest: Any) -> None:
    """Check that a manifest is not encrypted.

    Raises:
        InputError: it is.
    """
    if manifest.key_metadata is not None:
        raise InputError(
            f"{name}: the manifest {manifest.manifest_path} is encrypted; use an engine with its keys."
        )


def check_address(address: str) -> None:
    """Check that PyIceberg writes and reads a file at the address that the table's metadata has.

    Raises:
        InputError: it would take a part of the address for a query or fragment, and leave it out.
    """
    wrong = sorted(set(address) & set("?#\r\n\t"))
    if is_uri(address) and wrong:
        raise InputError(
            f"{address!r}: PyIceberg takes this URI for another one, because of {wrong[0]!r}; use a table "
            "and files without such characters in their paths."
        )
