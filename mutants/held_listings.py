"""Mutants of what is held in memory of listed files: each forgets a part of what its answer depends on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mutants.replacements import Replacement
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.store import collecting
from pruning.spark.drive import block_reading, scan_sets
from pruning.spark.lake import listings


def _digest_of_less(forget: Callable[[TableFiles], TableFiles]) -> Sequence[Replacement]:
    """Return the mutant whose digest forgets a part of a listing, in Java and in Python."""

    def listing_digest(spark: Any, index: Any) -> str:
        return forget(listings.fetch_files(spark, index)).digest

    def digest_of(files: TableFiles) -> str:
        return forget(files).digest

    return (
        Replacement(listings, "listing_digest", listing_digest),
        Replacement(listings, "digest_of", digest_of),
    )


def _without_sizes(files: TableFiles) -> TableFiles:
    return replace(files, stamps=tuple(Stamp(0, stamp.modified_ms) for stamp in files.stamps))


def _without_times(files: TableFiles) -> TableFiles:
    return replace(files, stamps=tuple(Stamp(stamp.size_bytes, 0) for stamp in files.stamps))


def _without_directories(files: TableFiles) -> TableFiles:
    names = tuple(file.rpartition("/")[2] for file in files.files)
    return replace(files, files=names, roots=())


class _ByNames(Recent[Any, Any]):
    """Holds a listing under the names of its files, whatever their sizes and times."""

    def get(self, key: Any) -> Any:
        return super().get(key.files)

    def keep(self, key: Any, value: Any, weight: int) -> None:
        super().keep(key.files, value, weight)


class _OfLessFacts(Recent[Any, Any]):
    """Holds block metadata whatever one of the facts is that it was made of."""

    def __init__(self, forgotten: str) -> None:
        super().__init__(1 << 30)
        self.forgotten = forgotten

    def get(self, key: Any) -> Any:
        return super().get(key._replace(**{self.forgotten: None}))

    def keep(self, key: Any, value: Any, weight: int) -> None:
        super().keep(key._replace(**{self.forgotten: None}), value, weight)


def _always(listing: Any) -> bool:
    return True


def _none_changed(files: Any, stamps: Any) -> dict[str, str]:
    return {}


def _alike(self: Any, other: Any) -> bool:
    return True


def _zero(self: Any) -> int:
    return 0


MUTANTS: Mapping[str, Sequence[Replacement]] = {
    "sizes are not in the digest": _digest_of_less(_without_sizes),
    "times are not in the digest": _digest_of_less(_without_times),
    "directories are not in the digest": _digest_of_less(_without_directories),
    "a listing is held by its names": (Replacement(block_reading, "_UNCHANGED", _ByNames(1_000)),),
    "files that may change unseen are held": (Replacement(block_reading, "is_settled", _always),),
    "files that have changed are held": (Replacement(collecting, "changed_files", _none_changed),),
    **{
        f"the {fact} of kept metadata does not matter": (
            Replacement(collecting, "_METADATA", _OfLessFacts(fact)),
        )
        for fact in ("listing", "store", "indexed", "packs", "columns")
    },
    "blocks of other metadata have the same files": (
        Replacement(scan_sets.IdenticalBlocks, "__eq__", _alike),
        Replacement(scan_sets.IdenticalBlocks, "__hash__", _zero),
    ),
}
