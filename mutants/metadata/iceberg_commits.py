"""Commits to Iceberg tables that are wrong in one way each."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

from pyiceberg.manifest import ManifestContent
from pyiceberg.table.update import AssertTableUUID

from mutants.replacements import Replacement
from pruning.metadata.iceberg.commits import added_files, committing, conflicts, manifests, new_snapshots
from pruning.metadata.iceberg.commits.position_files import path_bounds
from pruning.metadata.iceberg.commits.snapshot_files import SnapshotEffect

_write_entries = manifests.SnapshotWriter._manifest


def _require_the_table_alone(metadata: Any) -> tuple[Any, ...]:
    return (AssertTableUUID(uuid=metadata.table_uuid),)


def _number_added_entries(writer: Any, spec_id: int, content: Any, entries: Any) -> Any:
    entries = list(entries)
    for entry in entries:
        if entry.sequence_number is None:
            entry.sequence_number = entry.file_sequence_number = 0
    return _write_entries(writer, spec_id, content, entries)


def _add_deletes_as_data(writer: Any, spec_id: int, content: Any, entries: Any) -> Any:
    return _write_entries(writer, spec_id, ManifestContent.DATA, entries)


def _drop_what_is_removed(writer: Any, manifest: Any, entries: Any, removed: Any) -> Any:
    return manifest


def _remove_every_file(data_file: Any, content: Any, removed: frozenset[str]) -> bool:
    return content == ManifestContent.DATA and bool(removed)


def _drop_any_delete_file(delete_file: Any, paths: frozenset[str]) -> bool:
    return bool(paths)


def _lower_bound_twice(delete_file: Any) -> tuple[bytes, bytes] | None:
    bounds = path_bounds(delete_file)
    return None if bounds is None else (bounds[0], bounds[0])


def _names_without_content(delete_file: Any, paths: frozenset[str]) -> bool:
    bounds = path_bounds(delete_file)
    return bounds is not None and bounds[0] == bounds[1]


# Mutants of what is written, which rows of the table or entries of its manifests show.
WRITING_MUTANTS: Mapping[str, Replacement] = {
    "deletes are added as data": Replacement(manifests.SnapshotWriter, "_manifest", _add_deletes_as_data),
    "added files have the first sequence number": Replacement(
        manifests.SnapshotWriter, "_manifest", _number_added_entries
    ),
    "a removed file stays in its manifest": Replacement(
        manifests.SnapshotWriter, "remove_files", _drop_what_is_removed
    ),
    "files leave other manifests too": Replacement(new_snapshots, "_leaves", _remove_every_file),
    "delete files leave with any data file": Replacement(new_snapshots, "names_only", _drop_any_delete_file),
    "the current schema is that of each spec": Replacement(
        manifests, "schema_of_spec", lambda metadata, spec: metadata.schema()
    ),
}
# A mutant that loses updates of concurrent writers.
RACING_MUTANTS: Mapping[str, Replacement] = {
    "the parent is no requirement": Replacement(committing, "_requirements", _require_the_table_alone),
}
# A mutant that writes a version of a directory over one that another writer wrote.
DIRECTORY_MUTANTS: Mapping[str, Replacement] = {
    "a version's file is replaced": Replacement(os, "link", shutil.copyfile),
}
# A mutant that passes over row groups without bounds.
BOUNDS_MUTANTS: Mapping[str, Replacement] = {
    "bounds of some row groups are those of the file": Replacement(
        added_files, "_weaken", lambda data_file, footer, schema: None
    ),
}
# Mutants of which delete files concern which data files.
CONCERN_MUTANTS: Mapping[str, Replacement] = {
    "the partition alone decides": Replacement(conflicts, "path_bounds", lambda delete_file: None),
    "only the lower bound is looked at": Replacement(conflicts, "path_bounds", _lower_bound_twice),
    "any delete file leaves with its path": Replacement(conflicts, "names_only", _names_without_content),
}
# Mutants of the checks, each with another writer's statement after which it refuses too little or too much.
CONFLICT_MUTANTS: Mapping[str, tuple[Replacement, str]] = {
    "nothing is validated": (
        Replacement(committing, "check_conflicts", lambda *arguments: frozenset()),
        "append selected rows",
    ),
    "files need not exist": (
        Replacement(conflicts, "_check_files_exist", lambda *arguments: frozenset()),
        "compact A",
    ),
    "rows that another deleted may be updated": (
        Replacement(conflicts, "_check_no_new_deletes", lambda *arguments: None),
        "update a row of A",
    ),
    "no file is asked about": (
        Replacement(conflicts, "_may_match", lambda change, entries: False),
        "delete C",
    ),
    "delete files concern all data files": (
        Replacement(conflicts, "may_concern", lambda delete_file, data_file: True),
        "delete a row of B",
    ),
    "delete files concern no data file": (
        Replacement(conflicts, "may_concern", lambda delete_file, data_file: False),
        "delete a row of C",
    ),
    "compaction changes rows": (Replacement(SnapshotEffect, "keeps_rows", False), "compact C"),
}
