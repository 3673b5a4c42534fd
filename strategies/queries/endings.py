"""The outermost level of whole queries: select list, ORDER BY, LIMIT and OFFSET."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column
from strategies.choices import choose
from strategies.queries.queries import Openness, Query
from strategies.queries.relations import Catalog, SampledRelation, computed_column, name, names
from strategies.queries.shapes import order_by


class Ending(enum.Enum):
    """The endings of a query; the value is its name in tallies."""

    NONE = "no ending"
    LIMIT = "limit"
    LIMIT_OFFSET = "limit with offset"
    LIMIT_LIMIT = "limit over limit"
    OFFSET = "offset"
    ORDER = "order"
    ORDER_OFFSET = "order with offset"
    TOP_K = "top-k"
    TOP_K_OFFSET = "top-k with offset"


ORDERED = (Ending.ORDER, Ending.ORDER_OFFSET, Ending.TOP_K, Ending.TOP_K_OFFSET)
_LIMITED = (Ending.LIMIT, Ending.LIMIT_OFFSET, Ending.LIMIT_LIMIT, Ending.TOP_K, Ending.TOP_K_OFFSET)
_OFFSET = (Ending.LIMIT_OFFSET, Ending.OFFSET, Ending.ORDER_OFFSET, Ending.TOP_K_OFFSET)
ENDINGS = (
    *(Ending.NONE, Ending.TOP_K, Ending.LIMIT, Ending.TOP_K, Ending.LIMIT, Ending.NONE, Ending.TOP_K),
    *Ending,
)
_KEY_COUNTS = (1, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows that LIMIT and OFFSET leave, their text, and the text of a LIMIT below them."""

    text: str
    limit: int | None
    offset: int
    below: str = ""


def end_query(
    draw: DrawFn, catalog: Catalog, body: SampledRelation, ending: Ending, keys: Sequence[Column] = ()
) -> Query:
    """Return a query: a relation with an ending; the first ORDER BY key is one of `keys`, if any."""
    items = _select_list(draw, catalog, body)
    features = body.features | {ending.value, f"{ending.value} over {body.top}"}
    window = _window(draw, body, ending)
    if ending not in ORDERED:
        plain = f"SELECT {items} FROM {body.source}"
        openness = Openness.EXACT if ending is Ending.NONE else Openness.SUB_BAG
        below = f"(SELECT * FROM {body.source}{window.below})" if window.below else body.source
        sql, unlimited, key_count = f"SELECT {items} FROM {below}{window.text}", plain, 0
    else:
        order, computed_key = _order(draw, body, keys)
        features |= {"order by expression"} if computed_key else set()
        features |= {"several order keys"} if len(order) > 1 else set()
        listed = ", ".join(f"{text} AS key{position}" for position, (text, _) in enumerate(order))
        tail = f"FROM {body.source} ORDER BY {', '.join(item for _, item in order)}"
        sql, unlimited = f"SELECT {items} {tail}{window.text}", f"SELECT {listed}, {items} {tail}"
        openness, key_count = Openness.TIES, len(order)
    return Query(
        tables=tuple(catalog.tables),
        sql=sql,
        openness=openness,
        unlimited=unlimited,
        key_count=key_count,
        limit=window.limit,
        offset=window.offset,
        features=frozenset(features),
        sources=tuple(catalog.sources),
    )


def _select_list(draw: DrawFn, catalog: Catalog, body: SampledRelation) -> str:
    """Draw all columns, or some, perhaps with a computed one."""
    choice = choose(draw, ("all", "all", "some", "computed"))
    if choice == "all":
        return names(body.columns)
    some = [column for column in body.columns if draw(st.booleans())] or list(body.columns[:1])
    if choice == "some":
        return names(some)
    return f"{names(some)}, {to_sql(computed_column(draw, body)[0])} AS {catalog.fresh('x')}"


def _order(draw: DrawFn, body: SampledRelation, keys: Sequence[Column]) -> tuple[list[tuple[str, str]], bool]:
    """Draw one to three keys, each with its ORDER BY item; and return True if one is computed."""
    chosen, any_computed = [], False
    for position in range(choose(draw, _KEY_COUNTS)):
        text = name(choose(draw, keys if keys and not position else body.columns))
        if not keys and choose(draw, (False, False, False, True)):
            text, any_computed = to_sql(computed_column(draw, body, leaves=2)[0]), True
        chosen.append((text, order_by(draw, text)))
    return chosen, any_computed


def _window(draw: DrawFn, body: SampledRelation, ending: Ending) -> _Window:
    rows = len(body.sample.rows)
    if ending is Ending.LIMIT_LIMIT:
        inner, outer, offset = _limit(draw, rows), _limit(draw, rows), choose(draw, (0, 0, 1, 2))
        # The outer LIMIT sees no more rows than the inner one leaves.
        return _Window(_text(outer, offset), min(outer, max(0, inner - offset)), offset, _text(inner, 0))
    limit = _limit(draw, rows) if ending in _LIMITED else None
    offset = draw(st.one_of(st.integers(1, 3), st.integers(1, rows + 2))) if ending in _OFFSET else 0
    return _Window(_text(limit, offset), limit, offset)


def _text(limit: int | None, offset: int) -> str:
    return ("" if limit is None else f" LIMIT {limit}") + (f" OFFSET {offset}" if offset else "")


def _limit(draw: DrawFn, rows: int) -> int:
    """Draw few rows more often than many, sometimes none or more than there are."""
    return draw(st.one_of(st.integers(1, 5), st.integers(1, 5), st.integers(0, rows + 3)))
