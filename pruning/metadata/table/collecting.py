"""Collecting block metadata: paths in, a table with a row per row group out."""

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pruning.arguments import check_flag
from pruning.errors import InputError, SkippedFileWarning
from pruning.metadata.files.listing import Listing, Paths, Stamp, list_files
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.footers.footer import is_parquet
from pruning.metadata.table import cache as cached_blocks
from pruning.metadata.table import points
from pruning.metadata.table.blocks import Shard, unite
from pruning.metadata.table.memberships import attach
from pruning.metadata.table.reading import Outcome, read
from pruning.metadata.table.schema import block_schema

# Tables that a session asks again and again, none of more files than this, are put together once.
_REMEMBERED_MAX, _REMEMBERED_FILES_MAX = 8, 10_000


def collect(paths: Paths, *, spark: Any = None, cache: bool = True, verify: bool = False) -> pa.Table:
    """Block metadata of Parquet files: a row per row group, in file order, then row-group order.

    Args:
        paths: A file, a directory (searched at any depth; hidden names are skipped, as Spark does), a
            pattern as Hadoop and Spark read it (`*`, `?`, `[ab]`, `{a,b}`), or a sequence of them; local
            paths or URIs.
        spark: A session that reads the footers where there are very many files.
        cache: Whether to keep what was read beside the data and to use what was kept, as
            `pruning.metadata.table.cache` describes.
        verify: Whether to read every footer and to compare it with what was kept.
    Returns:
        A table as `pruning.metadata.table.schema` describes, with the memberships that `pruning.index` kept
        beside the data, if `cache` and if the files have not changed since. `file` is the path as it was
        given, or the directory as it was given with the relative path behind it.
    Raises:
        InputError: an argument is of another type, a path is missing, holds no data, or is not a
            readable Parquet file; or, with `verify`, what was kept of a file is not what the file says.
    Warns:
        UserWarning: a directory is a Delta Lake, Iceberg or Hudi table, whose removed files are read too.
        SkippedFileWarning: a directory holds files that are not Parquet at all; they are left out.
    """
    check_flag("cache", cache)
    check_flag("verify", verify)
    listing = list_files(paths)
    roots = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    for note in table_format_notes(roots, [listed.file for listed in listing.files]):
        warnings.warn(note, stacklevel=2)
    shards, outcome = _gather(listing, spark=spark, cache=cache, verify=verify)
    strays = _strays(listing, outcome)
    for listed in listing.files:
        if listed.file in outcome.failures and (listed.file not in strays or not shards):
            raise InputError(outcome.failures[listed.file])
    if strays:
        several = f" and {len(strays) - 1:,} more" if len(strays) > 1 else ""
        warnings.warn(
            f"{strays[0]}{several}: skipped, because it is no Parquet file", SkippedFileWarning, stacklevel=2
        )
    metadata = unite(shards, [listed.file for listed in listing.files])
    return _with_index(metadata, listing) if cache else metadata


def block_metadata(where: Any) -> pa.Table:
    """Block metadata that was given as such, or that of the paths that were given.

    Raises:
        InputError: as `collect`; or a table is not as `pruning.metadata.table.schema` describes.
    """
    if not isinstance(where, pa.Table):
        return collect(where)
    for field in block_schema({}):
        if where.schema.names.count(field.name) != 1:
            raise InputError(
                f"The table has {where.schema.names.count(field.name)} columns {field.name!r}, so it is no "
                "block metadata; give what `pruning.collect` returns, or paths."
            )
    columns = where.schema.field("columns").type
    if not pa.types.is_struct(columns) or not all(
        pa.types.is_struct(field.type) and field.type.get_field_index("min") >= 0 for field in columns
    ):
        raise InputError(
            "The table's `columns` has no bounds, so it is no block metadata; give what `pruning.collect` "
            "returns, or paths."
        )
    return where


def _strays(listing: Listing, outcome: Outcome) -> list[str]:
    """The files that cannot be read because they are no Parquet files, and that nobody named."""
    return [
        listed.file
        for listed in listing.files
        if listed.file in outcome.failures and not listed.named and not is_parquet(listed.file)
    ]


