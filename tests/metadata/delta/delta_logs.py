"""Logs of Delta Lake that tests write themselves: actions, commits, checkpoints and deletion vectors."""

import base64
import json
import os
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap, BitMap64

Action = dict[str, Any]

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_MAP = pa.map_(pa.string(), pa.string())
# The schema of checkpoints, without statistics as structs.
CHECKPOINT = pa.schema(
    [
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", _MAP),
                ]
            ),
        ),
        (
            "add",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("partitionValues", _MAP),
                    ("size", pa.int64()),
                    ("modificationTime", pa.int64()),
                    ("dataChange", pa.bool_()),
                    ("stats", pa.string()),
                    ("deletionVector", _VECTOR),
                ]
            ),
        ),
        (
            "remove",
            pa.struct([("path", pa.string()), ("dataChange", pa.bool_()), ("deletionVector", _VECTOR)]),
        ),
        ("sidecar", pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64())])),
        ("checkpointMetadata", pa.struct([("version", pa.int64())])),
    ]
)


def column(name: str, type_: Any = "long", **metadata: Any) -> dict[str, Any]:
    """Return a field of a schema; `physical` and `id` are those of column mapping."""
    keys = {
        "physical": "delta.columnMapping.physicalName",
        "id": "delta.columnMapping.id",
        "changes": "delta.typeChanges",
    }
    named = {keys.get(key, key): value for key, value in metadata.items()}
    return {"name": name, "type": type_, "nullable": True, "metadata": named}


def struct_of(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def protocol(reader: int = 1, *features: str) -> Action:
    lists = {"readerFeatures": list(features), "writerFeatures": list(features)} if reader == 3 else {}
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": 7 if lists else 2, **lists}}


def metadata(
    *fields: dict[str, Any], partitions: Sequence[str] = (), configuration: Mapping[str, str] | None = None
) -> Action:
    return {
        "metaData": {
            "id": "4",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(struct_of(*fields)),
            "partitionColumns": list(partitions),
            "configuration": dict(configuration or {}),
        }
    }


def add(path: str, stats: Any = None, **fields: Any) -> Action:
    """Return an action that adds a file; `stats` are a dict, a text, or None."""
    text = json.dumps(stats) if isinstance(stats, dict) else stats
    action = {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 5, "dataChange": True}
    return {"add": action | ({} if text is None else {"stats": text}) | fields}


def remove(path: str, **fields: Any) -> Action:
    return {"remove": {"path": path, "dataChange": True, **fields}}


def text_of(actions: Iterable[Action]) -> str:
    return "".join(json.dumps(action) + "\n" for action in actions)


class WrittenLog:
    """The log of a table in a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "_delta_log"
        self.log.mkdir(parents=True)
        self.commits: list[list[Action]] = []

    def commit(self, *actions: Action, time_ms: int | None = None) -> "WrittenLog":
        """Write the next version."""
        path = self.commit_path(len(self.commits))
        path.write_text(text_of(actions))
        if time_ms is not None:
            os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))
        self.commits.append(list(actions))
        return self

    def commit_path(self, version: int) -> Path:
        return self.log / f"{version:020d}.json"

    def checkpoint(self, version: int, actions: Sequence[Action], form: str) -> list[Path]:
        """Write the state of a version as a checkpoint of a form, and return its files."""
        start = f"{version:020d}.checkpoint"
        if form == "classic":
            return [write_checkpoint(self.log / f"{start}.parquet", actions)]
        if form == "parts":
            return [
                write_checkpoint(self.log / f"{start}.{part:010d}.{3:010d}.parquet", actions[part - 1 :: 3])
                for part in (1, 2, 3)
            ]
        files = [action for action in actions if "add" in action or "remove" in action]
        others: list[Action] = [{"checkpointMetadata": {"version": version}}]
        others += [action for action in actions if action not in files]
        for place in (0, 1):
            name = f"{uuid.UUID(int=place)}.parquet"
            (self.log / "_sidecars").mkdir(exist_ok=True)
            write_checkpoint(self.log / "_sidecars" / name, files[place::2])
            others.append({"sidecar": {"path": name, "sizeInBytes": 1}})
        path = self.log / f"{start}.{uuid.UUID(int=7)}.{form}"
        if form == "parquet":
            return [write_checkpoint(path, others)]
        assert form == "json"
        path.write_text(text_of(others))
        return [path]


FORMS = ("classic", "parts", "parquet", "json")


def write_checkpoint(path: Path, actions: Sequence[Action]) -> Path:
    rows = [
        {name: _row(action[name]) if name in action else None for name in CHECKPOINT.names}
        for action in actions
    ]
    pq.write_table(pa.Table.from_pylist(rows, CHECKPOINT), path)
    return path


def _row(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an action as Arrow takes them."""
    return {
        name: list(value.items()) if name in ("partitionValues", "configuration") else value
        for name, value in fields.items()
    }


def to_z85(content: bytes) -> str:
    padded = content + bytes(-len(content) % 4)
    return base64.b85encode(padded).translate(bytes.maketrans(_B85, _Z85)).decode()


def portable(rows: Iterable[int]) -> bytes:
    """Return rows in the portable form of deletion vectors."""
    return struct.pack("<I", 1681511377) + bytes(BitMap64(rows).serialize())


def native(rows: Iterable[int], order: str = "<") -> bytes:
    """Return rows in the form that came before the portable one."""
    content = bytes(BitMap(rows).serialize())
    return struct.pack(f"{order}Iii", 1681511376, 1, len(content)) + content


def inline(rows: Sequence[int], content: bytes | None = None) -> dict[str, Any]:
    """Return the descriptor of a vector in the log."""
    content = portable(rows) if content is None else content
    vector = {"storageType": "i", "pathOrInlineDv": to_z85(content), "sizeInBytes": len(content)}
    return vector | {"cardinality": len(rows)}


def stored_vectors(root: Path, vectors: Sequence[Sequence[int]], prefix: str = "") -> list[dict[str, Any]]:
    """Write vectors into one file, and return their descriptors."""
    identity = uuid.UUID(int=0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0)
    path = root / prefix / f"deletion_vector_{identity}.bin"
    path.parent.mkdir(exist_ok=True)
    content, descriptors = b"\x01", []
    for rows in vectors:
        data = portable(rows)
        descriptors.append(
            {
                "storageType": "u",
                "pathOrInlineDv": prefix + to_z85(identity.bytes),
                "offset": len(content),
                "sizeInBytes": len(data),
                "cardinality": len(rows),
            }
        )
        content += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    path.write_bytes(content)
    return descriptors
