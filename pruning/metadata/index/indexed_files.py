"""A process of its own that reads the values of some files: its input is JSON, its output Arrow."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.footers.footer import Footer, read_footer
from pruning.metadata.index import bloom
from pruning.metadata.index.block_values import Distinct, Indexable, contents, indexable
from pruning.metadata.index.encodings import own_encoding
from pruning.metadata.index.file_filters import FILTER_BYTES_MAX, filters
from pruning.metadata.index.membership_budget import kept, kept_filters
from pruning.metadata.index.own_filters import BITS_WANTED, LAYOUT_BYTES, Budget, Filter, bytes_needed
from pruning.metadata.table.blocks import Shard, shards
from pruning.metadata.table.coverings import CELL_BYTES, CELLS_MAX, with_coverings
from pruning.metadata.table.memberships import FIELD
from pruning.metadata.table.points import file_coverings
from pruning.metadata.table.reading import Outcome, to_bytes
from pruning.metadata.table.structs import field_of, made_of
from pruning.rules.sets.regions import CoordinatePair

_LOCATORS = ("file", "row_group", "row_count")
_UNFITTING = b"skipproof.unfitting"


class Unfitting(NamedTuple):
    """Blocks of one column of which nothing but a bucket is kept, and how many bytes would change that.

    Attributes:
        blocks: How many there are.
        filter_bytes: The `bytes_per_block` that leaves room for a filter of each of them.
        good_filter_bytes: The same, for filters that are hardly ever wrong.
    """

    blocks: int
    filter_bytes: int
    good_filter_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    """One file's blocks: their locators, the types of the columns, and what is known of each, by block.

    `coverings` are those of the pairs of columns asked for.
    """

    name: str
    locators: pa.Table
    types: dict[str, Type]
    found: list[dict[str, Distinct | None]] | list[dict[str, Filter]]
    coverings: Mapping[CoordinatePair, pa.ListArray]


def index_files(
    files: Iterable[str],
    *,
    columns: Sequence[str] | None,
    points: Iterable[tuple[str, str]],
    bytes_per_block: int,
    bits_per_value: float = 0,
    read_data: bool,
) -> Outcome:
    """Index the values of files, as the arguments of `pruning.index` describe.

    The metadata of each shard's schema says of which columns nothing fitted: `unfitting` reads it.
    """
    failures: dict[str, str] = {}
    budget = Budget(bytes_per_block, bits_per_value)
    pairs = [CoordinatePair(*names) for names in points]
    cells_max = min(CELLS_MAX, bytes_per_block // CELL_BYTES)
    alike: dict[tuple[tuple[str, Type], ...], list[_File]] = {}
    for file in files:
        try:
            coverings = file_coverings(file, pairs, cells_max=cells_max) if cells_max else {}
            read = _read(file, columns, coverings, None if not read_data else budget)
        except InputError as error:
            failures[file] = str(error)
        except (OSError, pa.ArrowException) as error:
            failures[file] = f"{file}: its data cannot be read ({str(error).splitlines()[0]}); leave it out"
        else:
            alike.setdefault(tuple(read.types.items()), []).append(read)
    return Outcome([_shard(members, budget) for members in alike.values()], failures)


def unfitting(table: pa.Table) -> dict[str, Unfitting]:
    """By column, the blocks of a shard that `index_files` gave of which the budget bore no values."""
    said = (table.schema.metadata or {}).get(_UNFITTING, b"{}")
    return {name: Unfitting(*numbers) for name, numbers in json.loads(said).items()}


def _read(
    file: str,
    columns: Sequence[str] | None,
    coverings: Mapping[CoordinatePair, pa.ListArray],
    budget: Budget | None,
) -> _File:
    """Summarize a file's values; without a budget for its data, take the filters that it brings along."""
    footer = read_footer(file)
    named = indexable(footer, columns)
    bounded, locators = _bounded(file, footer, named)
    found: list[dict[str, Distinct | None]] | list[dict[str, Filter]]
    if budget is None:
        found = filters(file, footer, named, bounded)
    else:
        found = list(contents(file, footer, named, bounded, budget))
    types = {name: column.form.type for name, column in named.items()}
    return _File(file, locators, types, found, coverings)