def read_blocks(
    files: Sequence[str],
    *,
    stamps: Sequence[Stamp] | None = None,
    spark: Any = None,
    cache: bool = True,
) -> tuple[pa.Table, dict[str, str]]:
    """Block metadata of the files that can be read, and a sentence about each that cannot.

    For callers that leave files they know nothing of unpruned. The other arguments and the table are
    those of `collect`.

    Args:
        stamps: The size and time of each file when the caller listed it. One that has changed since is
            not read, and gets a sentence.
    """
    if not files:
        return unite([], []), {}
    try:
        listing = list_files(files, patterns=False)
    except InputError:
        return _read_those_there(files, stamps, spark=spark, cache=cache)
    changed = {} if stamps is None else _changed_files(listing, stamps)
    if changed:
        unchanged = [file for file in files if file not in changed]
        metadata, failures = read_blocks(unchanged, spark=spark, cache=cache)
        return metadata, failures | changed
    if cache and len(listing.files) <= _REMEMBERED_FILES_MAX:
        stores = (
            cached_blocks.open_cache(listing, name) for name in (cached_blocks.BLOCKS, cached_blocks.INDEX)
        )
        known = _known(listing, *stores)
        if known is not None:
            return known, {}
    shards, outcome = _gather(listing, spark=spark, cache=cache, verify=False)
    metadata = unite(shards, files)
    return (_with_index(metadata, listing) if cache else metadata), outcome.failures


def _read_those_there(
    files: Sequence[str], stamps: Sequence[Stamp] | None, *, spark: Any, cache: bool
) -> tuple[pa.Table, dict[str, str]]:
    """`read_blocks` where some file cannot be listed."""
    failures: dict[str, str] = {}
    for file in files:
        try:
            list_files(file, patterns=False)
        except InputError as error:
            failures[file] = str(error)
    present = [place for place, file in enumerate(files) if file not in failures]
    metadata, others = read_blocks(
        [files[place] for place in present],
        stamps=None if stamps is None else [stamps[place] for place in present],
        spark=spark,
        cache=cache,
    )
    return metadata, failures | others


def _changed_files(listing: Listing, stamps: Sequence[Stamp]) -> dict[str, str]:
    """A sentence about each file that is no longer what it was when it was listed before."""
    return {
        listed.file: f"{listed.file}: has been written since the DataFrame was made; make it anew"
        for listed, stamp in zip(listing.files, stamps, strict=True)
        if not stamp.is_of(listed)
    }


@functools.lru_cache(maxsize=_REMEMBERED_MAX)
def _known(listing: Listing, store: cached_blocks.Cache, index: cached_blocks.Cache) -> pa.Table | None:
    """The metadata of the listed files from what is kept beside them; None where some is not."""
    shards = cached_blocks.reusable(store, listing)
    if {file for part in shards for file in part.files} != {listed.file for listed in listing.files}:
        return None
    return _attached(unite(shards, [listed.file for listed in listing.files]), index, listing)


def _with_index(metadata: pa.Table, listing: Listing) -> pa.Table:
    """The metadata with what an index beside the data still tells of the files."""
    return _attached(metadata, cached_blocks.open_cache(listing, cached_blocks.INDEX), listing)


def _attached(metadata: pa.Table, index: cached_blocks.Cache, listing: Listing) -> pa.Table:
    parts = cached_blocks.reusable(index, listing)
    return points.attach(attach(metadata, parts), parts)


def _gather(listing: Listing, *, spark: Any, cache: bool, verify: bool) -> tuple[list[Shard], Outcome]:
    """What is known of the listed files, kept or read now, and what became of the reading."""
    store = cached_blocks.open_cache(listing) if cache or verify else cached_blocks.NO_CACHE
    reusable = [] if verify else cached_blocks.reusable(store, listing)
    have = {file for part in reusable for file in part.files}
    outcome = read([listed.file for listed in listing.files if listed.file not in have], spark=spark)
    if verify and len(outcome.failures) == len(_strays(listing, outcome)):
        cached_blocks.check(store, listing, outcome.shards)
    if cache:
        cached_blocks.update(store, listing, outcome.shards)
    return [*reusable, *outcome.shards], outcome
