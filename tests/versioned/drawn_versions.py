"""Generated tables as versions of tables: layouts of files, partitions, and rows that were deleted since."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from written_versions import DataFile, write_version

from pruning.expressions.sql import literal_sql
from pruning.expressions.trees import Column
from pruning.expressions.type_names import type_to_json
from pruning.expressions.types import Kind, Type, Value, decimal
from pruning.metadata.table.live_rows import with_deleted_rows
from pruning.metadata.versioned.table_version import (
    EVERY_PARTITION,
    PARTITION,
    SEQUENCE,
    EqualityDeletes,
    TableVersion,
)
from strategies.base.metadata import to_metadata, true_facts
from strategies.base.tables import Block, Row, Table, arrow_array, is_nan, to_arrow
from strategies.base.values import to_float32
from strategies.queries.queries import Query

# Rows with at least this number were deleted by their values.
DELETED_FROM = 1_000_000
# The sequence numbers of files and of their deletes.
WRITTEN, DELETED = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The way in which the columns of a file are written.

    Attributes:
        renamed: True if they have other names than in the table.
        narrow: True if they have narrower types, where these have all values.
        late: True if the file lacks the second column.
    """

    renamed: bool = False
    narrow: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockForm:
    """The way in which a block of rows is written.

    Attributes:
        way: The way of its files.
        positional: At which places, among all rows, one is written that is deleted by its position.
        equal: The number of rows that are deleted by their values.
    """

    way: Way = Way()
    positional: tuple[int, ...] = ()
    equal: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The way in which a table is written.

    Attributes:
        blocks: The way of each block.
        partitioned: True if the first column is a partition column, so that a file has one value of it.
        default: True if the second column has a value where files lack it, and is not NULL.
    """

    blocks: tuple[BlockForm, ...]
    partitioned: bool = False
    default: bool = False


@st.composite
def forms(draw: DrawFn, table: Table) -> Form:
    """Ways to write a table, with files of one or two ways.

    Shrinks to: plain files with the table's own columns.
    """
    ways = st.builds(
        Way, renamed=st.booleans(), narrow=st.booleans(), late=st.sampled_from((False, False, True))
    )
    block_forms = st.builds(
        BlockForm,
        way=st.sampled_from((draw(ways), draw(ways))),
        positional=st.lists(st.integers(0, 8), max_size=4).map(tuple),
        equal=st.sampled_from((0, 0, 0, 1, 3)) if draw(st.sampled_from((False, False, True))) else st.just(0),
    )
    return Form(
        blocks=tuple(draw(block_forms) for _ in table.blocks),
        partitioned=draw(st.booleans()),
        default=draw(st.booleans()),
    )


def with_forms(query: Query, forms_of: Sequence[Form]) -> Query:
    """Return the query over tables whose second column has one value in the blocks that lack it."""
    tables = tuple(
        replace(
            table,
            blocks=tuple(
                _with_value(block, _default_of(table, form)) if block_form.way.late else block
                for block, block_form in zip(table.blocks, form.blocks, strict=True)
            ),
        )
        for table, form in zip(query.tables, forms_of, strict=True)
    )
    return replace(query, tables=tables)


def _with_value(block: Block, value: Value | None) -> Block:
    return tuple((row[0], value, *row[2:]) for row in block)


def _default_of(table: Table, form: Form) -> Value | None:
    """Return the value of the second column in files that lack it."""
    type_ = table.columns[1].type
    if not form.default or type_.kind in (Kind.BINARY, Kind.FLOAT, Kind.DOUBLE):
        return None
    return next((row[1] for row in table.rows if row[1] is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file: its rows, those among them that are deleted, and the way in which it is written."""

    rows: Block
    deleted: tuple[int, ...]
    lost: int
    form: BlockForm


def write_drawn(draw: Any, table: Table, form: Form, directory: Path) -> TableVersion:
    """Write a table as a version of one; the files with a value of the partition column are a partition."""
    files = [
        file
        for block, block_form in zip(table.blocks, form.blocks, strict=True)
        for file in _files_of(table, block, block_form, partitioned=form.partitioned)
    ]
    default = _default_of(table, form)
    layouts: list[dict[str, Any]] = []
    data_files = []
    partition_of: dict[Any, int] = {}
    for file in files:
        columns, names = _layout(table, file, partitioned=form.partitioned)
        layout = {name: (type_to_json(column.type), {}) for name, column in zip(names, columns, strict=True)}
        missing = None
        if file.form.way.late:
            place = 0 if form.partitioned else 1
            missing = names[place]
            if default is not None:
                type_ = columns[place].type
                layout[missing] = (type_to_json(type_), {"EXISTS_DEFAULT": literal_sql(default, type_)})
        if layout not in layouts:
            layouts.append(layout)
        start = 1 if form.partitioned else 0
        arrow = to_arrow(
            [Column(name, column.type) for name, column in zip(names, columns, strict=True)],
            [row[start:] for row in file.rows],
        )
        key = _key(file.rows[0][0])
        data_files.append(
            DataFile(
                rows=arrow if missing is None else arrow.drop_columns([missing]),
                layout=layouts.index(layout),
                deleted=file.deleted,
                partition=(_arrow_value(table.columns[0].type, file.rows[0][0]),) if form.partitioned else (),
                sequence_number=WRITTEN,
                partition_id=partition_of.setdefault(key, len(partition_of)) if form.partitioned else 0,
                row_group_size=2,
            )
        )
    partitions = None
    if form.partitioned:
        partitions = pa.schema([(table.columns[0].name, arrow_array(table.columns[0].type, []).type)])
    return write_version(
        directory,
        {column.name: type_to_json(column.type) for column in table.columns},
        data_files,
        layouts=layouts or None,
        partitions=partitions,
        equality_deletes=_equality_deletes(table, files, partition_of if form.partitioned else None),
        blocks=_blocks(draw, table, files) if files else None,
    )