def _bounded(
    file: str, footer: Footer, columns: Mapping[str, Indexable]
) -> tuple[dict[str, list[bool]], pa.Table]:
    """Per column and row group, whether both bounds are known; and the row groups' locators."""
    (part,) = shards([(file, footer)])
    known = part.table.column("columns").combine_chunks()
    bounded = {}
    for name in columns:
        struct = field_of(known, name)
        both = pc.and_(pc.is_valid(field_of(struct, "min")), pc.is_valid(field_of(struct, "max")))
        bounded[name] = both.to_pylist()
    return bounded, part.table.select(list(_LOCATORS))


def _shard(members: list[_File], budget: Budget) -> Shard:
    """What is kept of files whose columns are the same."""
    types = members[0].types
    table = pa.concat_tables([member.locators for member in members]).combine_chunks()
    rows = table.column("row_count").to_pylist()
    structs, left_out = {}, {}
    for name, type_ in types.items():
        found = [block.get(name) for member in members for block in member.found]
        structs[name] = _kept(found, type_, rows, budget)
        unfit = _unfitting(found, structs[name]) if own_encoding(type_) is not None else None
        if unfit is not None:
            left_out[name] = unfit
    lanes = made_of(structs, len(table))
    coverings = {
        pair: pa.concat_arrays([member.coverings[pair] for member in members])
        for pair in members[0].coverings
    }
    known = with_coverings(table.append_column(FIELD, lanes), coverings)
    known = known.replace_schema_metadata({_UNFITTING: json.dumps(left_out)})
    return Shard(tuple(member.name for member in members), known)


def _kept(
    found: Sequence[Distinct | Filter | None], type_: Type, rows: Sequence[int], budget: Budget
) -> pa.StructArray:
    own = [one if isinstance(one, Distinct) else None for one in found]
    if any(own):
        return kept(own, type_, budget)
    theirs = [one if isinstance(one, Filter) else None for one in found]
    # How many values a filter holds is not known, but there are no more than rows.
    return kept_filters(theirs, type_, [budget.bytes_for_filter(count) for count in rows])


def _unfitting(found: Sequence[Distinct | Filter | None], kept: pa.StructArray) -> Unfitting | None:
    """The blocks with values of which neither a list nor a filter is kept."""
    parts = [field_of(kept, name).is_null() for name in ("dictionary", "rare", "filter")]
    nothing = reduce(pc.and_, parts).to_pylist()
    needs = [_needs(one) for one, unfit in zip(found, nothing, strict=True) if one is not None and unfit]
    needs = [need for need in needs if need[1]]
    if not needs:
        return None
    return Unfitting(len(needs), *(max(sizes) for sizes in zip(*needs, strict=True)))


def _needs(one: Distinct | Filter) -> tuple[int, int]:
    """The `bytes_per_block` with which a filter of the block is kept, and that of a good one."""
    if isinstance(one, Distinct):
        return bytes_needed(one.count), bytes_needed(one.count, bits=BITS_WANTED)
    small = bloom.folded(one.bits, FILTER_BYTES_MAX)
    size = 0 if small is None else LAYOUT_BYTES + len(small)
    return size, size


def _answer(outcome: Outcome) -> bytes:
    """The outcome as a stream: a row per shard, then one per failure."""
    schema = pa.schema(
        [("files", pa.list_(pa.string())), ("blocks", pa.large_binary()), ("failure", pa.string())]
    )
    rows = [{"files": list(part.files), "blocks": to_bytes(part)} for part in outcome.shards]
    rows += [{"files": [file], "failure": sentence} for file, sentence in outcome.failures.items()]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return bytes(sink.getvalue())


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    sys.stdout.buffer.write(_answer(index_files(asked.pop("files"), **asked)))
