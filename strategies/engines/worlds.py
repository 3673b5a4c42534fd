"""Draw worlds: a table or several, the settings of an engine, and questions about the tables.

An engine is not asked for what it lacks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import Capabilities, ConditionScope
from strategies.engines.engine_questions import ASKS, with_other_limits
from strategies.engines.engine_rows import ONCE, REPEATS, ValuePool, value_pools
from strategies.engines.engine_tables import StoredTable, stored_tables
from strategies.engines.engine_values import order
from strategies.engines.joins import LEFT, RIGHT, RIGHT_PREFIX, THIRD, THIRD_PREFIX
from strategies.engines.questions import Json, Literal, Question, subterms
from strategies.engines.terms import shared_operand

_OFTEN = (
    "filter", "filter", "limit", "topk", "join", "aggregate", "aggregate", "window", "set", "subquery",
)  # fmt: skip
# What needs many rows is mostly LIMIT and OFFSET; most that goes wrong there, in the order.
_MORE_OF_LARGE = {"limit": 1, "topk": 4}
# A change has a world of its own, which takes about a third of the time of one with many questions.
_MORE_CHANGES = 2
_OF_TWO_TABLES = ("join", "set", "subquery")
_ONE_IN_FOUR: st.SearchStrategy[bool] = st.sampled_from((False, False, False, True))
_ONE_IN_EIGHT: st.SearchStrategy[bool] = st.sampled_from((*(False,) * 7, True))
# Writing the files of a world takes as long as ten or twenty questions.
QUESTIONS_MAX = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Tables by name, the settings of the engine, and questions."""

    tables: Mapping[str, StoredTable]
    settings: Mapping[str, str]
    questions: tuple[Question, ...]


@st.composite
def worlds(
    draw: DrawFn,
    capabilities: Capabilities,
    *,
    questions_max: int = QUESTIONS_MAX,
    repeats: Sequence[int] = REPEATS,
) -> World:
    """Worlds of tables and questions about them.

    Args:
        questions_max: How many questions are drawn at most. Unless it is one, those of large tables come with
            others that differ in LIMIT and OFFSET alone.
        repeats: How often each row of the first table may be there.

    Shrinks to: one question, `a` compared with a literal.
    """
    is_large = 1 not in repeats
    areas = _areas_of_a_world(draw, capabilities.areas, is_large=is_large)
    pool_strategy = value_pools(without=capabilities.types_missing, is_large=is_large)
    own = [draw(pool_strategy)]
    if draw(st.booleans()):
        # Two columns of one pool are compared with each other.
        own.append(own[0] if draw(st.booleans()) else draw(pool_strategy))
    able = ConditionScope(capabilities, {})
    can_have_third = "join" in areas and able.has_functions("second join") and not is_large
    has_third = can_have_third and draw(_ONE_IN_FOUR)
    others = {RIGHT: RIGHT_PREFIX} if areas[0] in _OF_TWO_TABLES else {}
    others |= {THIRD: THIRD_PREFIX} if has_third else {}
    stored = partial(
        stored_tables,
        own,
        writers=capabilities.writers,
        layouts=capabilities.layouts,
        decoys=_decoys(able),
        has_lists=able.has_functions("list element"),
    )
    tables = {LEFT: draw(stored(repeats=ONCE if has_third else repeats))}
    for name, prefix in others.items():
        # Two tables with thousands of equal keys each would have a join of millions of rows.
        tables[name] = draw(stored(prefix=prefix, repeats=ONCE, blocks_max=2))
    scope = _scope(draw, capabilities, tables[LEFT], own, has_third=has_third)
    if scope.is_large:
        areas += [area for area in areas for _ in range(_MORE_OF_LARGE.get(area, 0))]
    changes = areas == ["dml"]
    # A large table takes long to write, and is rarely written for one question.
    count = choose(draw, (1,) if changes else (1, *(questions_max,) * (9 if is_large else 4)))
    questions = [
        _prepare(
            draw, scope, ASKS[choose(draw, areas)](draw, replace(scope, pivot=_pivot(draw, tables.values())))
        )
        for _ in range(count)
    ]
    if not changes and draw(_ONE_IN_FOUR):
        # A question that is asked again may be answered from what the first time left.
        again = draw(st.integers(0, count - 1))
        questions[again] = replace(questions[again], repeat=2)
    if scope.is_large and questions_max > 1:
        questions = [
            limited for question in questions for limited in with_other_limits(draw, scope, question)
        ]
    return World(tables=tables, settings=_settings(draw, capabilities), questions=tuple(questions))


