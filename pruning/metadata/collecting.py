"""Collecting block metadata: paths in, a table with a row per row group out."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata import cache as cached_blocks
from pruning.metadata.blocks import unite
from pruning.metadata.listing import Paths, list_files
from pruning.metadata.reading import read


def collect(paths: Paths, *, spark: Any = None, cache: bool = True, verify: bool = False) -> pa.Table:
    """Block metadata of Parquet files: a row per row group, in file order, then row-group order.

    Args:
        paths: A file, a directory (searched at any depth; hidden names are skipped, as Spark does),
            or a sequence of them; local paths or URIs.
        spark: A session that reads the footers where there are very many files.
        cache: Whether to keep what was read beside the data and to use what was kept, as
            `pruning.metadata.cache` describes.
        verify: Whether to read every footer and to compare it with what was kept.
    Returns:
        A table as `pruning.metadata.schema` describes. `file` is the path as it was given, or the
        directory as it was given with the relative path behind it.
    Raises:
        InputError: a path is missing, holds no data, or is not a readable Parquet file; or, with
            `verify`, what was kept of a file is not what the file says.
    """
    listing = list_files(paths)
    store = cached_blocks.open_cache(listing) if cache or verify else cached_blocks.NO_CACHE
    reusable = [] if verify else cached_blocks.reusable(store, listing)
    have = {file for part in reusable for file in part.files}
    outcome = read([listed.file for listed in listing.files if listed.file not in have], spark=spark)
    for listed in listing.files:
        if listed.file in outcome.failures:
            raise InputError(outcome.failures[listed.file])
    if verify:
        cached_blocks.check(store, listing, outcome.shards)
    if cache:
        cached_blocks.update(store, listing, outcome.shards)
    return unite([*reusable, *outcome.shards], [listed.file for listed in listing.files])


def read_blocks(files: Sequence[str], *, spark: Any = None) -> tuple[pa.Table, dict[str, str]]:
    """Block metadata of the files that can be read, and a sentence about each that cannot.

    For callers that leave files they know nothing of unpruned. Nothing is listed and nothing kept.
    """
    outcome = read(files, spark=spark)
    return unite(outcome.shards, files), outcome.failures
