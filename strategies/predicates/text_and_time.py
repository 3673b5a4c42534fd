"""Tables of strings, dates and times, and predicates of patterns, functions and casts over them.

A predicate's zone is that of its session; each node that depends on it has it.

"""

import enum
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.traversal import columns
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from pruning.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
)
from strategies.base.tables import Block, Table
from strategies.base.texts import text_pools
from strategies.base.times import days, instants, local_times
from strategies.base.values import values
from strategies.choices import choose
from strategies.predicates.sources import Leaf, Source, drawn_column, plain_comparison, text_in
from strategies.predicates.text_predicates import (
    general_like,
    integer_text,
    prefix_like,
    rlike,
    text_function,
    two_texts,
)
from strategies.predicates.time_predicates import (
    TIMES,
    cast_of_time,
    date_arithmetic,
    field_of_time,
    interval_arithmetic,
    read_date,
    time_format,
    truncated_date,
    truncated_instant,
)

TYPES: tuple[Type, ...] = (STRING, TIMESTAMP, DATE, TIMESTAMP_NTZ, INTEGER, DOUBLE)
_NAMES = ("a", "b", "c")
_DEPTH_MAX = 3


class Topic(enum.Enum):
    """The topics of predicates; the last one is a mixture of the others."""

    PREFIX_LIKE = "prefix LIKE"
    GENERAL_LIKE = "general LIKE"
    RLIKE = "RLIKE"
    TEXT_FUNCTIONS = "text functions"
    DATE_TRUNC = "date_trunc"
    TRUNC = "trunc"
    FIELDS = "fields of time"
    DATE_ARITHMETIC = "date arithmetic"
    CASTS = "casts under a zone"
    DATE_FORMAT = "date_format"
    LISTS = "lists"
    MIXED = "mixtures"


def zoned_tables(zone: str, types: Sequence[Type] | None = None) -> SearchStrategy[Table]:
    """Tables of 1 to 4 blocks of 0 to 5 rows; the first column is a string or a time.

    Args:
        types: The columns' types; drawn where None.

    Shrinks to: one column of strings, one empty block.
    """
    first, others = st.sampled_from(TYPES[:4]), st.lists(st.sampled_from(TYPES), max_size=2)
    if types is not None:
        return _tables(zone, tuple(types))
    return st.tuples(first, others).flatmap(lambda kinds: _tables(zone, (kinds[0], *kinds[1])))


@st.composite
def zoned_predicates(draw: DrawFn, table: Table, zone: str, topic: Topic = Topic.MIXED) -> Expression:
    """Predicates of one topic over a table that has the columns for it, alone or combined.

    Predicates of prefixes and of `date_trunc` are combined with comparisons of the same column only;
    mixtures with anything.

    Raises:
        ValueError: the table has no column for the topic.
    """
    source = Source.of(table, zone)
    leaves = leaves_of(source, topic)
    if not leaves:
        raise ValueError(f"no predicate on {topic.value} over columns {table.columns}; give it another table")
    if topic is Topic.MIXED:
        return _combination(draw, source, leaves, _DEPTH_MAX)
    leaf = choose(draw, leaves)(draw, source)
    if topic not in (Topic.PREFIX_LIKE, Topic.DATE_TRUNC):
        return leaf if draw(st.integers(0, 3)) else Not(leaf)
    return _among_comparisons(draw, source, leaf, leaves, _DEPTH_MAX)


def leaves_of(source: Source, topic: Topic) -> list[Leaf]:
    """Return the predicates of a topic that a table's columns allow."""
    if topic is Topic.MIXED:
        simple = [leaf for one_topic in _LEAVES for leaf in leaves_of(source, one_topic)]
        return [*simple, _plain]
    return [leaf for leaf in _LEAVES[topic] if source.of_kind(*_NEEDED[leaf])]


@st.composite
def _tables(draw: DrawFn, zone: str, kinds: tuple[Type, ...]) -> Table:
    pools = [_pool(draw, type_, zone) for type_ in kinds]
    columns = tuple(Column(name, type_) for name, type_ in zip(_NAMES, kinds, strict=False))
    blocks = [_block(draw, pools) for _ in range(draw(st.integers(1, 4)))]
    return Table(columns, tuple(blocks))


