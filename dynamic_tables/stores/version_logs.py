"""The log of a table's versions: each is added once, and never changed."""

import contextlib
import os
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.stores.manifests import Manifest, from_json, to_json

# The folder of data files in that of a table.
DATA = "data"
VERSIONS, SUFFIX = "versions", ".json"


class VersionExists(Exception):
    """Another writer committed this version first."""


class VersionLog(ABC):
    """The versions of one table in a directory, numbered from 0.

    Attributes:
        keeps_deletions: True if a version may name files of deleted rows. False: its data files have its rows
            and no others, so that readers of the format need to know of nothing else.
    """

    keeps_deletions: ClassVar[bool]

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifests: dict[int, Manifest] = {}

    @abstractmethod
    def exists(self) -> bool:
        """Tell whether the directory has a log of this format."""

    @abstractmethod
    def create(self, manifest: Manifest) -> None:
        """Create the log with the first version, on disk before this returns.

        Raises:
            VersionExists: There is one already.
        """

    @abstractmethod
    def numbers(self) -> list[int]:
        """Return the numbers of the versions that are retained, in order."""

    @abstractmethod
    def load(self, number: int) -> Manifest:
        """Read the manifest of a version.

        Raises:
            NoVersion: There is no such version, or it was purged.
        """

    @abstractmethod
    def newest_number(self) -> int:
        """Return the number of the newest version."""

    @abstractmethod
    def add(self, manifest: Manifest, parent: Manifest) -> None:
        """Make a version exist after another one, on disk before this returns.

        Raises:
            VersionExists: Another writer was faster.
        """

    @abstractmethod
    def discard(self, first: int) -> None:
        """Remove the versions before `first`, which are some; that one is retained."""

    def read(self, number: int) -> Manifest:
        """Return the manifest of a version.

        Raises:
            NoVersion: There is no such version, or it was purged.
        """
        if number not in self.manifests:
            self.manifests[number] = self.load(number)
        return self.manifests[number]

    def latest(self) -> Manifest:
        """Return the manifest of the newest version."""
        return self.read(self.newest_number())


class ManifestLog(VersionLog):
    """One numbered JSON file for each version.

    A version exists once its manifest does. A manifest is written beside its place and linked to it, which
    fails if another writer was faster; renaming would overwrite that writer's version.
    """

    keeps_deletions = True

    @property
    def folder(self) -> Path:
        """The folder of the manifests."""
        return self.directory / VERSIONS

    def path(self, number: int) -> Path:
        """Return the path of a version's manifest."""
        return self.folder / f"{number:020}{SUFFIX}"

    def exists(self) -> bool:
        """Tell whether the directory has manifests."""
        return self.folder.is_dir() and bool(self.numbers())

    def create(self, manifest: Manifest) -> None:
        """Write the first manifest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_exclusively(self.path(manifest.number), to_json(manifest))

    def numbers(self) -> list[int]:
        """Return the numbers of the manifests, in order."""
        return numbered_files(self.folder)

    def newest_number(self) -> int:
        """Return the number of the newest manifest."""
        return self.numbers()[-1]

    def load(self, number: int) -> Manifest:
        """Read a manifest."""
        path = self.path(number)
        try:
            return from_json(path.read_text(encoding="utf-8"), str(path))
        except FileNotFoundError:
            raise NoVersion(f"there is no version {number} in {self.folder}") from None

    def add(self, manifest: Manifest, parent: Manifest) -> None:
        """Write the manifest of a version."""
        write_exclusively(self.path(manifest.number), to_json(manifest))
        self.manifests[manifest.number] = manifest

    def discard(self, first: int) -> None:
        """Remove the manifests before `first`."""
        for number in self.numbers():
            if number < first:
                os.unlink(self.path(number))
                self.manifests.pop(number, None)


def numbered_files(folder: Path) -> list[int]:
    """Return the numbers that are names of JSON files in a folder, in order."""
    names = (name.removesuffix(SUFFIX) for name in os.listdir(folder) if name.endswith(SUFFIX))
    return sorted(int(name) for name in names if name.isdigit())


def write_exclusively(path: Path, text: str) -> None:
    """Write a file that did not exist, whole and on disk before this returns.

    Raises:
        VersionExists: The file exists.
    """
    temporary = path.parent / f"{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
        sync_directory(path.parent)
    except FileExistsError:
        raise VersionExists(f"version {int(path.stem)} exists") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def sync_directory(directory: Path) -> None:
    """Return when the names of the files in a directory are on disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
