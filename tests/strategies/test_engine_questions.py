"""Questions to engines reach each part of their language, and conform to it."""

import json
from collections import Counter
from dataclasses import replace
from itertools import accumulate

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from pruning.metadata.table.structs import field_of
from skipproof.stand.hunt.rounds import Rounds
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_rows import TENS
from strategies.engines.engine_tables import StoredLayout, StoredTable, is_consistent
from strategies.engines.engine_values import TYPES, order
from strategies.engines.files import arrow_table, partitions, write_stored
from strategies.engines.functions import ARITHMETIC, STRICT
from strategies.engines.joins import JOINS, RIGHT_PREFIX
from strategies.engines.questions import AREAS, Call, Column, Literal, subterms
from strategies.engines.windows import FUNCTIONS, SET_OPERATIONS
from strategies.engines.worlds import World, worlds


def many(able: Capabilities, rounds: int) -> list[World]:
    """The same worlds each time, in rounds as short as a hunt's."""
    worlds_of_rounds: list[World] = []
    drawing = Rounds(able, 0)
    for _ in range(rounds):
        drawing.draw(worlds_of_rounds.append)
    return worlds_of_rounds


# Drawing the worlds takes seconds.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drawn_worlds() -> list[World]:
    return many(Capabilities(areas=AREAS), 100)


def test_worlds_reach_each_area_type_join_and_kind_of_file(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions]
    tables = [table for world in drawn_worlds for table in world.tables.values()]
    assert {question.area for question in questions} == set(AREAS)
    assert {question.join.kind for question in questions if question.join} == set(JOINS)
    assert {column.type for table in tables for column in table.columns} == set(TYPES)
    assert {table.layout.evolution for table in tables} == {"", "reordered", "missing", "narrowed"}
    assert {table.layout.data_page for table in tables} == {"1.0", "2.0"}
    assert {table.layout.encoding for table in tables} == {"", "delta", "prefix", "split"}
    assert {table.layout.sorting for table in tables} == {"", "nulls first", "nulls last"}
    forgotten = {kind for table in tables for kind in table.layout.forgotten}
    assert forgotten == {"null_count", "bounds", "column_index"}
    assert {table.layout.forgotten_in is None for table in tables if table.layout.forgotten} == {True, False}
    assert {"", None} <= {text for table in tables for texts in partitions(table) for text in texts.values()}
    # Several pages, vectors of 2,048 rows.
    assert any(len(block) >= 2_048 for table in tables for block in table.blocks)


def test_orders_are_cut_where_they_go_from_values_to_null(drawn_worlds):
    """Several large tables have an OFFSET of just so many rows, which no end of a block is."""
    cut = 0
    for world in drawn_worlds:
        table = world.tables["t"]
        ends = {end + step for end in accumulate(map(len, table.blocks)) for step in (-1, 0, 1)}
        for question in world.questions:
            if question.area != "topk" or not isinstance(question.order[0].by, Column):
                continue
            cells = table.cells(question.order[0].by.name)
            null_count = cells.count(None)
            boundary = null_count if question.order[0].nulls_first else len(cells) - null_count
            is_inside = 5 < boundary < len(cells) and boundary not in ends
            cut += len(cells) >= 300 and is_inside and question.offset == boundary
    assert cut >= 2


def test_conditions_of_limit_are_negated_half_of_the_time(drawn_worlds):
    """Most conditions are true for few rows, all of which a LIMIT takes."""
    limited = [
        question.source.where.function == "not"
        for world in drawn_worlds
        for question in world.questions
        if question.area == "limit" and isinstance(question.source.where, Call)
    ]
    assert sum(limited) > len(limited) / 3


def test_up_to_half_of_many_switches_are_set_at_once():
    """Some faults need two at once, which are rarely both among three of twelve."""
    switches = {f"switch {number}": ("on", "off") for number in range(12)}
    counts = Counter(len(world.settings) for world in many(Capabilities(settings=switches), 15))
    assert set(counts) == {0, 1, 2, 3, 6}


def test_operands_of_every_test_are_expressions_and_lists_have_up_to_two_thousand_members(drawn_worlds):
    tests: dict[str, set[str]] = {}
    counts = Counter()
    for call in _calls(drawn_worlds):
        first = {part.function for part in subterms(call.of[0]) if isinstance(part, Call)}
        tests.setdefault(call.function, set()).update(first)
        if call.function == "in":
            members = {repr(member.value) for member in call.of[1:]}
            assert len(members) == len(call.of) - 1
            counts[len(members)] += 1
    everything = set().union(*tests.values())
    assert everything >= {*STRICT, "coalesce", "nullif", "if", "cast", "try cast"}
    assert {count for count, times in counts.items() if times > 1} >= {1, 2, 5, 20, 200, 2_000}
    for name in ("=", "<", "in", "between", "is null", "is not distinct from"):
        assert {"if", "nullif"} <= tests[name]
        assert tests[name].intersection(ARITHMETIC)
    assert {"lower", "substring", "concat"} <= tests["like"] | tests["starts with"]


