"""Collecting block metadata from paths: a table with a row per row group."""

import functools
import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from pruning.arguments import check_flag
from pruning.errors import InputError, SkippedFileWarning
from pruning.metadata.files.listing import ListedFile, Listing, Paths, Stamp, list_files
from pruning.metadata.files.table_formats import (
    Marker,
    MarkerCheck,
    arrow_has_markers,
    listed_marker,
    table_format_notes,
)
from pruning.metadata.footers.footer import is_parquet
from pruning.metadata.store.past import files_as_of
from pruning.metadata.store.recording import record_look
from pruning.metadata.store.store import NO_STORE, Store, check_kept, kept_shards, open_store
from pruning.metadata.table import cache as cached_index
from pruning.metadata.table import points
from pruning.metadata.table.blocks import Shard, unite
from pruning.metadata.table.memberships import attach
from pruning.metadata.table.partial import with_columns_read
from pruning.metadata.table.reading import ReadResult, SessionFiles, read_listed_footers
from pruning.metadata.table.schema import block_schema

# Reads the footers of listed files.
FooterReader = Callable[[Sequence[ListedFile]], ReadResult]

# The most tables to keep in memory for repeated use, and the most files of each.
_REMEMBERED_MAX, _REMEMBERED_FILES_MAX = 8, 10_000


def collect(
    paths: Paths,
    *,
    spark: Any = None,
    session: SessionFiles | None = None,
    cache: bool = True,
    verify: bool = False,
    as_of: Any = None,
) -> pa.Table:
    """Collect the block metadata of Parquet files, as `pruning.collect` does, with the files of a session.

    Args:
        paths, cache, verify, as_of: As for `pruning.collect`.
        spark: A session to read the footers with if there are very many files that Arrow reads.
        session: The files that Arrow has no file system for.
    """
    check_flag("cache", cache)
    check_flag("verify", verify)
    listing = list_files(paths, session=session)
    if as_of is not None:
        listing = files_as_of(listing, open_store(listing), as_of)
    roots = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    has_markers = _marker_check(listing, session)
    for note in table_format_notes(roots, [listed.file for listed in listing.files], has_markers=has_markers):
        warnings.warn(note, stacklevel=3)
    read = _footer_reader(spark, session)
    shards, outcome = _gather_shards(listing, read=read, session=session, cache=cache, verify=verify)
    strays = _stray_files(listing, outcome, session)
    for listed in listing.files:
        if listed.file in outcome.failures and (listed.file not in strays or not shards):
            raise InputError(outcome.failures[listed.file])
    if strays:
        several = f" and {len(strays) - 1:,} more" if len(strays) > 1 else ""
        warnings.warn(
            f"{strays[0]}{several}: skipped, because it is no Parquet file", SkippedFileWarning, stacklevel=3
        )
    metadata = unite(shards, [listed.file for listed in listing.files])
    return _with_stored_index(metadata, listing) if cache else metadata


def block_metadata(where: Any, *, session: SessionFiles | None = None) -> pa.Table:
    """Return block metadata: the table itself if one is given, else that of the paths.

    Args:
        where: A table or paths.
        session: As for `collect`.
    Raises:
        InputError: as `collect`; or a table is not as `pruning.metadata.table.schema` describes.
    """
    if not isinstance(where, pa.Table):
        return collect(where, session=session)
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


def _marker_check(listing: Listing, session: SessionFiles | None) -> MarkerCheck:
    """Return a function that looks for the marks of table formats, in the listing first."""

    def has_markers(markers: Sequence[Marker]) -> list[bool]:
        answers = {marker: listed_marker(listing, marker) for marker in markers}
        others = [marker for marker, answer in answers.items() if answer is None]
        if others and session is not None and any(file.by_session for file in listing.files):
            answers |= zip(others, session.has_markers(others), strict=True)
        else:
            answers |= zip(others, arrow_has_markers(others), strict=True)
        return [bool(answers[marker]) for marker in markers]

    return has_markers


def _stray_files(listing: Listing, outcome: ReadResult, session: SessionFiles | None = None) -> list[str]:
    """Return the files that cannot be read, are not Parquet files, and were not named by the caller."""
    return [
        listed.file
        for listed in listing.files
        if listed.file in outcome.failures
        and not listed.named
        and not (session.is_parquet(listed) if session and listed.by_session else is_parquet(listed.file))
    ]


