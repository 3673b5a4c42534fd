"""Stores of block metadata that are wrong in one way each; worlds of lakes catch them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

from mutants.replacements import Replacement
from pruning.metadata.files import places
from pruning.metadata.store import contents, history, log, recording, snapshots, store


def _look_at_all(*arguments: Any, complete: bool) -> Any:
    return replace(_LOOK(*arguments, complete=complete), complete=True)


def _create_anew(place: Any, files: Any, items: Any) -> Any:
    return [item._replace(created_us=items[0].created_us) for item in _MERGE(place, files, items)]


def _write_over(*arguments: Any, replaces: bool = True) -> None:
    places.write_shared(*arguments)


def _keep_absent_files(
    before: history.History, listed: Mapping[str, Any], vanished: Iterable[str], *, complete: bool
) -> tuple[str, ...]:
    return history.absent_paths(before, listed, (), complete=False)


def _write_nothing(place: Any, items: Any, shards: Any, modes: Any) -> Any:
    return [
        history.KeptFile(item.path, item.stamp, item.created_us, "none", row)
        for row, item in enumerate(items)
    ]


def _forget_silently(before: history.History) -> history.History:
    return replace(_WITHOUT_OLDEST(before), begin_us=0, complete_us=before.complete_us)


def _date_anew(place: Any, before: history.History, look: Any, fresh: Any) -> Any:
    return replace(look, looked_us=before.looked_us + 1)


def _trust_the_clock(place: Any, before: history.History, look: Any, fresh: Any) -> Any:
    return replace(_AGAIN(place, before, look, fresh), looked_us=recording._now_us())


def _keep_replaced(pack: Any, rows: Any) -> Any:
    return pack


def _swap_rows(pack: Any, columns: Any) -> Any:
    shards = _BLOCKS_IN(pack, columns)
    return [replace(shard, table=shard.table.set_column(0, "file", shard.table[0][::-1])) for shard in shards]


_LOOK, _AGAIN, _MERGE, _WITHOUT_OLDEST, _BLOCKS_IN = (
    recording._look,
    recording._look_again,
    recording._items_to_merge,
    history._without_oldest,
    contents.blocks_in,
)

MUTANTS: Mapping[str, Replacement] = {
    "a snapshot has files that are gone": Replacement(snapshots, "_without", _keep_replaced),
    "a late look counts": Replacement(recording, "is_late", lambda before, looked_us: False),
    "what a late look listed is so now": Replacement(recording, "_look_again", _date_anew),
    "a clock that is behind gives the time of a look": Replacement(
        recording, "_look_again", _trust_the_clock
    ),
    "a look at some files is one at all": Replacement(recording, "_look", _look_at_all),
    "another size or time is the same file": Replacement(store, "file_stamp", lambda listed: ANY),
    "a version replaces one that another writer wrote": Replacement(log, "write_shared", _write_over),
    "a file that moves to another pack is a new one": Replacement(recording, "_items_to_merge", _create_anew),
    "files that are gone stay": Replacement(recording, "absent_paths", _keep_absent_files),
    "packs are not written": Replacement(recording, "_write_pack", _write_nothing),
    "what is not needed any more is deleted at once": Replacement(recording, "_UNUSED_SECONDS", -1),
    "what is forgotten counts as not there": Replacement(history, "_without_oldest", _forget_silently),
    "blocks are under the name of another file": Replacement(store, "blocks_in", _swap_rows),
}
