"""Variations of a failing world: each lacks one thing that may be at fault, and has a name."""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skipproof.stand.hunt.causes import type_family
from skipproof.stand.hunt.rewriting import expression_forms, simpler_questions
from skipproof.stand.hunt.shrinking import (
    PLAIN_TYPE,
    distinct_values,
    may_be_integer,
    types,
    with_ranks,
    with_table,
    with_values,
    without_null,
)
from strategies.engines.engine_tables import ORC, PYARROW, StoredLayout, is_consistent
from strategies.engines.engine_values import values
from strategies.engines.questions import Json, Question
from strategies.engines.worlds import World

# Longer texts and bytes may be cut in statistics.
_CHARACTERS_MAX = 8
# The names of variations with values of another type begin so.
TYPE_INSTEAD = "integers instead of "


class CureKind(enum.Enum):
    """The part of a world that a variation changes; the value is its word in a report."""

    SWITCH = "switch"
    STATISTICS = "statistics"
    EXPRESSION = "expression"
    QUESTION = "question"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Cure:
    """The name of a variation that makes the answer right."""

    kind: CureKind
    name: str


def variations(
    world: World, *, switches: Mapping[str, Sequence[str]], own_tables: bool
) -> Iterator[tuple[Cure, World]]:
    """Yield the consistent variations of a world with one question, those that are no variation left out.

    Args:
        switches: The switches of the engine with their values, the default first.
        own_tables: Whether the engine writes tables of its own format.
    """
    for kind, candidates in (
        (CureKind.SWITCH, _other_switches(world, switches)),
        (CureKind.STATISTICS, _other_layouts(world, own_tables=own_tables)),
        (CureKind.EXPRESSION, _with_questions(world, expression_forms)),
        (CureKind.QUESTION, _with_questions(world, simpler_questions)),
        (CureKind.VALUES, _other_values(world)),
    ):
        for name, candidate in candidates:
            if candidate != world and all(map(is_consistent, candidate.tables.values())):
                yield Cure(kind, name), candidate


def _other_switches(world: World, switches: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, World]]:
    """Yield the world with each switch set to each other value."""
    for name, switch_values in sorted(switches.items()):
        current = world.settings.get(name, switch_values[0])
        for value in switch_values:
            if value != current:
                yield f"{name}={value}", replace(world, settings={**world.settings, name: value})


def _other_layouts(world: World, *, own_tables: bool) -> Iterator[tuple[str, World]]:
    """Yield the world with less in the layouts of its tables: statistics, and what may replace them."""
    options = {name for table in world.tables.values() for name in table.layout.format_options}
    for option in sorted(options):
        yield f"without the option {option}", _with_layouts(world, _drop_option(option))
    if own_tables:
        return
    yield "without bounds", _with_layouts(world, lambda layout: _forget(layout, "bounds"))
    yield "without counts of NULL", _with_layouts(world, lambda layout: _forget(layout, "null_count"))
    if any(table.layout.page_index or table.layout.writer != PYARROW for table in world.tables.values()):
        yield "without page indexes", _with_layouts(world, lambda layout: _forget(layout, "column_index"))
    yield "without bloom filters", _with_layouts(world, lambda layout: replace(layout, filters=()))
    yield "without statistics in the footer", _with_layouts(world, _bare)
    yield "one schema for all files", _with_layouts(world, lambda layout: replace(layout, evolution=""))
    yield "usual encodings", _with_layouts(world, lambda layout: replace(layout, encoding=""))
    yield "stored flat", _with_layouts(world, _flat)
    yield (
        "no columns named like fields",
        _with_layouts(world, lambda layout: replace(layout, decoys="") if layout.decoys else layout),
    )
    yield "no values in directories", _with_layouts(world, lambda layout: replace(layout, partitioned=False))
    yield (
        "written by pyarrow",
        _with_layouts(
            world,
            lambda layout: (
                layout if layout.writer == PYARROW else replace(layout, writer=PYARROW, format_options={})
            ),
        ),
    )


