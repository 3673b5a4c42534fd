"""Tables of Iceberg written file by file, for the forms of deletes that PyIceberg does not write."""

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg import manifest as forms
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType
from pyroaring import BitMap

from pruning.metadata.iceberg.partition_values import single_value

Rows = Sequence[Mapping[str, Any]]
DATA, POSITIONS, VALUES = range(3)
PATH_FIELD, POSITION_FIELD = 2147483546, 2147483545
_ARROW = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "double": pa.float64()}
_ICEBERG = {"int": IntegerType(), "long": LongType(), "string": StringType()}
_MAGIC = bytes((0xD1, 0xD3, 0x39, 0x64))
_FIRST_TIME_MS = 1_700_000_000_000


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """An entry of a manifest; `sequence_number` is None until it is committed."""

    path: str
    content: int
    row_count: int
    spec_id: int = 0
    partition: tuple[Any, ...] = ()
    format: str = "PARQUET"
    equality_ids: tuple[int, ...] | None = None
    reference: str | None = None
    blob: tuple[int, int] | None = None
    bounds: Mapping[int, tuple[bytes, bytes]] = field(default_factory=dict)
    counts: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    sequence_number: int | None = None
    key_metadata: bytes | None = None


def column(id_: int, name: str, type_: Any, **options: Any) -> dict[str, Any]:
    """Return a field of a schema in Iceberg's JSON."""
    return {"id": id_, "name": name, "required": False, "type": type_, **options}


def vector_bytes(positions: Iterable[int]) -> bytes:
    """Return a blob of the kind deletion-vector-v1."""
    body = _MAGIC + struct.pack("<QI", 1, 0) + BitMap(positions).serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


