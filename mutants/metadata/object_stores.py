"""Ways to keep metadata in an object store that are wrong in one way each."""

import time
from collections.abc import Mapping
from typing import Any

from mutants.replacements import Replacement
from pruning.metadata.files import object_stores
from pruning.metadata.files.object_stores import Status
from pruning.metadata.store import packs, recording


def _write_unconditionally(objects: Any, path: str, data: bytes) -> None:
    objects._system.pipe_file(path, data)


def _create_once(objects: Any, path: str, data: bytes) -> None:
    objects._system.pipe_file(path, data, mode="create")


def _age_by_this_machine(infos: Mapping[str, Any]) -> dict[str, Status]:
    statuses = _STATUSES({**infos, "now": {"created": time.time(), "size": 0}})
    return {name: status for name, status in statuses.items() if name != "now"}


def _age_since_writing(infos: Mapping[str, Any]) -> dict[str, Status]:
    dated = {name: info for name, info in infos.items() if not name.endswith(object_stores.DATED)}
    others = {name.removesuffix(object_stores.DATED) + "~": info for name, info in infos.items()}
    return {name: status for name, status in _STATUSES(dated | others).items() if name in dated}


_STATUSES = object_stores._object_statuses

MUTANTS: Mapping[str, Replacement] = {
    "a version is written without the condition": Replacement(
        object_stores._Objects, "_create", _write_unconditionally
    ),
    "a listing outlives what is written": Replacement(object_stores, "_forget_listings", lambda: None),
    "ages are by the clock of this machine": Replacement(
        object_stores, "_object_statuses", _age_by_this_machine
    ),
    "an object that is dated anew is as old as before": Replacement(
        object_stores, "_object_statuses", _age_since_writing
    ),
    "a store of any scheme refuses": Replacement(
        object_stores, "_REFUSING_SCHEMES", frozenset({"memory", "plain"})
    ),
}
# These take a failure of a store for something else.
FAILURE_MUTANTS: Mapping[str, Replacement] = {
    "a version whose answer was lost is another writer's": Replacement(
        object_stores._Objects, "_create", _create_once
    ),
    "packs that a version may name are deleted": Replacement(
        recording, "_no_version_has", lambda place, is_decided: True
    ),
    "what a store does not give is damaged": Replacement(packs, "Unreachable", packs.Damaged),
    "an object is opened once, whatever it has become": Replacement(
        packs.Pack, "sections", packs.Pack._sections
    ),
}
