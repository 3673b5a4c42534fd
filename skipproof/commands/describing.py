"""The health of block metadata: what is known of each column, what is not and why, how blocks overlap."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.metadata.files.listing import list_files
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.footers.evidence import Claim, provenance
from pruning.metadata.footers.footer import Chunk, Footer, read_footer
from pruning.metadata.footers.physical_types import form_of
from pruning.metadata.footers.trust import DOUBTS, doubts
from pruning.metadata.table.blocks import shards, unite
from pruning.metadata.table.schema import column_types
from pruning.metadata.table.structs import field_of
from pruning.metadata.views.verifying import Checked, verify

PICTURE_WIDTH = 24
_THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubted:
    """A doubt that took something away that files say, and in how many row groups."""

    doubt: str
    reason: str
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """How row groups overlap in one column, among those whose bounds are both known.

    `depth` is how many of them hold a bound of one of them, on average: 1 where none overlap, their
    number where all do. `picture` is how many hold a value, from the least to the greatest.
    """

    depth: float
    picture: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHealth:
    """What is known of one column, in numbers of row groups with rows."""

    name: str
    type: str
    bounded: int
    null_counted: int
    clustering: Clustering | None
    doubted: tuple[Doubted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The health of the metadata of some files.

    `left_out` are primitive columns that Spark does not read as a known type, `unreadable` sentences
    about files whose footers cannot be read, `notes` sentences about the directory as a whole, and `checked`
    what became of their data if it was compared.
    """

    path: str
    files: int
    blocks: int
    rows: int
    data_bytes: int | None
    footer_bytes: int
    metadata_bytes: int
    columns: tuple[ColumnHealth, ...]
    left_out: tuple[str, ...]
    unreadable: tuple[str, ...]
    notes: tuple[str, ...] = ()
    checked: tuple[Checked, ...] | None = None

    @property
    def lies(self) -> int:
        """How many statements the data contradicts."""
        return sum(len(each.lies) for each in self.checked or ())

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what could not be read."""
        return (*self.unreadable, *chain.from_iterable(each.problems for each in self.checked or ()))

    def to_dict(self) -> dict[str, object]:
        """The description as JSON holds it."""
        return asdict(self) | {"lies": self.lies}


def describe(path: str, *, verified: bool = False) -> Description:
    """Describe the metadata of the Parquet files under a path, read anew.

    Args:
        verified: Whether to compare what is believed of the files with their data, too.
    Raises:
        InputError: there are no files, or not one of them can be read.
    """
    files = [listed.file for listed in list_files(path).files]
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = dict(zip(files, pool.map(_attempt, files), strict=True))
    footers = {file: answer for file, answer in answers.items() if isinstance(answer, Footer)}
    unreadable = tuple(answer for answer in answers.values() if isinstance(answer, str))
    if not footers:
        raise InputError(unreadable[0])
    found = _described(path, footers, unreadable)
    found = replace(found, notes=table_format_notes([path], files))
    return replace(found, checked=tuple(verify(list(footers)))) if verified else found


def clustering(minima: pa.Array, maxima: pa.Array) -> Clustering | None:
    """How blocks overlap, from their bounds, each of shape (blocks,); None where no block has both."""
    known = pc.and_(pc.is_valid(minima), pc.is_valid(maxima))
    bounds = pa.concat_arrays([minima.filter(known), maxima.filter(known)])
    if len(bounds) == 0:
        return None
    # Bounds by their order alone: any type becomes numbers.
    ordered = bounds.cast(pa.uint8()) if pa.types.is_boolean(bounds.type) else bounds
    places = pc.rank(ordered, tiebreaker="dense").to_numpy().astype(np.int64)
    lowest, highest = np.sort(places[: len(places) // 2]), np.sort(places[len(places) // 2 :])

    def holding(points: np.ndarray) -> np.ndarray:
        return np.searchsorted(lowest, points, "right") - np.searchsorted(highest, points, "left")

    distinct = np.unique(places)
    shown = distinct[np.linspace(0, len(distinct) - 1, min(PICTURE_WIDTH, len(distinct))).astype(np.int64)]
    return Clustering(depth=float(holding(places).mean()), picture=tuple(map(int, holding(shown))))


def _attempt(file: str) -> Footer | str:
    try:
        return read_footer(file)
    except InputError as error:
        return str(error)


def _described(path: str, footers: dict[str, Footer], unreadable: Sequence[str]) -> Description:
    table = unite(shards(footers.items()), list(footers))
    table = table.filter(pc.greater(table["row_count"], 0))
    doubted = _doubted(footers)
    known = table["columns"].combine_chunks()
    known = pa.concat_arrays(known.chunks) if isinstance(known, pa.ChunkedArray) else known
    columns = [
        _health(name, str(type_), field_of(known, name), doubted.get(name, Counter()))
        for name, type_ in column_types(table).items()
    ]
    named = dict.fromkeys(leaf.name for footer in footers.values() for leaf in footer.leaves)
    sizes = table["byte_count"]
    return Description(
        path=path,
        files=len(footers) + len(unreadable),
        blocks=len(table),
        rows=pc.sum(table["row_count"]).as_py() or 0,
        data_bytes=None if sizes.null_count else pc.sum(sizes).as_py() or 0,
        footer_bytes=sum(footer.byte_count for footer in footers.values()),
        metadata_bytes=table.nbytes,
        columns=tuple(columns),
        left_out=tuple(name for name in named if name not in column_types(table)),
        unreadable=tuple(unreadable),
    )


def _health(name: str, type_: str, facts: pa.StructArray, doubted: Counter[str]) -> ColumnHealth:
    minima, maxima = field_of(facts, "min"), field_of(facts, "max")
    reasons = {doubt.name: doubt.reason for doubt in DOUBTS}
    return ColumnHealth(
        name=name,
        type=type_,
        bounded=pc.sum(pc.and_(pc.is_valid(minima), pc.is_valid(maxima))).as_py() or 0,
        null_counted=len(facts) - field_of(facts, "null_count").null_count,
        clustering=clustering(minima, maxima),
        doubted=tuple(
            Doubted(doubt=doubt, reason=reasons[doubt], blocks=count)
            for doubt, count in doubted.most_common()
        ),
    )


def _doubted(footers: dict[str, Footer]) -> dict[str, Counter[str]]:
    """By column, the doubts that took away something that is said, and of how many row groups."""
    found: dict[str, Counter[str]] = {}
    for footer in footers.values():
        source = provenance(footer)
        for leaf in footer.leaves:
            form = form_of(leaf.element)
            if form is None:
                continue
            for group in footer.row_groups:
                chunk = group.chunks[leaf.chunk]
                rows, values, stated = group.row_count, chunk.value_count, _stated(chunk)
                met = doubts(chunk.statistics, leaf, form, rows=rows, values=values, source=source)
                counts = found.setdefault(leaf.name, Counter())
                counts.update(doubt.name for doubt in met if rows and doubt.takes & stated)
    return found


def _stated(chunk: Chunk) -> Claim:
    """What a chunk's statistics say at all."""
    said = chunk.statistics
    stated = Claim(0) if said.null_count is None else Claim.NULL_COUNT
    if said.min_value is not None or said.deprecated_min is not None:
        stated |= Claim.MIN
    if said.max_value is not None or said.deprecated_max is not None:
        stated |= Claim.MAX
    return stated