def _pool(draw: DrawFn, type_: Type, zone: str) -> tuple[Value, ...]:
    """Draw a few values that rows share, so that blocks are sometimes narrow."""
    if type_ == STRING:
        return draw(text_pools())
    strategy = {
        Kind.DATE: days(),
        Kind.TIMESTAMP: instants(zone),
        Kind.TIMESTAMP_NTZ: local_times(zone),
    }.get(type_.kind, values(type_))
    first: list[Value] = draw(st.lists(strategy, min_size=1, max_size=5))
    return tuple(first)


def _block(draw: DrawFn, pools: list[tuple[Value, ...]]) -> Block:
    cells = [(*pool, None) if draw(st.booleans()) else pool for pool in pools]
    return tuple(
        tuple(choose(draw, of_a_column) for of_a_column in cells) for _ in range(draw(st.integers(0, 5)))
    )


def _combination(draw: DrawFn, source: Source, leaves: Sequence[Leaf], depth: int) -> Expression:
    shape = choose(draw, ("leaf", "leaf", "and", "or", "not", "truth")) if depth else "leaf"
    if shape == "leaf":
        return choose(draw, leaves)(draw, source)
    if shape in ("and", "or"):
        count = draw(st.integers(2, 3))
        operands = tuple(_combination(draw, source, leaves, depth - 1) for _ in range(count))
        return And(operands) if shape == "and" else Or(operands)
    inner = _combination(draw, source, leaves, depth - 1)
    if shape == "not":
        return Not(inner)
    if draw(st.booleans()):
        return IsNull(inner)
    return Compare(Comparison.NULL_SAFE_EQUAL, inner, Literal(draw(st.booleans()), BOOLEAN))


def _among_comparisons(
    draw: DrawFn, source: Source, leaf: Expression, leaves: Sequence[Leaf], depth: int
) -> Expression:
    """Combine a leaf with plain comparisons, and leaves of its kind, on the same column."""
    (name,) = columns(leaf)
    own = Source(tuple(column for column in source.columns if column.name == name), source.cells, source.zone)
    return _combination(draw, own, [*leaves, *leaves, _plain], depth) if draw(st.booleans()) else leaf


def _plain(draw: DrawFn, source: Source) -> Expression:
    column = choose(draw, source.columns)
    return IsNull(column) if draw(st.integers(0, 5)) == 0 else plain_comparison(draw, source, column)


def _text_list(draw: DrawFn, source: Source) -> Expression:
    """Draw a list of texts, perhaps with a beginning that some of them have."""
    column = drawn_column(draw, source, Kind.STRING)
    ends = draw(st.lists(st.sampled_from(("", "", "a")), min_size=1, max_size=12))
    members = ((text_in(draw, source, column) + end).encode() for end in ends)
    listed = In(column, tuple(Literal(member, STRING) for member in dict.fromkeys(members)))
    return And((listed, prefix_like(draw, source))) if draw(st.booleans()) else listed


_LEAVES: Mapping[Topic, tuple[Leaf, ...]] = {
    Topic.PREFIX_LIKE: (prefix_like,),
    Topic.GENERAL_LIKE: (general_like,),
    Topic.RLIKE: (rlike,),
    Topic.TEXT_FUNCTIONS: (text_function, text_function, text_function, two_texts),
    Topic.DATE_TRUNC: (truncated_instant,),
    Topic.TRUNC: (truncated_date,),
    Topic.FIELDS: (field_of_time,),
    Topic.DATE_ARITHMETIC: (date_arithmetic, interval_arithmetic),
    Topic.CASTS: (cast_of_time, cast_of_time, cast_of_time, read_date, integer_text),
    Topic.DATE_FORMAT: (time_format,),
    Topic.LISTS: (_text_list,),
}
_TEXT, _INSTANT = (Kind.STRING,), (Kind.TIMESTAMP,)
_NEEDED: Mapping[Leaf, tuple[Kind, ...]] = {
    prefix_like: _TEXT,
    general_like: _TEXT,
    rlike: _TEXT,
    text_function: _TEXT,
    two_texts: _TEXT,
    truncated_instant: _INSTANT,
    truncated_date: TIMES,
    field_of_time: TIMES,
    date_arithmetic: TIMES,
    interval_arithmetic: (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
    cast_of_time: TIMES,
    read_date: _TEXT,
    integer_text: (Kind.INTEGER,),
    time_format: _INSTANT,
    _text_list: _TEXT,
}