def _with_layouts(world: World, change: Callable[[StoredLayout], StoredLayout]) -> World:
    """Return the world with the layout of each table changed."""
    tables = {name: replace(table, layout=change(table.layout)) for name, table in world.tables.items()}
    return replace(world, tables=tables)


def _drop_option(option: str) -> Callable[[StoredLayout], StoredLayout]:
    """Return a change of layouts that drops an option of theirs."""

    def change(layout: StoredLayout) -> StoredLayout:
        options = {name: value for name, value in layout.format_options.items() if name != option}
        return replace(layout, format_options=options)

    return change


def _forget(layout: StoredLayout, *kinds: str) -> StoredLayout:
    """Return a layout whose footers lack kinds of statistics in every row group; ORC keeps all of its own."""
    if layout.writer == ORC:
        return layout
    return replace(layout, forgotten=layout.forgotten.union(kinds), forgotten_in=None)


def _bare(layout: StoredLayout) -> StoredLayout:
    """Return a layout without statistics, indexes and stated order, as far as its files can lack them."""
    bare = _forget(layout, "bounds", "null_count", "column_index")
    return replace(bare, statistics=(), filters=(), page_index=False, sorting="")


def _flat(layout: StoredLayout) -> StoredLayout:
    """Return a layout whose columns are all at the top."""
    return replace(layout, nested=(), in_lists=(), decoys="")


def _with_questions(
    world: World, rewrite: Callable[[Question], Iterator[tuple[str, Question]]]
) -> Iterator[tuple[str, World]]:
    """Yield the world with other forms of its question, and with the tables that they read."""
    (question,) = world.questions
    for name, other in rewrite(question):
        tables = {relation.table: world.tables[relation.table] for relation in other.relations}
        yield name, replace(world, tables=tables, questions=(other,))


def _other_values(world: World) -> Iterator[tuple[str, World]]:
    """Yield the world with plainer values in place of odd ones."""
    yield "without NULL", _without_nulls(world)
    for name, of_value in (
        ("without NaN", _without_nan),
        ("without signed zeros", _without_signed_zero),
        ("without infinities", _without_infinity),
        ("without negative numbers", _without_negative),
        ("without long texts", _without_long_text),
    ):
        yield name, _with_mapped_values(world, of_value)
    for type_ in types(world):
        if may_be_integer(world, type_):
            plain = with_ranks(world, type_, lambda rank: rank, PLAIN_TYPE)
            yield f"{TYPE_INSTEAD}{type_family(type_)}", plain


def _without_nulls(world: World) -> World:
    """Return the world with a value in place of each NULL of its tables."""
    for name, table in world.tables.items():
        for position, column in enumerate(table.queried_columns):
            table = without_null(table, position, values(column.type)[0])
        world = with_table(world, name, table)
    return world


def _with_mapped_values(world: World, of_value: Callable[[Json, str], Json]) -> World:
    """Return the world with each value of its tables and literals mapped."""
    for type_ in types(world):
        mapped = {repr(value): of_value(value, type_) for value in distinct_values(world, type_)}
        world = with_values(world, type_, mapped, type_)
    return world


def _without_nan(value: Json, type_: str) -> Json:
    return values(type_)[0] if type_.startswith("float") and value in ("NaN", "-NaN") else value


def _without_infinity(value: Json, type_: str) -> Json:
    is_infinite = type_.startswith("float") and value in ("Infinity", "-Infinity")
    return values(type_)[0] if is_infinite else value


def _without_signed_zero(value: Json, type_: str) -> Json:
    return 0.0 if type_.startswith("float") and str(value) == "-0.0" else value


def _without_negative(value: Json, type_: str) -> Json:
    """Return zero for a negative number or a moment before 1970; its absolute value may not fit the type."""
    if type_.startswith("decimal"):
        return value.lstrip("-")
    return 0 if not isinstance(value, (str, bool)) and value < 0 else value


def _without_long_text(value: Json, type_: str) -> Json:
    """Return the first characters of a text, or the first bytes."""
    characters_max = {"string": _CHARACTERS_MAX, "binary": 2 * _CHARACTERS_MAX}.get(type_)
    return value if characters_max is None else value[:characters_max]
