"""A snapshot of a store, compared with the history that the store has in memory."""

from pruning.metadata.files.places import Place
from pruning.metadata.store.log import Version
from pruning.metadata.store.snapshots import open_snapshot, paths_of


def check_snapshot(place: Place, version: Version) -> None:
    """Check that a snapshot has the files of the history, whole or pack by pack; pass over a damaged log."""
    if version.trouble is not None or version.number == 0:
        return
    now, snapshot = version.history, open_snapshot(place)
    assert snapshot is not None
    assert paths_of(snapshot.files()) == sorted(now.files)
    size_bytes = sum(file.stamp[0] for file in now.files.values())
    assert (snapshot.file_count, snapshot.size_bytes) == (len(now.files), size_bytes)
    assert snapshot.is_whole == (bool(now.complete_us) and now.complete_us[-1] == now.looked_us)
    kept = {
        (pack.name, file["row"]): (file["path"].decode(), file["size_bytes"], file["modified_ns"])
        for pack in snapshot.packs
        for file in pack.files().to_pylist()
    }
    assert kept == {(file.pack, file.row): (file.path, *file.stamp) for file in now.files.values()}
    if kept:
        assert snapshot.first == min(now.files)