def _files_of(table: Table, block: Block, form: BlockForm, *, partitioned: bool) -> list[_File]:
    """Return the files of a block: one, or one for each value of its first column."""
    parts: dict[Any, list[Row]] = {}
    for row in block:
        parts.setdefault(_key(row[0]) if partitioned else None, []).append(row)
    files = []
    for rows in parts.values():
        lost = [(*rows[place % len(rows)][:-1], DELETED_FROM + place) for place in range(form.equal)]
        written: list[Row | None] = [*rows, *lost]
        for place in form.positional:
            written.insert(place, None)
        # A row that is deleted by its position may be like any other.
        copies = [rows[place % len(rows)] if row is None else row for place, row in enumerate(written)]
        deleted = tuple(place for place, row in enumerate(written) if row is None)
        files.append(_File(rows=tuple(copies), deleted=deleted, lost=len(lost), form=form))
    return files


def _layout(table: Table, file: _File, *, partitioned: bool) -> tuple[list[Column], list[str]]:
    """Return the columns in a file, and their names there."""
    start = 1 if partitioned else 0
    columns = [
        Column(column.name, _narrower(column.type, [row[place] for row in file.rows]))
        if file.form.way.narrow
        else column
        for place, column in enumerate(table.columns)
    ][start:]
    if not file.form.way.renamed:
        return columns, [column.name for column in columns]
    # A name may be that of another column of the table.
    others = [column.name for column in table.columns[start:]]
    return columns, [*others[1:], "first"]


def _narrower(type_: Type, values: Sequence[Any]) -> Type:
    """Return a narrower type that has all of some values; the type itself if there is none."""
    present = [value for value in values if value is not None]
    match type_.kind:
        case Kind.LONG:
            narrow = Type(Kind.INTEGER)
            assert narrow.integer_range is not None
            low, high = narrow.integer_range
            return narrow if all(low <= value <= high for value in present) else type_
        case Kind.DOUBLE:
            fits = all(is_nan(value) or to_float32(value) == value for value in present)
            return Type(Kind.FLOAT) if fits else type_
        case Kind.DECIMAL if type_.precision > type_.scale + 1:
            limit = 10 ** (type_.precision - type_.scale - 1)
            fits = all(abs(value) < limit for value in present)
            return decimal(type_.precision - 1, type_.scale) if fits else type_
        case _:
            return type_


def _equality_deletes(
    table: Table, files: Sequence[_File], partition_of: dict[Any, int] | None
) -> list[EqualityDeletes]:
    """Return what deletes the lost rows, and what would delete other rows if it were older or elsewhere."""
    if not any(file.lost for file in files):
        return []
    number = table.columns[-1]
    place = len(table.columns) - 1
    rows = []
    for file in files:
        here = EVERY_PARTITION if partition_of is None else partition_of[_key(file.rows[0][0])]
        for row in file.rows:
            if row[-1] is not None and row[-1] >= DELETED_FROM:
                rows.append((row[-1], DELETED, here))
            else:
                rows.append((row[-1], WRITTEN, EVERY_PARTITION))
                rows.append((row[-1], DELETED, len(files)))
    values, sequences, partitions = zip(*rows, strict=True)
    deleting = pa.table(
        {
            "0": arrow_array(number.type, values),
            SEQUENCE: pa.array(sequences, pa.int64()),
            PARTITION: pa.array(partitions, pa.int64()),
        }
    )
    return [EqualityDeletes(columns=((table.columns[place].name,),), rows=deleting)]


def _blocks(draw: Any, table: Table, files: Sequence[_File]) -> pa.Table:
    """Return block metadata of the live rows; where rows are deleted by values, of all rows that may live."""
    blocks = tuple(
        tuple(row for place, row in enumerate(file.rows) if place not in file.deleted) for file in files
    )
    live = Table(table.columns, blocks)
    metadata = to_metadata(live, draw(true_facts(live)), blocks_per_file=1)
    return with_deleted_rows(
        metadata, pa.array([bool(file.lost) for file in files]).to_numpy(zero_copy_only=False)
    )


def _key(value: Value | None) -> Any:
    """Return what two values of a partition column have in common if and only if they are the same."""
    return "NaN" if is_nan(value) else (repr(value), str(type(value)))


def _arrow_value(type_: Type, value: Value | None) -> Any:
    return arrow_array(type_, [value])[0]
