"""Collecting block metadata from paths: a table with a row per row group."""

import functools
import os
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from pruning.arguments import check_flag
from pruning.errors import DamagedMetadataWarning, InputError, SkippedFileWarning
from pruning.metadata.files.listing import ListedFile, Listing, Paths, Stamp, list_files
from pruning.metadata.files.object_stores import listing_once
from pruning.metadata.files.places import may_change_unseen
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_formats import (
    Marker,
    MarkerCheck,
    arrow_has_markers,
    listed_marker,
    table_format_notes,
)
from pruning.metadata.footers.footer import is_parquet
from pruning.metadata.store.measured_packs import MeasuredPacks, measured_packs, measured_shards
from pruning.metadata.store.past import files_as_of
from pruning.metadata.store.recording import record_look
from pruning.metadata.store.searching import ExcludedFiles, Question, SearchResult, search_packs
from pruning.metadata.store.store import (
    NO_STORE,
    Store,
    blocks_loaded_max,
    check_kept,
    kept_shards,
    large_packs,
    open_store,
)
from pruning.metadata.table import cache as cached_index
from pruning.metadata.table import points
from pruning.metadata.table.blocks import Shard, unite
from pruning.metadata.table.measured import attach_measured
from pruning.metadata.table.memberships import attach
from pruning.metadata.table.partial import only_columns, with_columns_read
from pruning.metadata.table.reading import ReadResult, SessionFiles, read_listed_footers
from pruning.metadata.table.schema import block_schema

# Reads the footers of listed files.
FooterReader = Callable[[Sequence[ListedFile]], ReadResult]

# Returns the top-level columns whose metadata is needed; None for all.
ColumnChoice = Callable[[], Collection[str] | None]

# The most tables of which it is held in memory that they are not very large.
_SMALL_TABLES_MAX = 16
# The most bytes of block metadata and of listings to hold in memory for repeated use, about so many for each
# file of a listing; and the most files of a table of which they are held.
_BYTES_HELD_MAX, _BYTES_OF_FILE, _FILES_HELD_MAX = 512 << 20, 600, 200_000


def all_columns() -> None:
    """Choose the metadata of all columns."""


class BlocksRead(NamedTuple):
    """The block metadata of files.

    Attributes:
        metadata: That of the files that could be read, except for `excluded`.
        failures: A sentence about each file that could not be read.
        excluded: The files of a large table of which the question has excluded all blocks.
    """

    metadata: pa.Table
    failures: dict[str, str]
    excluded: tuple[ExcludedFiles, ...] = ()