def test_aggregates_groups_and_orders_are_of_expressions_with_all_that_sql_has(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions]
    aggregates = [aggregate for question in questions for aggregate in question.aggregates]
    assert {aggregate.function for aggregate in aggregates} == {"count", "min", "max", "sum"}
    assert {aggregate.function for aggregate in aggregates if aggregate.distinct} == {"count", "sum"}
    filtered = {aggregate.function for aggregate in aggregates if aggregate.where is not None}
    assert filtered == {"count", "min", "max", "sum"}
    assert any(isinstance(aggregate.of, Call) for aggregate in aggregates)
    assert any(isinstance(question.group, Call) for question in questions)
    having = [question for question in questions if question.having is not None]
    assert {question.group is None for question in having} == {True, False}
    ordered = {key.by.name for question in questions if question.aggregates for key in question.order}
    assert {"group", "aggregate 0"} <= ordered
    keys = [[key.by for key in question.order] for question in questions if question.area == "topk"]
    assert {len(by) for by in keys} == {1, 2, 3, 4}
    first = {by[0].function for by in keys if isinstance(by[0], Call)}
    assert {"try cast", "cast", "if", "coalesce"} <= first
    assert first.intersection(ARITHMETIC)
    # To the end of a block, one row beside, and beyond the end of the table.
    assert {question.offset for question in questions} >= {3, 4, 5, 20_000}


def test_columns_that_order_an_answer_are_in_it(drawn_worlds):
    """Ties of an order are seen only so; an order by an expression ends with the row number."""
    questions = [question for world in drawn_worlds for question in world.questions]
    for question in questions:
        by = [key.by for key in question.order]
        assert {term.name for term in by if isinstance(term, Column)} <= set(question.answer_columns)
        assert all(isinstance(term, Column) for term in by) or by[-1] == Column("rid", "int64")


def test_windows_sets_and_repeats_reach_each_kind(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions]
    windows = [question.window for question in questions if question.window]
    assert {window.function for window in windows} == set(FUNCTIONS)
    assert {(bool(window.order), window.partition is None) for window in windows} == {
        (True, True),
        (True, False),
        (False, True),
    }
    numberings = [window for window in windows if window.function == "row_number"]
    total = [bool(window.order) and window.order[-1].by == Column("rid", "int64") for window in numberings]
    for window, is_total in zip(numberings, total, strict=True):
        # Only a window without partitions determines how many rows there are.
        assert is_total or window.partition is None
    has_one_key = [len(window.order) == 1 for window in numberings]
    assert len(set(zip(has_one_key, total, strict=True))) == 4
    assert {bool(question.limit) for question in questions if question.window} == {True, False}
    sets = [question.set for question in questions if question.set]
    assert {(operation.kind, operation.all) for operation in sets} == {
        (kind, every) for kind in SET_OPERATIONS for every in (0, 1)
    }
    assert all(len(question.set.columns) == len(question.select) for question in questions if question.set)
    assert {question.repeat for question in questions} == {1, 2}
    assert {question.repeat for question in questions if question.area == "dml"} == {1}


def test_an_option_of_a_layout_is_left_out_where_its_value_is_none():
    able = Capabilities(layouts={"size": [None, None, 1]})
    options = [world.tables["t"].layout.format_options for world in many(able, 6)]
    counts = Counter(len(names) for names in options)
    assert all(dict(names) in ({}, {"size": 1}) for names in options)
    assert counts[0] > counts[1] > 0


def test_about_one_question_in_eight_with_a_constant_is_prepared_if_the_engine_can(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions]
    prepared = [question for question in questions if question.prepared]
    assert {question.area for question in prepared} == set(AREAS) - {"dml"}
    parts = [[part for term in question.conditions for part in subterms(term)] for question in questions]
    able = [
        question
        for question, own in zip(questions, parts, strict=True)
        if question.area != "dml" and any(isinstance(part, Literal) for part in own)
    ]
    assert set(map(id, prepared)) <= set(map(id, able))
    assert len(able) / 12 < len(prepared) < len(able) / 5
    lacking = many(Capabilities(areas=("filter",), functions_missing=frozenset({"parameters"})), 5)
    assert not any(question.prepared for world in lacking for question in world.questions)


def test_second_joins_reach_each_kind_by_keys_of_either_side(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions if question.second]
    assert {question.second.kind for question in questions} == set(JOINS) - {"not in"}
    assert {question.second.left_key.startswith(RIGHT_PREFIX) for question in questions} == {True, False}
    assert all(question.join.kind != "not in" for question in questions)
    one_sided = [question for question in questions if question.join.kind in ("semi", "anti")]
    assert one_sided
    assert not any(question.second.left_key.startswith(RIGHT_PREFIX) for question in one_sided)


