"""Opening of a version of a table of Delta Lake.

The log is replayed here rather than by delta-rs, which gives statistics as it has interpreted them, no
descriptors of deletion vectors, and no table with widened types. The tests compare the files of both.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.metadata.delta.actions import FILE_ACTIONS, Actions, read_actions
from pruning.metadata.delta.blocks import DeltaBlocks
from pruning.metadata.delta.columns import DeltaColumns, columns_of
from pruning.metadata.delta.field_ids import check_names
from pruning.metadata.delta.log_files import DeltaLog, list_log
from pruning.metadata.delta.partition_values import partition_ids, partition_table
from pruning.metadata.delta.protocol import check_protocol, mapping_mode
from pruning.metadata.delta.replay import live_files
from pruning.metadata.delta.times import version_at
from pruning.metadata.delta.vectors import DeletionVectors
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.table.structs import whole
from pruning.metadata.versioned.table_version import TableVersion, VersionFiles

_FORMAT = "Delta Lake"


def open_delta_version(
    path: str, *, version: int | None = None, timestamp_us: int | None = None, zone: str | None = None
) -> TableVersion:
    """Return a version of the table of Delta Lake in a directory.

    Args:
        path: The directory that holds `_delta_log`: a local path, or a URI.
        version: The version; by default the newest.
        timestamp_us: Instead of a version, a time, us since 1970: the newest version that was committed then
            or before.
        zone: The time zone of partition values of timestamps that name none, as that of the session that
            wrote them.

    Raises:
        InputError: there is no such table or version, its log is damaged, or it uses what is not read here.
    """
    if version is not None and timestamp_us is not None:
        raise InputError(f"{path}: give version or timestamp_us, not both")
    log = list_log(path)
    if timestamp_us is not None:
        newest = read_actions(log, log.segment(log.newest))
        check_protocol(log.location, newest.protocol)
        version = version_at(log, timestamp_us, _metadata(log, newest)["configuration"])
    segment = log.segment(log.newest if version is None else version)
    return _table_version(log, segment.version, read_actions(log, segment), zone)


def _table_version(log: DeltaLog, version: int, actions: Actions, zone: str | None) -> TableVersion:
    check_protocol(log.location, actions.protocol)
    assert actions.protocol is not None
    metadata = _metadata(log, actions)
    mode = mapping_mode(log.location, actions.protocol, metadata["configuration"])
    columns = columns_of(log.location, metadata, is_mapped=mode != "none")
    batches = live_files(actions.files)
    table = pa.concat_tables([FILE_ACTIONS.empty_table(), *(batch.table for batch in batches)])
    files = _files(log, table, columns, zone)
    if mode == "id":
        check_names(files.paths, columns.ids)
    vectors = DeletionVectors(log=log, paths=files.paths, descriptors=whole(table["deletionVector"]))
    return TableVersion(
        format=_FORMAT,
        location=log.location,
        version=version,
        schema=columns.schema,
        partition_columns=tuple(columns.partition_fields),
        layouts=(columns.layout,),
        files=files,
        deleted_rows=vectors,
        equality_deletes=(),
        blocks=DeltaBlocks(batches=batches, columns=columns, files=files, vectors=vectors),
        widened=columns.widened,
    )


def _metadata(log: DeltaLog, actions: Actions) -> dict[str, Any]:
    """Return the table's metadata, with a configuration.

    Raises:
        InputError: there is none.
    """
    if actions.metadata is None:
        raise InputError(
            f"{log.location}: its log has no metadata, so it is damaged: restore its first commits"
        )
    return actions.metadata | {"configuration": actions.metadata.get("configuration") or {}}


def _files(log: DeltaLog, table: pa.Table, columns: DeltaColumns, zone: str | None) -> VersionFiles:
    """Return the files that actions add.

    Raises:
        InputError: a file is in the version twice, or a partition value cannot be read.
    """
    paths = whole(table["path"])
    _check_distinct(paths)
    values = partition_table(whole(table["partitionValues"]), paths, columns.partition_fields, zone)
    return VersionFiles(
        paths=tuple(paths.to_pylist()),
        byte_counts=_numbers(table, "size", log),
        modified_ms=pc.fill_null(table["modificationTime"], 0).to_numpy(),
        layouts=np.zeros(len(paths), np.int64),
        partition_values=values,
        sequence_numbers=np.zeros(len(paths), np.int64),
        partition_ids=partition_ids(values, len(paths)),
    )


def _check_distinct(paths: pa.Array) -> None:
    if pc.count_distinct(paths).as_py() != len(paths):
        counts = paths.value_counts()
        repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0].as_py()
        raise InputError(
            f"{repeated}: is in this version of the table twice, with other deletion vectors; the log is "
            "damaged: read an earlier version"
        )


def _numbers(table: pa.Table, name: str, log: DeltaLog) -> Numbers:
    if table[name].null_count:
        file = table["path"].filter(table[name].is_null())[0].as_py()
        raise InputError(
            f"{file}: the log of {log.location} lacks its {name}; restore the commit that added it"
        )
    numbers: Numbers = table[name].to_numpy()
    return numbers
