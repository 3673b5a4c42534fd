"""Tables that engines are asked about, and the layouts of their files.

Shrinks to: one column of small integers beside the row numbers, one block of one row, a plain layout.

"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.engine_rows import (
    FULL,
    MANY,
    REPEATS,
    TENS,
    ValuePool,
    cells_of_block,
    number_rows,
    sort_rows,
)
from strategies.engines.questions import ROW_NUMBER, Column, Json, Row

# Each block of a table format is a file, and tables need several of them for its log to change. Of a large
# table each is a whole row group, and fewer of them leave time for more tables.
_BLOCKS_MAX, _FILES_MAX, _GROUPS_MAX = 6, 8, 5
_ROW_COUNTS = (*(1, 2, 3, 4, 5, 6) * 2, 0)
PYARROW = "pyarrow"
# The writer of ORC files instead of Parquet files, which is pyarrow too.
ORC = "orc"
# Options by name, with the values to try; the writers of files, with the options of each.
Options: TypeAlias = Mapping[str, Sequence[Json]]
Writers: TypeAlias = Mapping[str, Options]
# The writers if there is no other.
ALONE: Writers = {PYARROW: {}}
# The place of a column's name in the value of an option.
_PLACE = re.compile(r"\{(\w+)\}")
# What stands beside a value of an option that suits some tables only.
_CONDITIONS = {"only", "rows_max"}
# Types whose values all engines write alike in the names of directories.
PARTITION_TYPES = ("int32", "int64", "string")
# Names of directories longer than about 255 bytes are cut or refused.
_DIRECTORY_CHARACTERS_MAX = 50
_ONE_IN_FOUR: st.SearchStrategy[bool] = st.sampled_from((False, False, False, True))
_ONE_IN_THREE: st.SearchStrategy[bool] = st.sampled_from((False, False, True))
_TWO_IN_THREE: st.SearchStrategy[bool] = st.sampled_from((False, True, True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLayout:
    """The files of a table; each block is a row group.

    Attributes:
        writer: `pyarrow`; `orc`, if pyarrow writes ORC files; or the name of an engine whose worker writes.
        statistics: The columns that have statistics; None is all of them.
        files_without: Ordinals of files that have no statistics at all.
        rows_per_page: The most rows of a data page; None leaves it to the writer.
        encoding: The encoding of pages, without a dictionary, where the type has it: `delta`, `prefix` or
            `split`; empty: as `dictionary` says.
        filters: The columns that get a bloom filter.
        ballast: True if files begin with a struct and a list that no question reads.
        nested: The columns that files hold as fields of one struct.
        in_lists: The columns that files hold as the first elements of lists; none if some are in a struct.
        decoys: Top-level columns with other values, named like these fields, `before` the struct or `after`
            all columns; or `dotted`, named as their paths with a dot; empty: none.
        forgotten: Statistics that are removed from the footer: `null_count`, `bounds` or `column_index`.
        forgotten_in: The ordinals of the row groups that lose them in each file; None is all.
        sorting: The order of rows by the first column that files state, NULL first or last; empty: none.
        evolution: The difference of each second file: its columns are `reordered`, the last column but the
            row number is `missing` (and NULL), or columns are `narrowed` to a smaller type that holds them.
        partitioned: True if the first column is in the names of directories instead of the files.
        format_options: Options of a table format, or of a writer, by the names that its engine has for them.
    """

    writer: str = PYARROW
    blocks_per_file: int = 100
    statistics: tuple[str, ...] | None = None
    files_without: frozenset[int] = frozenset()
    page_index: bool = False
    rows_per_page: int | None = None
    dictionary: bool = True
    encoding: str = ""
    filters: tuple[str, ...] = ()
    ballast: bool = False
    nested: tuple[str, ...] = ()
    in_lists: tuple[str, ...] = ()
    decoys: str = ""
    forgotten: frozenset[str] = frozenset()
    forgotten_in: frozenset[int] | None = None
    sorting: str = ""
    data_page: str = "1.0"
    evolution: str = ""
    partitioned: bool = False
    format_options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table in blocks, and the layout of its files; the last column is the row number."""

    columns: tuple[Column, ...]
    blocks: tuple[tuple[Row, ...], ...]
    layout: StoredLayout = StoredLayout()

    @property
    def json(self) -> Json:
        """The table as blocks, in the form that workers receive."""
        columns = [{"name": column.name, "type": column.type} for column in self.columns]
        return {"columns": columns, "blocks": [[list(row) for row in block] for block in self.blocks]}

    @property
    def struct(self) -> str:
        """The name of the struct that holds the nested columns."""
        return self.columns[-1].name.removesuffix(ROW_NUMBER) + "s"

    def path(self, name: str) -> tuple[str | int, ...]:
        """Return the place of a column in the files.

        It is the column's name, for a field after that of its struct; or the list's name, and 0 for its first
        element.
        """
        if name in self.layout.in_lists:
            return (f"{name}_values", 0)
        return (self.struct, name) if name in self.layout.nested else (name,)

    @property
    def queried_columns(self) -> tuple[Column, ...]:
        """The columns except the row number."""
        return self.columns[:-1]

    def cells(self, name: str) -> list[Json]:
        """Return the values of a column, row by row."""
        position = [column.name for column in self.columns].index(name)
        return [row[position] for block in self.blocks for row in block]