def _scope(
    draw: DrawFn, capabilities: Capabilities, table: StoredTable, own: Sequence[ValuePool], *, has_third: bool
) -> ConditionScope:
    """Draw what the questions about a table are drawn from: its values, and mostly a function they share."""
    scope = ConditionScope(
        capabilities,
        _pools(table, own),
        has_third,
        block_ends=_block_ends(table),
        value_counts=_value_counts(table),
    )
    # Large tables are there for LIMIT and the order, and all orders by columns alone are alike.
    if scope.has_functions("expression") and (scope.is_large or draw(st.booleans())):
        return replace(scope, shared=shared_operand(draw, scope))
    return scope


def _prepare(draw: DrawFn, scope: ConditionScope, question: Question) -> Question:
    """Draw one question in eight as a prepared one, if the engine can and a constant can be a parameter."""
    if question.change is not None or not scope.has_functions("parameters"):
        return question
    has_constant = any(isinstance(part, Literal) for term in question.conditions for part in subterms(term))
    return replace(question, prepared=True) if has_constant and draw(_ONE_IN_EIGHT) else question


def _decoys(able: ConditionScope) -> tuple[str, ...]:
    """Return the decoys that tables with fields of a struct may have; none if the engine lacks fields."""
    if not able.has_functions("struct field"):
        return ()
    return ("", "before", "after", *(("dotted",) if able.has_functions("dotted name") else ()))


def _areas_of_a_world(draw: DrawFn, areas: Sequence[str], *, is_large: bool) -> list[str]:
    """Draw a world's areas: a change alone, or all of two tables, or all of one, some more than once.

    Two large tables are rare, because their joins take long, and few of them need many rows.
    """
    # All other areas filter, too, but their answers hide some wrong filters.
    weighted = [*areas, *(often for often in _OFTEN if often in areas)]
    of_one = [area for area in weighted if area not in _OF_TWO_TABLES]
    more_changes = [area for area in areas if area == "dml"] * _MORE_CHANGES
    first = choose(draw, of_one * 3 + weighted if is_large else weighted + more_changes)
    if first == "dml":
        return [first]
    has_two = first in _OF_TWO_TABLES
    return [area for area in weighted if area != "dml" and (area in _OF_TWO_TABLES) == has_two]


def _block_ends(table: StoredTable) -> tuple[int, ...]:
    """Return the number of rows up to the end of each block that has rows."""
    return tuple(accumulate(len(block) for block in table.blocks if block))


def _value_counts(table: StoredTable) -> dict[str, int]:
    """Return the number of rows that have a value, by column."""
    return {
        column.name: sum(cell is not None for cell in table.cells(column.name))
        for column in table.queried_columns
    }


def _pools(table: StoredTable, drawn_from: Sequence[ValuePool]) -> dict[str, ValuePool]:
    """Return the pool of each column of a table, with the ends of its runs."""
    return {
        column.name: _with_ends(pool, table.cells(column.name))
        for column, pool in zip(table.queried_columns, drawn_from, strict=True)
    }


def _with_ends(pool: ValuePool, cells: Sequence[Json]) -> ValuePool:
    """Return a pool that also has the least and the greatest of the values that it lacks."""
    own = set(map(repr, pool.values))
    others = {cell for cell in cells if cell is not None and repr(cell) not in own}
    if not others:
        return pool
    ends = (pick(others, key=lambda value: order(value, pool.type)) for pick in (min, max))
    return replace(pool, values=(*pool.values, *ends))


def _pivot(draw: DrawFn, tables: Iterable[StoredTable]) -> dict[str, Json]:
    """Draw a row of each table that has rows, and return their values by column."""
    pivot: dict[str, Json] = {}
    for table in tables:
        blocks = [block for block in table.blocks if block]
        if blocks:
            row = choose(draw, choose(draw, blocks))
            pivot |= zip((column.name for column in table.columns), row, strict=True)
    return pivot


def _settings(draw: DrawFn, capabilities: Capabilities) -> dict[str, str]:
    """Draw often the defaults, else one to three switches set otherwise, or half of them.

    Few hide what others show, and some faults need two at once, which are rarely both among three of many.
    """
    others = {name: values[1:] for name, values in sorted(capabilities.settings.items()) if len(values) > 1}
    if not others or not draw(st.booleans()):
        return {}
    half = -(-len(others) // 2)
    count = min(choose(draw, (1, 2, 3, half, half)), len(others))
    names = draw(st.lists(st.sampled_from(list(others)), min_size=count, max_size=count, unique=True))
    return {name: choose(draw, others[name]) for name in names}
