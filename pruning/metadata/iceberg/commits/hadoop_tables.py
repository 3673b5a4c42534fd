"""Tables without a catalog: their directory has the versions, `metadata/v1.metadata.json` and so on.

A version is committed by writing its file where no file has the name. Of several writers that use this
package one is successful, on local disks and in object stores that refuse to replace an object. Iceberg's own
writers of such tables look first and then rename: only on HDFS do they notice a version written in between.
"""

import contextlib
import gzip
import os
import re
import uuid
from typing import Any

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.exceptions import CommitFailedException, ValidationError
from pyiceberg.io import load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.update import update_table_metadata

from pruning.errors import InputError
from pruning.metadata.files.locations import S3_ENDPOINTS, is_on_local_disk, is_uri, locate
from pruning.metadata.files.object_stores import TEMPORARY, files_at, objects_at

_VERSION = re.compile(r"v(\d+)(\.gz)?\.metadata\.json(\.gz)?")
_OF_CATALOG = re.compile(r"\d+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.gz)?\.metadata\.json(\.gz)?")
_HINT = "version-hint.text"
_CODEC = "write.metadata.compression-codec"
_GZIP_MAGIC = b"\x1f\x8b"


def open_hadoop_table(directory: str) -> Any:
    """Return the latest version of a table without a catalog, as a `Table` of PyIceberg.

    Args:
        directory: The table's directory, a path or URI without escapes.
    Raises:
        InputError: it has no table, or a catalog keeps the table's versions.
        OSError: it cannot be read.
    """
    if is_uri(directory) and is_on_local_disk(directory):
        directory = locate(directory)[1]
    elif not is_uri(directory):
        directory = os.path.abspath(directory)
    return _HadoopCatalog(directory.rstrip("/")).load_table((directory,))


# PyIceberg has no types, so that its classes are unknown to the checker of types.
class _HadoopCatalog(NoopCatalog):  # type: ignore[misc]
    """A catalog of one table, which is its directory."""

    def __init__(self, directory: str) -> None:
        super().__init__("hadoop")
        self._directory = directory
        self._folder = f"{directory}/metadata"

    def load_table(self, identifier: Any) -> Any:
        """Return the latest version of the table."""
        location = f"{self._folder}/{self._latest()}"
        data = files_at(location).read(location, 0, None)
        if data.startswith(_GZIP_MAGIC):
            data = gzip.decompress(data)
        try:
            metadata = TableMetadataUtil.parse_raw(data.decode())
        except (ValidationError, UnicodeDecodeError) as error:
            line = " ".join(str(error).split())
            raise InputError(f"{location}: PyIceberg does not read it ({line}); restore it") from error
        io = load_file_io(_client_options(), location=self._directory)
        return Table(
            identifier=(self._directory,), metadata=metadata, metadata_location=location, io=io, catalog=self
        )

    def _latest(self) -> str:
        """Return the name of the newest version's file.

        Raises:
            InputError: there is none, or not certainly one.
        """
        names = files_at(self._folder).entries(self._folder, "")
        of_catalog = sorted(name for name in names if _OF_CATALOG.fullmatch(name))
        if of_catalog:
            raise InputError(
                f"{self._directory}: a catalog keeps the versions of this table ({of_catalog[-1]}); pass the "
                "table that PyIceberg loads from the catalog, instead of the directory."
            )
        versions = [(int(match[1]), name) for name in names if (match := _VERSION.fullmatch(name))]
        if not versions:
            raise InputError(
                f"{self._directory}: no table of Apache Iceberg; name the directory above 'metadata'."
            )
        newest, _ = max(versions)
        [name, *others] = [name for number, name in versions if number == newest]
        if others:
            raise InputError(
                f"{self._folder}: both {name} and {others[0]} are version {newest}; two writers may have "
                "committed at once, so delete the one that is not wanted."
            )
        return name

    def commit_table(self, table: Any, requirements: tuple[Any, ...], updates: tuple[Any, ...]) -> Any:
        """Write the next version.

        Raises:
            CommitFailedException: another writer was faster.
            InputError: the file system cannot refuse to replace a file.
        """
        current = self.load_table(table.name())
        for requirement in requirements:
            requirement.validate(current.metadata)
        metadata = update_table_metadata(
            current.metadata, updates, metadata_location=current.metadata_location
        )
        name = current.metadata_location.rpartition("/")[2]
        # The table was loaded from a file whose name the expression matches.
        number = int(_VERSION.fullmatch(name)[1]) + 1  # type: ignore[index]
        data = metadata.model_dump_json(exclude_none=True).encode()
        ending = ""
        if metadata.properties.get(_CODEC, "none").lower() == "gzip":
            ending, data = ".gz", gzip.compress(data)
        location = f"{self._folder}/v{number}{ending}.metadata.json"
        try:
            _create(location, data)
        except FileExistsError as error:
            raise CommitFailedException(f"{location} was written by another writer") from error
        # Readers go on from an older hint, so that a commit without it is complete.
        with contextlib.suppress(OSError):
            _replace(f"{self._folder}/{_HINT}", str(number).encode())
        return CommitTableResponse(metadata=metadata, metadata_location=location)


def _client_options() -> dict[str, str]:
    """Return the options by which PyIceberg's client of S3 asks the store that other clients ask here."""
    variables = {"s3.endpoint": S3_ENDPOINTS, "s3.region": ("AWS_REGION", "AWS_DEFAULT_REGION")}
    options = {}
    for option, names in variables.items():
        values = [os.environ[name] for name in names if os.environ.get(name)]
        if values:
            options[option] = values[0]
    return options


def _create(path: str, data: bytes) -> None:
    """Write a file that must not exist, all of it or nothing.

    Raises:
        FileExistsError: it exists.
        InputError: the file system cannot refuse to replace a file.
        OSError: it cannot be written.
    """
    if is_uri(path):
        objects = objects_at(path)
        if not objects.refuses:
            raise InputError(
                f"{path}: this file system cannot refuse to replace a file, so that two writers would not "
                "notice each other; commit through a catalog."
            )
        objects.write(path, [data], replaces=False)
        return
    beside = _write_beside(path, data)
    try:
        os.link(beside, path)
    finally:
        os.unlink(beside)


def _replace(path: str, data: bytes) -> None:
    if is_uri(path):
        objects_at(path).write(path, [data], replaces=True)
    else:
        os.replace(_write_beside(path, data), path)


def _write_beside(path: str, data: bytes) -> str:
    """Write a file under a temporary name in the same folder, and return that path."""
    folder, _, name = path.rpartition("/")
    beside = f"{folder}/{TEMPORARY}{uuid.uuid4()}-{name}"
    with open(beside, "xb") as file:
        file.write(data)
    return beside