def is_consistent(table: StoredTable) -> bool:
    """Tell whether the layout is true of the rows, so that every reader owes the same answer."""
    layout, firsts = table.layout, [[row[0] for row in block] for block in table.blocks]
    if layout.partitioned:
        own = all(len({repr(cell) for cell in cells}) <= 1 for cells in firsts)
        if layout.blocks_per_file != 1 or table.columns[0].type not in PARTITION_TYPES or not own:
            return False
    if layout.evolution == "missing":
        odd = [block for at, block in enumerate(table.blocks) if at // layout.blocks_per_file % 2]
        if any(row[-2] is not None for block in odd for row in block):
            return False
    if not layout.sorting:
        return True
    rows = [(cell,) for cells in firsts for cell in cells]
    nulls_first = layout.sorting == "nulls first"
    return [
        row for block in sort_rows([rows], table.columns[0].type, nulls_first=nulls_first) for row in block
    ] == rows


@st.composite
def stored_tables(
    draw: DrawFn,
    pools: Sequence[ValuePool],
    *,
    prefix: str = "",
    repeats: Sequence[int] = REPEATS,
    blocks_max: int | None = None,
    writers: Writers = ALONE,
    layouts: Options | None = None,
    decoys: Sequence[str] = (),
    has_lists: bool = False,
) -> StoredTable:
    """Tables with columns a, b, ... whose values come from pools, in blocks of 0 to a few rows.

    Args:
        writers: The writers of files, and the options of each, with the values.
        layouts: The options of a table format; None if there are files instead of one.
        decoys: Those that tables whose columns are fields of a struct may have; empty: none is.
        has_lists: Whether columns may be elements of lists.
    """
    columns = tuple(Column(f"{prefix}{name}", pool.type) for name, pool in zip("abc", pools, strict=False))
    is_large = 1 not in repeats
    of_format = _GROUPS_MAX if is_large else _FILES_MAX
    most = blocks_max or (_BLOCKS_MAX if layouts is None else of_format)
    # One block alone, or one without rows, leaves little to skip.
    block_count = choose(draw, (*range(1, most + 1), *range(3, most + 1), *range(3, most + 1)))
    counts = [choose(draw, _ROW_COUNTS) for _ in range(block_count)]
    blocks = [cells_of_block(draw, pools, count) for count in counts]
    # Row groups in order are skipped by LIMIT and OFFSET, for which large tables are there.
    orders = ("", "nulls first", "nulls last")
    sorting = choose(draw, orders if is_large else ("", *orders))
    if sorting:
        blocks = sort_rows(blocks, pools[0].type, nulls_first=sorting == "nulls first")
    numbered = (*columns, Column(f"{prefix}{ROW_NUMBER}", "int64"))
    if layouts is not None:
        repeat = choose(draw, [count for count in repeats if count in (1, TENS, FULL)])
        rows = repeat * sum(map(len, blocks))
        options = draw(format_options(numbered, layouts, rows=rows, is_certain=is_large))
        layout = StoredLayout(format_options=options)
        return StoredTable(
            columns=numbered, blocks=number_rows(draw, blocks, pools, repeat, sorting), layout=layout
        )
    layout = _layout(draw, numbered, writers)
    if layout.writer == PYARROW:
        if sorting and _has_one_order(pools[0]) and not layout.ballast and draw(st.booleans()):
            layout = replace(layout, sorting=sorting)
        if draw(_ONE_IN_THREE):
            layout, blocks = _several_schemas(draw, layout, blocks)
        elif pools[0].type in PARTITION_TYPES and draw(_ONE_IN_FOUR):
            layout = replace(layout, blocks_per_file=1, partitioned=True, sorting="")
            blocks = [_partition(draw, pools[0], block) for block in blocks]
        elif (decoys or has_lists) and not layout.sorting and draw(_ONE_IN_THREE):
            layout = _nesting(draw, layout, columns, decoys, has_lists=has_lists)
    # The options of a writer may ask for row groups of one row.
    repeat = choose(draw, [count for count in repeats if count < MANY or not layout.format_options])
    # A directory is of one value, and a column that a file lacks is NULL there.
    fixed = 1 if layout.partitioned else 0
    sorting = "" if layout.evolution == "missing" else sorting
    return StoredTable(
        columns=numbered,
        blocks=number_rows(draw, blocks, pools, repeat, sorting, fixed=fixed),
        layout=layout,
    )


def _nesting(
    draw: DrawFn, layout: StoredLayout, columns: Sequence[Column], decoys: Sequence[str], *, has_lists: bool
) -> StoredLayout:
    """Return the layout with some of the columns in a struct, or in lists."""
    names = tuple(column.name for column in columns)
    inside = choose(draw, (names, names, names[:1], names[-1:]))
    if has_lists and (not decoys or draw(_ONE_IN_FOUR)):
        return replace(layout, in_lists=inside)
    return replace(layout, nested=inside, decoys=choose(draw, decoys))


def _has_one_order(pool: ValuePool) -> bool:
    """Tell whether everyone sorts a pool's values alike: NaN and signed zeros have several orders."""
    return not {"NaN", "-NaN", "-0.0"}.intersection(map(str, pool.values))


@st.composite
def format_options(
    draw: DrawFn, columns: Sequence[Column], layouts: Options, *, rows: int = 0, is_certain: bool = False
) -> dict[str, Json]:
    """One to three options of a table format half of the time; columns replace `{a}`, `{b}` and `{rid}`.

    A value of None leaves an option out, so that its other values are rarer.

    Args:
        rows: The rows of the table: some values are for small tables only.
        is_certain: Whether to draw options each time.

    Shrinks to: none; or to one, if it is certain.
    """
    possible = {name: _possible(values, columns, rows) for name, values in layouts.items()}
    names = sorted(name for name, values in possible.items() if values)
    if not names or not (is_certain or draw(st.booleans())):
        return {}
    some = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    chosen = {name: choose(draw, possible[name]) for name in some}
    return {name: value for name, value in chosen.items() if value is not None}


def _possible(values: Sequence[Json], columns: Sequence[Column], rows: int) -> list[Json]:
    """Return the values of an option that suit a table of these columns, with so many rows."""
    letters = (*"abc"[: len(columns) - 1], ROW_NUMBER)
    names = dict(zip(letters, (column.name for column in columns), strict=True))
    word = columns[0].type.partition("(")[0]
    suiting = []
    for value in values:
        if isinstance(value, dict) and not _CONDITIONS.isdisjoint(value):
            if word not in value.get("only", (word,)) or rows > value.get("rows_max", rows):
                continue
            value = value["value"]
        if names.keys() >= set(_PLACE.findall(str(value))):
            suiting.append(_fill(value, names))
    return suiting


def _fill(value: Json, names: Mapping[str, str]) -> Json:
    if isinstance(value, dict):
        return {key: _fill(part, names) for key, part in value.items()}
    return _PLACE.sub(lambda match: names[match[1]], value) if isinstance(value, str) else value


def _several_schemas(
    draw: DrawFn, layout: StoredLayout, blocks: list[list[Row]]
) -> tuple[StoredLayout, list[list[Row]]]:
    evolution = choose(draw, ("reordered", "missing", "narrowed"))
    per_file = choose(draw, (1, 2))
    if evolution == "missing":
        odd = [ordinal // per_file % 2 == 1 for ordinal in range(len(blocks))]
        blocks = [
            [(*row[:-1], None) for row in block] if lacks else block
            for block, lacks in zip(blocks, odd, strict=True)
        ]
        # The rows of the first column, too, if it is the only one, so that they may not be in order any more.
        layout = replace(layout, sorting="")
    return replace(layout, evolution=evolution, blocks_per_file=per_file), blocks


def _partition(draw: DrawFn, pool: ValuePool, block: list[Row]) -> list[Row]:
    """Return the block's rows with one value in the first column."""
    short = [value for value in pool.values if len(str(value)) <= _DIRECTORY_CHARACTERS_MAX]
    empty = ("",) if pool.type == "string" else ()
    value = choose(draw, [*short, *empty, None])
    return [(value, *row[1:]) for row in block]


def _layout(draw: DrawFn, columns: Sequence[Column], writers: Writers) -> StoredLayout:
    """Draw a plain layout one time in three; else each oddity one time in a few."""
    # Beside pyarrow and the reader, the writers are those that a user asked for.
    writer = choose(draw, (*writers, *(name for name in list(writers)[2:] if name != ORC)))
    blocks_per_file = choose(draw, (100, 100, 1, 2))
    if writer != PYARROW:
        options = draw(format_options(columns, writers[writer]))
        return StoredLayout(writer=writer, blocks_per_file=blocks_per_file, format_options=options)
    if not draw(_TWO_IN_THREE):
        return StoredLayout(blocks_per_file=blocks_per_file)
    names = [column.name for column in columns]
    few = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    forgotten = st.sampled_from(("null_count", "bounds", "column_index"))
    ordinals = st.lists(st.integers(0, 2), max_size=2).map(frozenset)
    page_index = draw(_TWO_IN_THREE)
    return StoredLayout(
        blocks_per_file=blocks_per_file,
        statistics=draw(st.none() | st.none() | few),
        files_without=draw(ordinals) if draw(_ONE_IN_FOUR) else frozenset(),
        page_index=page_index,
        rows_per_page=choose(draw, (1, 2, 3)) if page_index or draw(_ONE_IN_FOUR) else None,
        dictionary=draw(st.booleans()),
        encoding=choose(draw, ("delta", "prefix", "split")) if draw(_ONE_IN_FOUR) else "",
        filters=draw(st.just(tuple(names)) | few),
        ballast=draw(_ONE_IN_FOUR),
        forgotten=frozenset([draw(forgotten)]) if draw(_ONE_IN_FOUR) else frozenset(),
        forgotten_in=draw(st.none() | ordinals),
        data_page=choose(draw, ("1.0", "2.0")),
    )