def collect(
    paths: Paths,
    *,
    spark: Any = None,
    session: SessionFiles | None = None,
    choose_columns: ColumnChoice = all_columns,
    cache: bool = True,
    verify: bool = False,
    as_of: Any = None,
) -> pa.Table:
    """Collect the block metadata of Parquet files, as `pruning.collect` does, with the files of a session.

    Args:
        paths, cache, verify, as_of: As for `pruning.collect`.
        spark: A session to read the footers with if there are very many files that Arrow reads.
        session: The files that Arrow has no file system for.
        choose_columns: Called once the files are listed; a column that no file has is no error.
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
    read, columns = footer_reader(spark, session), choose_columns()
    shards, outcome = _gather_shards(
        listing, read=read, session=session, columns=columns, cache=cache, verify=verify
    )
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
    if cache:
        metadata = with_data_facts(metadata, listing, columns)
    return metadata if columns is None else only_columns(metadata, columns)


def block_metadata(
    where: Any, *, session: SessionFiles | None = None, choose_columns: ColumnChoice = all_columns
) -> pa.Table:
    """Return block metadata: the table itself if one is given, else that of the paths.

    Args:
        where: A table or paths.
        session, choose_columns: As for `collect`.
    Raises:
        InputError: as `collect`; or a table is not as `pruning.metadata.table.schema` describes.
    """
    if not isinstance(where, pa.Table):
        with listing_once():
            return collect(where, session=session, choose_columns=choose_columns)
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
    question: Question | None = None,
    spark: Any = None,
    cache: bool = True,
) -> BlocksRead:
    """Return the block metadata of the files that can be read.

    It is for callers that leave files without metadata unpruned. The other arguments and the table are
    those of `collect`.

    Args:
        stamps: The size and time of each file when the caller listed it. A file that has changed since
            is not read, and gets a sentence.
        columns: The top-level columns that are needed; None for all. Where footers are read, those of all are
            returned; `pruning.metadata.table.partial` tells which they are.
        question: Marks the blocks that are needed; of a large table, the others may be left out.
    """
    if not files:
        return BlocksRead(unite([], []), {})
    read_some = partial(read_blocks, columns=columns, question=question, spark=spark, cache=cache)
    try:
        listing = list_files(files, patterns=False)
    except InputError:
        return _read_existing(files, stamps, read_some)
    changed = {} if stamps is None else changed_files(listing.files, stamps)
    if changed:
        blocks = read_some([file for file in files if file not in changed])
        return blocks._replace(failures=blocks.failures | changed)
    return read_listed_blocks(
        listing, read=footer_reader(spark), columns=columns, question=question, spark=spark, cache=cache
    )


@listing_once()
def read_listed_blocks(
    listing: Listing,
    *,
    read: FooterReader,
    columns: frozenset[str] | None = None,
    question: Question | None = None,
    spark: Any = None,
    cache: bool = True,
) -> BlocksRead:
    """Return the block metadata of listed files.

    Args:
        listing: The files.
        read: Reads the footers of those whose metadata is not kept.
        columns: The top-level columns that are needed; None for all.
        question: As for `read_blocks`.
        spark: A session whose tasks search a very large table.
        cache: Whether to use and update the kept metadata.
    """
    store = open_store(listing) if cache else NO_STORE
    if question is not None and not _is_small(store, listing, blocks_loaded_max()):
        packs = large_packs(store, listing)
        if packs is not None:
            return _search(listing, search_packs(packs, columns, question, spark=spark), store, read, columns)
    if cache and len(listing.files) <= _FILES_HELD_MAX:
        index, measured = cached_index.open_cache(listing), measured_packs(listing)
        kept = _held_metadata(_KeptFacts(listing, store, index, measured, columns))
        if kept is not None:
            return BlocksRead(kept, {})
    shards, outcome = _gather_shards(listing, read=read, cache=cache, verify=False)
    metadata = unite(shards, [listed.file for listed in listing.files])
    return BlocksRead(with_data_facts(metadata, listing) if cache else metadata, outcome.failures)


def _search(
    listing: Listing, searched: SearchResult, store: Store, read: FooterReader, columns: frozenset[str] | None
) -> BlocksRead:
    """Return the block metadata that a search has kept, and that of the files that it did not know."""
    for sentence in searched.damaged:
        warnings.warn(
            f"{sentence}; the footers of its files are read again", DamagedMetadataWarning, stacklevel=2
        )
    excluded = {file for files in searched.excluded for file in files.files}
    searched_files = {file for shard in searched.shards for file in shard.files} | excluded
    outcome = read([listed for listed in listing.files if listed.file not in searched_files])
    record_look(store, listing, outcome, complete=False)
    left = [listed.file for listed in listing.files if listed.file not in excluded]
    united = with_columns_read(unite([*searched.shards, *outcome.shards], left), columns)
    return BlocksRead(with_data_facts(united, listing, columns), outcome.failures, tuple(searched.excluded))


def unchanged_listing(files: Sequence[str], stamps: Sequence[Stamp]) -> Listing | None:
    """Return files as they are now; None unless each still has the size and time of its stamp."""
    try:
        listing = list_files(files, patterns=False)
    except InputError:
        return None
    return None if changed_files(listing.files, stamps) else listing


def is_settled(listing: Listing) -> bool:
    """Tell whether each file that is written again after it was listed gets another size or time."""
    listed_ns = listing.looked_us * 1_000
    return not any(may_change_unseen(listed, listed_ns) for listed in listing.files)


def footer_reader(spark: Any, session: SessionFiles | None = None) -> FooterReader:
    """Return a function that reads footers, by a Spark job if there are very many that Arrow reads."""
    return partial(read_listed_footers, spark=spark, session=session)


def _read_existing(
    files: Sequence[str], stamps: Sequence[Stamp] | None, read_some: Callable[..., BlocksRead]
) -> BlocksRead:
    """Do the work of `read_blocks` if some files cannot be listed."""
    failures: dict[str, str] = {}
    for file in files:
        try:
            list_files(file, patterns=False)
        except InputError as error:
            failures[file] = str(error)
    present = [place for place, file in enumerate(files) if file not in failures]
    blocks = read_some(
        [files[place] for place in present],
        stamps=None if stamps is None else [stamps[place] for place in present],
    )
    return blocks._replace(failures=failures | blocks.failures)


def changed_files(listed_files: Sequence[ListedFile], stamps: Sequence[Stamp]) -> dict[str, str]:
    """Return a sentence about each file that has changed since its stamp was taken."""
    return {
        listed.file: f"{listed.file}: has been written since the DataFrame was made; make it anew"
        for listed, stamp in zip(listed_files, stamps, strict=True)
        if not stamp.is_of(listed)
    }


@functools.lru_cache(maxsize=_SMALL_TABLES_MAX)
def _is_small(store: Store, listing: Listing, blocks_max: int) -> bool:
    """Tell whether what is kept of the listed files has at most so many blocks, and is loaded whole."""
    return large_packs(store, listing) is None


class _KeptFacts(NamedTuple):
    """All that block metadata depends on which is made of what is kept beside the data."""

    listing: Listing
    store: Store
    indexed: cached_index.Cache
    packs: MeasuredPacks
    columns: frozenset[str] | None


# Their block metadata; None if that of some file is not kept.
_METADATA: Recent[_KeptFacts, tuple[pa.Table | None]] = Recent(_BYTES_HELD_MAX)


def _held_metadata(facts: _KeptFacts) -> pa.Table | None:
    """Return block metadata from the store, made once of the same facts; None if some is not kept."""
    held = _METADATA.get(facts)
    if held is None:
        held = (_kept_metadata(facts),)
        size = 0 if held[0] is None else held[0].nbytes
        _METADATA.keep(facts, held, size + _BYTES_OF_FILE * len(facts.listing.files))
    return held[0]


def _kept_metadata(facts: _KeptFacts) -> pa.Table | None:
    listing, store, indexed, packs, columns = facts
    shards = kept_shards(store, listing, columns)
    if {file for part in shards for file in part.files} != {listed.file for listed in listing.files}:
        return None
    united = with_columns_read(unite(shards, [listed.file for listed in listing.files]), columns)
    united = attach_measured(united, measured_shards(packs, listing, columns))
    return _attach_index(united, indexed, listing)


def with_data_facts(metadata: pa.Table, listing: Listing, columns: Collection[str] | None = None) -> pa.Table:
    """Return the metadata with what was measured, and the entries of the index, that are still valid."""
    metadata = attach_measured(metadata, measured_shards(measured_packs(listing), listing, columns))
    return _attach_index(metadata, cached_index.open_cache(listing), listing)


def _attach_index(metadata: pa.Table, index: cached_index.Cache, listing: Listing) -> pa.Table:
    parts = cached_index.reusable_shards(index, listing)
    return points.attach(attach(metadata, parts), parts)


def _gather_shards(
    listing: Listing,
    *,
    read: FooterReader,
    session: SessionFiles | None = None,
    columns: Collection[str] | None = None,
    cache: bool,
    verify: bool,
) -> tuple[list[Shard], ReadResult]:
    """Return the shards of the listed files, kept or read now, and the result of the reading.

    The shards have the metadata of these top-level columns, None is all, and the result that of all columns.
    """
    store = open_store(listing) if cache or verify else NO_STORE
    kept = kept_shards(store, listing, None if verify else columns)
    kept_files = {file for part in kept for file in part.files}
    wanted = [listed for listed in listing.files if verify or listed.file not in kept_files]
    outcome = read(wanted)
    only_strays_fail = len(outcome.failures) == len(_stray_files(listing, outcome, session))
    if verify and only_strays_fail:
        check_kept(store, listing, kept, outcome.shards)
    if cache:
        record_look(store, listing, outcome, kept=kept_files, complete=listing.whole and only_strays_fail)
    shards = [*([] if verify else kept), *outcome.shards]
    if columns is not None:
        shards = [Shard(shard.files, only_columns(shard.table, columns)) for shard in shards]
    return shards, outcome
