"""The lake of `lake_world` with its store among objects in memory."""

import os
from datetime import timedelta
from unittest.mock import patch

from fsspec.implementations.memory import MemoryFileSystem
from hypothesis.stateful import initialize
from lake_world import HOUR_SECONDS, World

from pruning.metadata.files import places

# The calls by which a store changes objects.
OBJECT_WRITES = ((MemoryFileSystem, "pipe_file"), (MemoryFileSystem, "rm_file"))


class ObjectWorld(World):
    """A directory of files beside which nothing may be written; its store is in memory."""

    writes = OBJECT_WRITES

    @initialize()
    def begin(self) -> None:
        super().begin()
        root = f"memory:/{self.folder}"
        self.undo.enter_context(patch.dict(os.environ, {places.ENVIRONMENT: root}))
        self.undo.enter_context(
            patch.object(places.Place, "is_writable", lambda place: not place.is_beside_data)
        )

    def teardown(self) -> None:
        for path in self.kept_paths():
            del MemoryFileSystem.store[path]
        super().teardown()

    def kept_paths(self) -> list[str]:
        return sorted(path for path in MemoryFileSystem.store if path.startswith(f"{self.folder}/"))

    def cut(self, path: str, size: int) -> None:
        system = MemoryFileSystem()
        system.pipe_file(path, system.cat_file(path)[:size])

    def make_older(self, path: str) -> None:
        MemoryFileSystem.store[path].created -= timedelta(seconds=HOUR_SECONDS)
