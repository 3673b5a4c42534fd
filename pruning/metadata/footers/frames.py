"""The frame of a footer: all that is not about row groups, which most files of a table have in common."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pruning.metadata.footers.evidence import ColumnTraits, Provenance, provenance
from pruning.metadata.footers.footer import Footer, footer_without_blocks
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import column_storage, is_comparable
from pruning.metadata.footers.thrift_lanes import BINARY, Bytes, Numbers
from pruning.metadata.footers.thrift_layout import Malformed, parse_schema, parse_tail
from pruning.metadata.footers.thrift_places import Irregular, encoded_number, list_header


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameColumn:
    """A column whose bounds block metadata has: its name, the place of its chunks, and its traits.

    `comparable` is True if Spark's reader compares its bounds in row groups that have a NULL count.
    """

    name: str
    chunk: int
    traits: ColumnTraits
    comparable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The columns of known types of a file, its writer, and its other columns as JSON."""

    columns: tuple[FrameColumn, ...]
    source: Provenance
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLayout:
    """The chunks of a row group as the schema has them: their number, and of each leaf the following.

    `chunks` are the places of their chunks, `types` their physical types, `path_sizes` the numbers of bytes
    of their paths as Thrift encodes them, and `paths` those bytes, one path after the other.
    """

    chunk_count: int
    chunks: Numbers
    types: Numbers
    path_sizes: Numbers
    paths: Bytes


def frame_of(footer: Footer) -> Frame:
    """Return the frame of a footer."""
    return Frame(
        columns=tuple(_frame_columns(footer.leaves)),
        source=provenance(footer),
        others=json.dumps(footer.others),
    )


class FrameParser:
    """Parses frames, each once, and remembers all of them."""

    def __init__(self) -> None:
        self._schemas: dict[bytes, list[Any]] = {}
        self._schema_sizes: set[int] = set()
        self._layouts: dict[bytes, ChunkLayout] = {}
        self._frames: dict[tuple[bytes, bytes], tuple[Frame, ChunkLayout]] = {}
        self._distinct: dict[Frame, Frame] = {}

    def __len__(self) -> int:
        """Return the number of frames that it remembers, as many as distinct footers without row groups."""
        return len(self._frames)

    def schema_at_start(self, footer: bytes) -> bytes | None:
        """Return the schema that the footer begins with, if it was parsed before."""
        starts = (footer[:size] for size in self._schema_sizes)
        return next((start for start in starts if start in self._schemas), None)

    def parse(self, schema: bytes, tail: bytes) -> tuple[Frame, ChunkLayout]:
        """Return the frame of a footer, and the layout of its row groups.

        Equal frames are one object, and so are the layouts of equal schemas.

        Args:
            schema: The footer's first two fields.
            tail: Its bytes after the list of row groups.
        Raises:
            Irregular: they are not those parts of a footer.
        """
        key = schema, tail
        if key not in self._frames:
            try:
                self._frames[key] = self._parse(schema, tail)
            except Malformed as error:
                raise Irregular from error
        return self._frames[key]

    def _parse(self, schema: bytes, tail: bytes) -> tuple[Frame, ChunkLayout]:
        if schema not in self._schemas:
            self._schemas[schema] = parse_schema(schema)
            self._schema_sizes.add(len(schema))
        elements = self._schemas[schema]
        footer = footer_without_blocks(elements, parse_tail(tail))
        frame = frame_of(footer)
        if schema not in self._layouts:
            self._layouts[schema] = _layout(elements, footer.leaves)
        return self._distinct.setdefault(frame, frame), self._layouts[schema]


def _frame_columns(leaves: Sequence[SchemaLeaf]) -> Iterator[FrameColumn]:
    """Yield the columns among the leaves whose type Spark reads as a known one."""
    for leaf in leaves:
        storage = column_storage(leaf.element)
        if storage is not None:
            traits = ColumnTraits(
                storage=storage,
                ordered=leaf.ordered,
                required=leaf.required,
                inherits=leaf.inherits,
                repeated=leaf.is_repeated,
            )
            comparable = leaf.is_flat and is_comparable(leaf.element)
            yield FrameColumn(name=leaf.name, chunk=leaf.chunk, traits=traits, comparable=comparable)


def _layout(elements: Sequence[Any], leaves: Sequence[SchemaLeaf]) -> ChunkLayout:
    paths = [_encoded_path(leaf.path) for leaf in leaves]
    return ChunkLayout(
        # The first element is the root.
        chunk_count=sum(element.type is not None for element in elements[1:]),
        chunks=np.array([leaf.chunk for leaf in leaves], np.int64),
        types=np.array([leaf.element.type for leaf in leaves], np.int64),
        path_sizes=np.array([len(path) for path in paths], np.int64),
        paths=np.frombuffer(b"".join(paths), np.uint8),
    )


def _encoded_path(path: Sequence[bytes]) -> bytes:
    """Return a list of byte strings as Thrift encodes it."""
    return list_header(len(path), BINARY) + b"".join(encoded_number(len(name)) + name for name in path)