def test_subqueries_reach_each_kind_over_each_shape_of_relation(drawn_worlds):
    questions = [question for world in drawn_worlds for question in world.questions]
    queries = [(question, query) for question in questions for query in question.queries]
    assert {query.kind for _, query in queries} == {"in", "exists", "min", "max", "count"}
    assert any(isinstance(query.operand, Call) for _, query in queries)
    assert {bool(query.relation.distinct) for _, query in queries} == {True, False}
    assert {query.relation.limit is None for _, query in queries} == {True, False}
    outermost = {
        question.source.where.function for question, _ in queries if isinstance(question.source.where, Call)
    }
    assert {"not", "and", "or"} <= outermost
    for _, query in queries:
        assert query.operand is None or query.operand.type == query.column.type


def _calls(worlds_of_all):
    terms = [term for world in worlds_of_all for question in world.questions for term in question.terms]
    return [part for term in terms for part in subterms(term) if isinstance(part, Call)]


def test_joins_are_cut_ordered_and_filtered_by_columns_of_either_side(drawn_worlds):
    joins = [question for world in drawn_worlds for question in world.questions if question.join]
    assert any(question.order and question.limit for question in joins)
    assert sum(bool(one.limit and not one.order) for one in joins) > len(joins) / 6
    outer = [one for one in joins if one.where and one.join.kind in ("left", "full")]
    named = [{part.name for part in subterms(one.where) if isinstance(part, Column)} for one in outer]
    assert any(all(name.startswith(RIGHT_PREFIX) for name in names) for names in named)
    assert any(len({name.startswith(RIGHT_PREFIX) for name in names}) == 2 for names in named)


def test_files_that_state_an_order_are_in_it(drawn_worlds, tmp_path):
    stating = [table for world in drawn_worlds for table in world.tables.values() if table.layout.sorting]
    checked = 0
    for number, table in enumerate(stating[:20]):
        directory = tmp_path / str(number)
        directory.mkdir()
        name, type_ = table.columns[0].name, table.columns[0].type
        for path in write_stored(table, directory):
            with pq.ParquetFile(path) as file:
                for ordinal in range(file.num_row_groups):
                    group = file.metadata.row_group(ordinal)
                    if not group.sorting_columns or name not in file.schema_arrow.names:
                        continue
                    (stated,) = group.sorting_columns
                    assert group.column(stated.column_index).path_in_schema == name
                    assert stated.nulls_first == (table.layout.sorting == "nulls first")
                    numbers = file.read_row_group(ordinal)[table.columns[-1].name].to_pylist()
                    cells = [table.cells(name)[row] for row in numbers]
                    nulls = [cell is None for cell in cells]
                    assert nulls == sorted(nulls, reverse=stated.nulls_first)
                    present = [order(cell, type_) for cell in cells if cell is not None]
                    assert present == sorted(present)
                    checked += len(cells) > 1
    assert checked > 10


def test_what_an_engine_lacks_is_never_drawn():
    lacks = Capabilities(
        areas=("filter", "join"),
        functions_missing=frozenset({"not", "in", "<", "if"}),
        types_missing=frozenset(TYPES) - {"int32", "string"},
        joins_missing=frozenset(JOINS) - {"left"},
    )

    @settings(max_examples=60, database=None, deadline=None, derandomize=True)
    @given(worlds(lacks))
    def check(world: World) -> None:
        for question in world.questions:
            calls = {
                part.function for term in question.terms for part in subterms(term) if isinstance(part, Call)
            }
            assert not calls & {"not", "in", "if"}
            assert question.join is None or question.join.kind == "left"
        types = {column.type for table in world.tables.values() for column in table.columns}
        assert types <= {"int32", "string", "int64"}

    check()


LAYOUTS = {
    "checkpoint_after": [1, 2],
    "stats_columns": ["{a}", "{b}", "{rid}"],
    "partition": [{"only": ["int32"], "value": {"column": "{a}", "transform": "bucket(2)"}}],
}


def test_tables_of_a_format_reach_each_option_and_many_files():
    able = Capabilities(areas=("filter", "join"), layouts=LAYOUTS)
    tables = [table for world in many(able, 70) for table in world.tables.values()]
    options = [table.layout.format_options for table in tables]
    assert {} in options
    assert any(len(some) > 1 for some in options)
    assert {some["stats_columns"] for some in options if "stats_columns" in some} >= {"a", "b", "rid", "u_a"}
    assert {some["checkpoint_after"] for some in options if "checkpoint_after" in some} == {1, 2}
    partitioned = [table for table in tables if "partition" in table.layout.format_options]
    assert {table.columns[0].type for table in partitioned} == {"int32"}
    assert all(
        table.layout.format_options["partition"]
        == {"column": table.columns[0].name, "transform": "bucket(2)"}
        for table in partitioned
    )
    assert max(len(table.blocks) for table in tables) > 6
    assert all(table.layout.writer == "pyarrow" and not table.layout.partitioned for table in tables)


