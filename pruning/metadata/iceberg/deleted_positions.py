"""The rows of data files that Iceberg deletes by their positions, loaded when they are asked for."""

import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap

from pruning.errors import InputError
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask
from pruning.metadata.iceberg.applied_deletes import AppliedDeletes
from pruning.metadata.iceberg.metadata_files import first_line, open_location, read_location

_READERS = 8
_POSITION_MAX = (1 << 31) - 1
_MAGIC = bytes((0xD1, 0xD3, 0x39, 0x64))
# Of a vector: its length and the magic bytes, the number of bitmaps, the key of each, and the checksum.
_HEADER, _COUNT, _KEY, _CHECKSUM = 8, 8, 4, 4
_BEYOND = "{}: deletes rows beyond the first 2^31 of a data file, which cannot be read; rewrite the data file"


@dataclass(frozen=True)
class IcebergDeletedRows:
    """The deleted rows of the data files of a snapshot, in their order."""

    applied: AppliedDeletes

    @cached_property
    def mask(self) -> Mask:
        """True for files of which rows may be deleted; shape (files,)."""
        applied = self.applied
        if not (applied.vectors or applied.scoped or applied.partitioned):
            return np.zeros(len(applied.data), np.bool_)
        return np.array(
            [
                place in applied.vectors or bool(applied.position_files(place))
                for place in applied.data.tolist()
            ],
            np.bool_,
        )

    def positions(self, places: Sequence[int]) -> list[BitMap]:
        """Return the positions of deleted rows in the files at these places, counted from a file's first row.

        Raises:
            InputError: a file that lists deleted rows is missing or damaged, or rows beyond the first
                2^31 are deleted.
        """
        applied = self.applied
        data_places = [int(applied.data[place]) for place in places]
        data_of: dict[int, list[int]] = {}
        for place in dict.fromkeys(data_places):
            for delete in applied.position_files(place):
                data_of.setdefault(delete, []).append(place)
        with_vectors = [place for place in dict.fromkeys(data_places) if place in applied.vectors]
        bitmaps: dict[int, BitMap] = {}
        with ThreadPoolExecutor(_READERS) as executor:
            bitmaps.update(zip(with_vectors, executor.map(self._vector, with_vectors), strict=True))
            for part in executor.map(self._positions_in, data_of, data_of.values()):
                for place, bitmap in part.items():
                    bitmaps[place] = bitmaps[place] | bitmap if place in bitmaps else bitmap
        return [bitmaps.get(place, BitMap()) for place in data_places]

    def _vector(self, place: int) -> BitMap:
        files, delete = self.applied.files, self.applied.vectors[place]
        offset, size = int(files.blob_offsets[delete]), int(files.blob_sizes[delete])
        path = files.paths[delete]
        if offset == ABSENT or size == ABSENT:
            raise InputError(f"{path}: the place of a deletion vector in it is unknown; restore the table")
        bitmap = read_vector(read_location(path, offset, size), path)
        if len(bitmap) != files.row_counts[delete]:
            raise InputError(
                f"{path}: a deletion vector has {len(bitmap)} rows, and its manifest says "
                f"{files.row_counts[delete]}; restore the table"
            )
        return bitmap

    def _positions_in(self, delete: int, data_places: Sequence[int]) -> Mapping[int, BitMap]:
        """Return the positions that a file with positions has of each of these data files."""
        files = self.applied.files
        path = files.paths[delete]
        if files.formats[delete] != "PARQUET":
            raise InputError(
                f"{path}: has deleted rows in the format {files.formats[delete]}, and only Parquet can be "
                "read; rewrite the table's delete files"
            )
        wanted = pa.array([files.paths[place] for place in data_places])
        with open_location(path) as handle:
            try:
                table = pq.ParquetFile(handle).read(columns=["file_path", "pos"])
                lanes = pc.index_in(table.column("file_path"), wanted).to_numpy()
                numbers = table.column("pos").cast(pa.int64()).to_numpy()
            except (OSError, KeyError, pa.ArrowException) as error:
                raise InputError(
                    f"{path}: is no file of deleted positions that can be read ({first_line(error)}); "
                    "restore the table"
                ) from error
        positions: dict[int, BitMap] = {}
        for lane, place in enumerate(data_places):
            here = numbers[lanes == lane]
            if len(here) and not 0 <= here.min() <= here.max() <= _POSITION_MAX:
                raise InputError(_BEYOND.format(path))
            positions[place] = BitMap(here.astype(np.uint32))
        return positions


def read_vector(blob: bytes, path: str) -> BitMap:
    """Return the positions of a blob "deletion-vector-v1" of the Puffin specification.

    Args:
        blob: The blob's bytes.
        path: The file that has it, for the error.

    Raises:
        InputError: it is damaged, or has positions beyond the first 2^31.
    """
    length = int.from_bytes(blob[:4], "big")
    vector = blob[_HEADER:-_CHECKSUM]
    is_whole = length == len(blob) - 8 and blob[4:_HEADER] == _MAGIC
    if not is_whole or zlib.crc32(blob[4:-_CHECKSUM]) != int.from_bytes(blob[-_CHECKSUM:], "big"):
        raise InputError(f"{path}: a deletion vector in it is damaged; restore the file")
    bitmaps = int.from_bytes(vector[:_COUNT], "little")
    if bitmaps == 0:
        return BitMap()
    key = int.from_bytes(vector[_COUNT : _COUNT + _KEY], "little")
    if bitmaps > 1 or key != 0:
        raise InputError(_BEYOND.format(path))
    bitmap: BitMap = BitMap.deserialize(vector[_COUNT + _KEY :])
    if bitmap and bitmap.max() > _POSITION_MAX:
        raise InputError(_BEYOND.format(path))
    return bitmap