class HandmadeTable:
    """A table in a folder, whose snapshots are committed one after the other."""

    def __init__(
        self,
        folder: Path,
        fields: Sequence[Mapping[str, Any]],
        *,
        format_version: int = 2,
        specs: Sequence[Sequence[tuple[int, str]]] = ((),),
    ) -> None:
        self.folder = folder
        self.format_version = format_version
        self.schemas = [list(fields)]
        self.specs = specs
        self.live: list[ListedFile] = []
        self.snapshots: list[dict[str, Any]] = []
        self.properties: dict[str, str] = {}
        self.references: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self._numbers = 0
        (folder / "metadata").mkdir(parents=True)
        (folder / "data").mkdir()

    @property
    def fields(self) -> list[Mapping[str, Any]]:
        """The current schema."""
        return self.schemas[-1]

    def evolve(self, fields: Sequence[Mapping[str, Any]]) -> None:
        """Change the schema from the next commit on."""
        self.schemas.append(list(fields))

    def data(
        self,
        rows: Rows,
        *,
        spec_id: int = 0,
        partition: tuple[Any, ...] = (),
        fields: Sequence[Mapping[str, Any]] | None = None,
    ) -> ListedFile:
        """Write a data file, with the current schema if there is no other."""
        path = self._new_path("parquet")
        fields = self.fields if fields is None else fields
        self._write(path, fields, rows)
        bounds, counts = {}, {}
        for item in fields:
            values = [row.get(item["name"]) for row in rows]
            present = [value for value in values if value is not None]
            counts[item["id"]] = (len(values), len(values) - len(present))
            if present and item["type"] in ("int", "long", "string"):
                sides = (min(present), max(present))
                lower, upper = (single_value(side, item["type"]) for side in sides)
                assert lower is not None
                assert upper is not None
                bounds[item["id"]] = (lower, upper)
        return ListedFile(
            path=path,
            content=DATA,
            row_count=len(rows),
            spec_id=spec_id,
            partition=partition,
            bounds=bounds,
            counts=counts,
        )

    def positions(
        self, deleted: Sequence[tuple[str, int]], *, bounds: str = "full", **options: Any
    ) -> ListedFile:
        """Write a file of deleted positions.

        Args:
            deleted: Paths of data files, and positions in them.
            bounds: The bounds of the paths that are stated: "full", "cut" to a beginning, or "none".
            options: Other attributes of the entry.
        """
        path = self._new_path("parquet")
        fields = [column(PATH_FIELD, "file_path", "string"), column(POSITION_FIELD, "pos", "long")]
        rows = [{"file_path": file, "pos": position} for file, position in sorted(deleted)]
        self._write(path, fields, rows)
        sides = [rows[0]["file_path"], rows[-1]["file_path"]]
        if bounds == "cut":
            sides = [str(self.folder / "data" / "0")] * 2
        stated = {} if bounds == "none" else {PATH_FIELD: (sides[0].encode(), sides[1].encode())}
        return ListedFile(path=path, content=POSITIONS, row_count=len(rows), bounds=stated, **options)

    def vector(self, data_file: ListedFile, positions: Sequence[int], **options: Any) -> ListedFile:
        """Write a deletion vector into a file of its own."""
        path = self._new_path("puffin")
        blob = vector_bytes(positions)
        Path(path).write_bytes(b"PFA1" + blob)
        return ListedFile(
            path=path,
            content=POSITIONS,
            row_count=len(set(positions)),
            format="PUFFIN",
            reference=data_file.path,
            blob=(4, len(blob)),
            spec_id=data_file.spec_id,
            partition=data_file.partition,
            **options,
        )

    def values(self, ids: Sequence[int], rows: Rows, **options: Any) -> ListedFile:
        """Write a file of deleted values."""
        path = self._new_path("parquet")
        fields = [item for item in self.fields if item["id"] in ids]
        self._write(path, fields, rows)
        return ListedFile(path=path, content=VALUES, row_count=len(rows), equality_ids=tuple(ids), **options)

    def commit(
        self, *added: ListedFile, removed: Sequence[str] = (), changes: Mapping[str, Any] | None = None
    ) -> int:
        """Commit a snapshot with files and without those at some paths, and return its id.

        Args:
            added: The new files.
            removed: The paths of files that are removed.
            changes: Keys of the metadata that have other values than they should.
        """
        number = len(self.snapshots) + 1
        kept = [file for file in self.live if file.path not in removed]
        manifests = [*self._manifests(kept, number), *self._manifests(added, number)]
        self.live = [
            *kept,
            *(replace(file, sequence_number=file.sequence_number or number) for file in added),
        ]
        manifest_list = str(self.folder / "metadata" / f"snap-{number}.avro")
        _write_avro(manifest_list, forms.MANIFEST_LIST_FILE_SCHEMAS[2], manifests)
        self.snapshots.append(
            {
                "snapshot-id": 1000 + number,
                "sequence-number": number,
                "timestamp-ms": _FIRST_TIME_MS + number,
                "schema-id": len(self.schemas) - 1,
                "manifest-list": manifest_list,
                "summary": {"operation": "overwrite"},
            }
        )
        self.write_metadata(changes or {})
        return 1000 + number

    def write_metadata(self, changes: Mapping[str, Any]) -> Path:
        """Write the next metadata file."""
        self._numbers += 1
        document = {
            "format-version": self.format_version,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": str(self.folder),
            "last-sequence-number": len(self.snapshots),
            "current-schema-id": len(self.schemas) - 1,
            "schemas": [
                {"type": "struct", "schema-id": id_, "fields": fields}
                for id_, fields in enumerate(self.schemas)
            ],
            "partition-specs": [
                {
                    "spec-id": id_,
                    "fields": [
                        {
                            "source-id": source,
                            "field-id": 1000 + 10 * id_ + at,
                            "name": f"p{at}",
                            "transform": by,
                        }
                        for at, (source, by) in enumerate(spec)
                    ],
                }
                for id_, spec in enumerate(self.specs)
            ],
            "properties": self.properties,
            "refs": self.references,
            "current-snapshot-id": self.snapshots[-1]["snapshot-id"] if self.snapshots else None,
            "snapshots": self.snapshots,
            "snapshot-log": [
                {"timestamp-ms": snapshot["timestamp-ms"], "snapshot-id": snapshot["snapshot-id"]}
                for snapshot in self.snapshots
            ],
            **changes,
        }
        path = self.folder / "metadata" / f"v{self._numbers}.metadata.json"
        path.write_text(json.dumps(document))
        return path

    def _new_path(self, suffix: str) -> str:
        self._numbers += 1
        return str(self.folder / "data" / f"{self._numbers:05}.{suffix}")

    def _write(self, path: str, fields: Sequence[Mapping[str, Any]], rows: Rows) -> None:
        schema = pa.schema(
            [
                pa.field(item["name"], _ARROW[item["type"]], metadata={"PARQUET:field_id": str(item["id"])})
                for item in fields
            ]
        )
        arrays = [pa.array([row.get(item["name"]) for row in rows], _ARROW[item["type"]]) for item in fields]
        pq.write_table(pa.table(arrays, schema=schema), path)

    def _partition_type(self, spec_id: int) -> StructType:
        types = {item["id"]: item["type"] for item in self.fields}
        return StructType(
            *(
                NestedField(
                    1000 + 10 * spec_id + at,
                    f"p{at}",
                    _ICEBERG[types[source]] if by == "identity" else IntegerType(),
                )
                for at, (source, by) in enumerate(self.specs[spec_id])
            )
        )

    def _manifests(self, files: Sequence[ListedFile], number: int) -> list[Record]:
        """Write the files of each spec into a manifest, and return its entries of the manifest list."""
        manifests = []
        for spec_id in sorted({file.spec_id for file in files}):
            self._numbers += 1
            path = str(self.folder / "metadata" / f"{self._numbers:05}-m.avro")
            data_file = forms.data_file_with_partition(self._partition_type(spec_id), 3)
            schema = forms.manifest_entry_schema_with_data_file(3, data_file)
            here = [file for file in files if file.spec_id == spec_id]
            _write_avro(path, schema, [_entry(file) for file in here])
            size = Path(path).stat().st_size
            manifests.append(
                Record(path, size, spec_id, 0, number, number, 1000 + number, 1, 1, 0, 1, 1, 0, None, None)
            )
        return manifests


def _entry(file: ListedFile) -> Record:
    offset, size = file.blob or (None, None)
    data_file = Record(
        file.content,
        file.path,
        file.format,
        Record(*file.partition),
        file.row_count,
        Path(file.path).stat().st_size,
        None,
        {id_: values for id_, (values, _) in file.counts.items()},
        {id_: nulls for id_, (_, nulls) in file.counts.items()},
        None,
        {id_: lower for id_, (lower, _) in file.bounds.items()},
        {id_: upper for id_, (_, upper) in file.bounds.items()},
        file.key_metadata,
        None,
        None if file.equality_ids is None else list(file.equality_ids),
        None,
        None,
        file.reference,
        offset,
        size,
    )
    status = 1 if file.sequence_number is None else 0
    return Record(status, 1, file.sequence_number, file.sequence_number, data_file)


def _write_avro(path: str, schema: Schema, records: list[Record]) -> None:
    with AvroOutputFile[Record](PyArrowFileIO().new_output(path), schema, "records") as out:
        out.write_block(records)