def read_blocks(
    files: Sequence[str],
    *,
    stamps: Sequence[Stamp] | None = None,
    columns: frozenset[str] | None = None,
    spark: Any = None,
    cache: bool = True,
) -> tuple[pa.Table, dict[str, str]]:
    """Return the block metadata of the files that can be read, and a sentence about each that cannot.

    It is for callers that leave files without metadata unpruned. The other arguments and the table are
    those of `collect`.

    Args:
        stamps: The size and time of each file when the caller listed it. A file that has changed since
            is not read, and gets a sentence.
        columns: The top-level columns that are needed; None for all. Where footers are read, those of all are
            returned; `pruning.metadata.table.partial` tells which they are.
    """
    if not files:
        return unite([], []), {}
    try:
        listing = list_files(files, patterns=False)
    except InputError:
        return _read_existing(files, stamps, columns=columns, spark=spark, cache=cache)
    changed = {} if stamps is None else changed_files(listing.files, stamps)
    if changed:
        unchanged = [file for file in files if file not in changed]
        metadata, failures = read_blocks(unchanged, columns=columns, spark=spark, cache=cache)
        return metadata, failures | changed
    return read_listed_blocks(listing, read=_footer_reader(spark), columns=columns, cache=cache)


def read_listed_blocks(
    listing: Listing, *, read: FooterReader, columns: frozenset[str] | None = None, cache: bool = True
) -> tuple[pa.Table, dict[str, str]]:
    """Return the block metadata of listed files, and a sentence about each that cannot be read.

    Args:
        listing: The files.
        read: Reads the footers of those whose metadata is not kept.
        columns: The top-level columns that are needed; None for all.
        cache: Whether to use and update the kept metadata.
    """
    if cache and len(listing.files) <= _REMEMBERED_FILES_MAX:
        kept = _kept_metadata(listing, open_store(listing), cached_index.open_cache(listing), columns)
        if kept is not None:
            return kept, {}
    shards, outcome = _gather_shards(listing, read=read, cache=cache, verify=False)
    metadata = unite(shards, [listed.file for listed in listing.files])
    return (_with_stored_index(metadata, listing) if cache else metadata), outcome.failures


def _read_existing(
    files: Sequence[str],
    stamps: Sequence[Stamp] | None,
    *,
    columns: frozenset[str] | None,
    spark: Any,
    cache: bool,
) -> tuple[pa.Table, dict[str, str]]:
    """Do the work of `read_blocks` if some files cannot be listed."""
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
        columns=columns,
        spark=spark,
        cache=cache,
    )
    return metadata, failures | others


def changed_files(listed_files: Sequence[ListedFile], stamps: Sequence[Stamp]) -> dict[str, str]:
    """Return a sentence about each file that has changed since its stamp was taken."""
    return {
        listed.file: f"{listed.file}: has been written since the DataFrame was made; make it anew"
        for listed, stamp in zip(listed_files, stamps, strict=True)
        if not stamp.is_of(listed)
    }


@functools.lru_cache(maxsize=_REMEMBERED_MAX)
def _kept_metadata(
    listing: Listing, store: Store, index: cached_index.Cache, columns: frozenset[str] | None
) -> pa.Table | None:
    """Return the metadata of the listed files from the store; None if that of some file is not kept."""
    shards = kept_shards(store, listing, columns)
    if {file for part in shards for file in part.files} != {listed.file for listed in listing.files}:
        return None
    united = with_columns_read(unite(shards, [listed.file for listed in listing.files]), columns)
    return _attach_index(united, index, listing)


def _with_stored_index(metadata: pa.Table, listing: Listing) -> pa.Table:
    """Return the metadata with the entries of the index beside the data that are still valid."""
    return _attach_index(metadata, cached_index.open_cache(listing), listing)


def _attach_index(metadata: pa.Table, index: cached_index.Cache, listing: Listing) -> pa.Table:
    parts = cached_index.reusable_shards(index, listing)
    return points.attach(attach(metadata, parts), parts)


def _footer_reader(spark: Any, session: SessionFiles | None = None) -> FooterReader:
    """Return a function that reads footers, by a Spark job if there are very many that Arrow reads."""
    return partial(read_listed_footers, spark=spark, session=session)


def _gather_shards(
    listing: Listing, *, read: FooterReader, session: SessionFiles | None = None, cache: bool, verify: bool
) -> tuple[list[Shard], ReadResult]:
    """Return the shards of the listed files, kept or read now, and the result of the reading."""
    store = open_store(listing) if cache or verify else NO_STORE
    kept = kept_shards(store, listing)
    kept_files = {file for part in kept for file in part.files}
    wanted = [listed for listed in listing.files if verify or listed.file not in kept_files]
    outcome = read(wanted)
    only_strays_fail = len(outcome.failures) == len(_stray_files(listing, outcome, session))
    if verify and only_strays_fail:
        check_kept(store, listing, kept, outcome.shards)
    if cache:
        record_look(store, listing, outcome, kept=kept_files, complete=listing.whole and only_strays_fail)
    return [*([] if verify else kept), *outcome.shards], outcome
