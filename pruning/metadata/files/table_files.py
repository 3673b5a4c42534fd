"""The files of a table as an engine has listed them, and a digest that tells one listing from another."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.locations import is_on_local_disk, parent_and_name, to_uri

# No path and no URI contains this character.
_SEPARATOR = "\0"


@dataclass(frozen=True)
class TableFiles:
    """Files in the order of a listing. What is derived of them is computed once.

    Attributes:
        roots: The paths that were listed.
        files: The files, as URIs.
        stamps: Their sizes and times in that listing.
    """

    roots: tuple[str, ...]
    files: tuple[str, ...]
    stamps: tuple[Stamp, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.roots, self.files, self.stamps))

    @cached_property
    def digest(self) -> str:
        """The digest of all that the listing says, in hexadecimal digits.

        Claim     Two listings with the same digest are equal.
        Premises  SHA-256 has no known collision, and no path contains NUL.
        Proof     (1) The number of roots and the separators tell where each path, size and time begins, so
                  that the text is another one for any other listing.
                  (2) Java computes the digest of the same text (`FileListings`). A listing is kept under it
                  only if both digests agree.
        """
        texts = [str(len(self.roots)), *self.roots]
        for file, stamp in zip(self.files, self.stamps, strict=True):
            texts += (file, str(stamp.size_bytes), str(stamp.modified_ms))
        text = "".join(f"{part}{_SEPARATOR}" for part in texts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def are_distinct(self) -> bool:
        """True if no file is listed twice."""
        return len(set(self.files)) == len(self.files)

    @cached_property
    def are_local(self) -> bool:
        """True if all files are on the local disk."""
        return all(map(is_on_local_disk, self.files))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The bytes of each file; shape (files,)."""
        return np.fromiter((stamp.size_bytes for stamp in self.stamps), np.int64, len(self.stamps))

    @cached_property
    def one_of_each_directory(self) -> tuple[str, ...]:
        """A file of each directory, and each file that is a root."""
        by_directory: dict[str | None, str] = {}
        for file in self.files:
            by_directory.setdefault(parent_and_name(file)[0], file)
        are_roots = sorted(set(self.files).intersection(map(to_uri, self.roots)))
        return tuple(dict.fromkeys([*by_directory.values(), *are_roots]))

    @cached_property
    def order(self) -> np.ndarray:
        """The places of the files in the order of their names; shape (files,)."""
        return np.array(sorted(range(len(self.files)), key=self.files.__getitem__), np.int64)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {file: place for place, file in enumerate(self.files)}

    def mask_of(self, files: Iterable[str]) -> np.ndarray:
        """Mark some of the files, others are ignored; shape (files,)."""
        mask = np.zeros(len(self.files), bool)
        mask[[self._places[file] for file in files if file in self._places]] = True
        return mask

    def names_at(self, mask: np.ndarray) -> list[str]:
        """Return the files of a mask of shape (files,), in their order."""
        if mask.all():
            return list(self.files)
        files = self.files
        return [files[place] for place in np.flatnonzero(mask).tolist()]

    def some(self, places: Sequence[int]) -> "TableFiles":
        """Return the files at some places."""
        return TableFiles(
            self.roots,
            tuple(self.files[place] for place in places),
            tuple(self.stamps[place] for place in places),
        )