def test_rows_that_are_repeated_often_have_runs_of_values_and_keep_their_layout(drawn_worlds):
    """Sorted tables stay sorted, and directories are of one value."""
    tables = [world.tables["t"] for world in drawn_worlds]
    repeated = [table for table in tables if max(map(len, table.blocks), default=0) >= TENS]
    assert all(map(is_consistent, repeated))
    runs = [table for table in repeated if max(_distinct_counts(table)) > TENS]
    assert len({column.type for table in runs for column in table.queried_columns}) > 4
    assert {bool(table.layout.sorting) for table in runs} == {True, False}
    assert any(max(_distinct_counts(table)) > 4 * TENS for table in runs)
    assert any(min(_distinct_counts(table)) < 8 for table in runs)


def _distinct_counts(table: StoredTable) -> list[int]:
    return [len(set(map(repr, table.cells(column.name)))) for column in table.queried_columns]


def test_a_value_for_small_tables_is_not_that_of_a_large_one():
    able = Capabilities(areas=("filter",), layouts={"size": [{"rows_max": 100, "value": 1}, 1_000]})
    tables = [world.tables["t"] for world in many(able, 12)]
    sizes: dict[bool, set[int]] = {True: set(), False: set()}
    for table in tables:
        if "size" in table.layout.format_options:
            sizes[sum(map(len, table.blocks)) > 100].add(table.layout.format_options["size"])
    assert sizes == {True: {1_000}, False: {1, 1_000}}


def test_files_of_other_writers_have_no_oddities_but_what_they_are_told():
    told = {"row_group_size": [1, 2], "statistics": [False]}
    able = Capabilities(areas=("filter",), writers={"pyarrow": {}, "polars": told})
    layouts = [world.tables["t"].layout for world in many(able, 20)]
    assert {layout.writer for layout in layouts} == {"pyarrow", "polars"}
    others = [layout for layout in layouts if layout.writer != "pyarrow"]
    for layout in others:
        assert replace(layout, format_options={}, blocks_per_file=100) == StoredLayout(writer="polars")
    assert {value for layout in others for value in layout.format_options.values()} == {1, 2, False}
    assert {} in [layout.format_options for layout in others]
    assert all(not layout.format_options for layout in layouts if layout.writer == "pyarrow")


def test_questions_and_tables_are_json(drawn_worlds):
    for world in drawn_worlds[:100]:
        for question in world.questions:
            assert json.loads(json.dumps(question.json())) == question.json()
        for table in world.tables.values():
            assert json.loads(json.dumps(table.json)) == table.json


def test_files_hold_the_rows_block_by_block(drawn_worlds, tmp_path):
    """Each block is a row group, whatever the layout; a file that lacks a column has NULL there."""
    plain = [table for world in drawn_worlds for table in world.tables.values()]
    for number, table in enumerate(plain[:150]):
        directory = tmp_path / str(number)
        directory.mkdir()
        paths = write_stored(table, directory)
        found = [pq.ParquetFile(path).metadata for path in paths]
        counts = [meta.row_group(group).num_rows for meta in found for group in range(meta.num_row_groups)]
        assert counts == [len(block) for block in table.blocks]
        assert _read(table, paths).equals(_whole(table)) or _has_nan(table)


def _read(table: StoredTable, paths):
    import pyarrow as pa

    known = [*partitions(table), *({} for _ in paths)]
    schema = _whole(table).schema
    parts = []
    for path, fixed in zip(paths, known, strict=False):
        part = pq.ParquetFile(path).read()
        for name in table.layout.nested:
            field = field_of(part[table.struct], name)
            part = part.drop_columns([name] if name in part.column_names else []).append_column(name, field)
        for name in table.layout.in_lists:
            cells = [of[0] if of.is_valid and len(of) else None for of in part[table.path(name)[0]]]
            part = part.append_column(name, pa.array(cells, schema.field(name).type))
        for name in schema.names:
            if name not in part.column_names:
                cells = [fixed.get(name)] * part.num_rows
                part = part.append_column(name, pa.array(cells, pa.string()).cast(schema.field(name).type))
        parts.append(part.select(schema.names).cast(schema))
    return pa.concat_tables(parts)


def _whole(table: StoredTable):
    return arrow_table(table.columns, [row for block in table.blocks for row in block])


def _has_nan(table: StoredTable) -> bool:
    return any(cell in ("NaN", "-NaN") for block in table.blocks for row in block for cell in row)
