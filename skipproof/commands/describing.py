"""The health of block metadata: bounds and counts of each column, doubts about them, overlap of blocks."""

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
from pruning.metadata.files.places import single_writer_notes
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.footers.chunk_facts import ranges
from pruning.metadata.footers.footer import Footer, read_footer
from pruning.metadata.footers.frame_files import facts_of_footers
from pruning.metadata.footers.rejections import rejections
from pruning.metadata.footers.trust import DOUBTS
from pruning.metadata.table.blocks import shards, unite
from pruning.metadata.table.schema import column_types
from pruning.metadata.table.structs import field_of
from pruning.metadata.views.clustering import Clustering, clustering
from pruning.metadata.views.verifying import FileCheck, verify

_THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtCount:
    """A doubt because of which statistics were not believed, and the number of row groups concerned."""

    doubt: str
    reason: str
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHealth:
    """The metadata of one column; numbers count row groups that have rows."""

    name: str
    type: str
    bounded: int
    null_counted: int
    clustering: Clustering | None
    doubted: tuple[DoubtCount, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The health of the metadata of some files.

    `left_out` are primitive columns that Spark does not read as a known type, `unreadable` sentences
    about files whose footers cannot be read, `notes` sentences about the directory as a whole, and `checked`
    the comparisons of the metadata with the data, or None if the data was not read.
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
    checked: tuple[FileCheck, ...] | None = None

    @property
    def lies(self) -> int:
        """The number of statistics that the data contradicts."""
        return sum(len(file.lies) for file in self.checked or ())

    @property
    def problems(self) -> tuple[str, ...]:
        """The sentences about files that could not be read."""
        return (*self.unreadable, *chain.from_iterable(file.problems for file in self.checked or ()))

    def to_dict(self) -> dict[str, object]:
        """Return the description in JSON."""
        return asdict(self) | {"lies": self.lies}


def describe(path: str, *, verified: bool = False) -> Description:
    """Describe the metadata of the Parquet files under a path; no cache is used.

    Args:
        verified: Whether to compare what is believed of the files with their data, too.
    Raises:
        InputError: there are no files, or not one of them can be read.
    """
    listing = list_files(path)
    files = [listed.file for listed in listing.files]
    with ThreadPoolExecutor(_THREADS) as pool:
        answers = dict(zip(files, pool.map(_read_footer_or_error, files), strict=True))
    footers = {file: answer for file, answer in answers.items() if isinstance(answer, Footer)}
    unreadable = tuple(answer for answer in answers.values() if isinstance(answer, str))
    if not footers:
        raise InputError(unreadable[0])
    description = _description(path, footers, unreadable)
    description = replace(
        description, notes=(*table_format_notes([path], files), *single_writer_notes(listing))
    )
    return replace(description, checked=tuple(verify(list(footers)))) if verified else description


def _read_footer_or_error(file: str) -> Footer | str:
    """Return a file's footer, or the sentence of the error."""
    try:
        return read_footer(file)
    except InputError as error:
        return str(error)


def _description(path: str, footers: dict[str, Footer], unreadable: Sequence[str]) -> Description:
    """Return the description of files from their footers."""
    table = unite(shards(footers.items()), list(footers))
    table = table.filter(pc.greater(table["row_count"], 0))
    doubted = _doubt_counts(footers)
    facts = table["columns"].combine_chunks()
    facts = pa.concat_arrays(facts.chunks) if isinstance(facts, pa.ChunkedArray) else facts
    columns = [
        _column_health(name, str(type_), field_of(facts, name), doubted.get(name, Counter()))
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


def _column_health(name: str, type_: str, facts: pa.StructArray, doubted: Counter[str]) -> ColumnHealth:
    """Return the health of one column from its facts and doubts."""
    minima, maxima = field_of(facts, "min"), field_of(facts, "max")
    reasons = {doubt.name: doubt.reason for doubt in DOUBTS}
    return ColumnHealth(
        name=name,
        type=type_,
        bounded=pc.sum(pc.and_(pc.is_valid(minima), pc.is_valid(maxima))).as_py() or 0,
        null_counted=len(facts) - field_of(facts, "null_count").null_count,
        clustering=clustering(minima, maxima),
        doubted=tuple(
            DoubtCount(doubt=doubt, reason=reasons[doubt], blocks=count)
            for doubt, count in doubted.most_common()
        ),
    )


def _doubt_counts(footers: dict[str, Footer]) -> dict[str, Counter[str]]:
    """Return by column the doubts that rejected a statistic, each with its number of row groups.

    The doubts about a column are in the order of the first row groups that they concern.
    """
    group_counts = np.array([len(footer.row_groups) for footer in footers.values()], np.int64)
    first_groups = dict(zip(footers, (np.cumsum(group_counts) - group_counts).tolist(), strict=True))
    concerned: dict[str, dict[int, list[int]]] = {}
    for part, column, doubt, row_groups in rejections(facts_of_footers(footers.items())):
        groups = ranges(np.array([first_groups[file] for file in part.files], np.int64), part.group_counts)
        concerned.setdefault(column, {}).setdefault(doubt, []).extend(groups[row_groups].tolist())
    return {
        name: Counter(
            {
                DOUBTS[place].name: len(rejected_groups)
                for place, rejected_groups in sorted(
                    by_doubt.items(), key=lambda entry: (min(entry[1]), entry[0])
                )
            }
        )
        for name, by_doubt in concerned.items()
    }
