"""A process of its own that reads the values of some files: its input is JSON, its output Arrow."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.types import Type
from pruning.metadata.blocks import Shard, shards
from pruning.metadata.choosing import kept, kept_filters
from pruning.metadata.contents import Distinct, Indexable, contents, indexable
from pruning.metadata.coverings import CELL_BYTES, CELLS_MAX, with_coverings
from pruning.metadata.filters import Filter, filters
from pruning.metadata.footer import Footer, read_footer
from pruning.metadata.memberships import FIELD
from pruning.metadata.points import file_coverings
from pruning.metadata.reading import Outcome, to_bytes
from pruning.metadata.structs import field_of, made_of
from pruning.rules.regions import Pair

_LOCATORS = ("file", "row_group", "row_count")


@dataclass(frozen=True, slots=True)
class _File:
    """One file's blocks: their locators, the types of the columns, and what is known of each, by block.

    `coverings` are those of the pairs of columns asked for.
    """

    name: str
    locators: pa.Table
    types: dict[str, Type]
    found: list[dict[str, Distinct | None]] | list[dict[str, Filter]]
    coverings: Mapping[Pair, pa.ListArray]


def index_files(
    files: Iterable[str],
    *,
    columns: Sequence[str] | None,
    points: Iterable[tuple[str, str]],
    bytes_per_block: int,
    read_data: bool,
) -> Outcome:
    """What is kept of the values of the files, which the arguments of `pruning.index` describe."""
    failures: dict[str, str] = {}
    pairs = [Pair(*names) for names in points]
    cells_max = min(CELLS_MAX, bytes_per_block // CELL_BYTES)
    alike: dict[tuple[tuple[str, Type], ...], list[_File]] = {}
    for file in files:
        try:
            coverings = file_coverings(file, pairs, cells_max=cells_max) if cells_max else {}
            read = _read(file, columns, coverings, read_data=read_data)
        except InputError as error:
            failures[file] = str(error)
        except (OSError, pa.ArrowException) as error:
            failures[file] = f"{file}: its data cannot be read ({str(error).splitlines()[0]}); leave it out"
        else:
            alike.setdefault(tuple(read.types.items()), []).append(read)
    return Outcome([_shard(members, bytes_per_block) for members in alike.values()], failures)


def _read(
    file: str,
    columns: Sequence[str] | None,
    coverings: Mapping[Pair, pa.ListArray],
    *,
    read_data: bool,
) -> _File:
    footer = read_footer(file)
    named = indexable(footer, columns)
    bounded, locators = _bounded(file, footer, named)
    found: list[dict[str, Distinct | None]] | list[dict[str, Filter]]
    found = (
        list(contents(file, footer, named, bounded)) if read_data else filters(file, footer, named, bounded)
    )
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


def _shard(members: list[_File], bytes_per_block: int) -> Shard:
    """What is kept of files whose columns are the same."""
    types = members[0].types
    structs = {
        name: _kept([block.get(name) for member in members for block in member.found], type_, bytes_per_block)
        for name, type_ in types.items()
    }
    table = pa.concat_tables([member.locators for member in members]).combine_chunks()
    lanes = made_of(structs, len(table))
    coverings = {
        pair: pa.concat_arrays([member.coverings[pair] for member in members])
        for pair in members[0].coverings
    }
    known = with_coverings(table.append_column(FIELD, lanes), coverings)
    return Shard(tuple(member.name for member in members), known)


def _kept(found: Sequence[Distinct | Filter | None], type_: Type, bytes_per_block: int) -> pa.StructArray:
    own = [one if isinstance(one, Distinct) else None for one in found]
    if any(own):
        return kept(own, type_, bytes_per_block=bytes_per_block)
    theirs = [one if isinstance(one, Filter) else None for one in found]
    return kept_filters(theirs, type_, bytes_per_block=bytes_per_block)


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
