"""Questions as chains of calls on lazy frames, with the names that this version of Polars has."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any

import polars as pl

from .polars_terms import term_text
from .polars_types import keyword, works
from .serving import Unsupported

_HOW = {
    "inner": ("inner",), "left": ("left",), "right": ("right",), "full": ("full", "outer"), "semi": ("semi",),
    "anti": ("anti",),
}  # fmt: skip
_DESCENDING = keyword(pl.LazyFrame.sort, "descending", "reverse")
_NULLS_EQUAL = keyword(pl.LazyFrame.join, "nulls_equal", "join_nulls")
_HAS_COALESCE = keyword(pl.LazyFrame.join, "coalesce") is not None
_GROUP_BY = "group_by" if hasattr(pl.LazyFrame, "group_by") else "groupby"
# Early versions do not number rows where they filter.
HAS_WINDOWS = hasattr(pl, "int_range")
_LENGTH = "pl.len()" if hasattr(pl, "len") else "pl.count()"
_UNIQUE = "unique" if hasattr(pl.LazyFrame, "unique") else "distinct"
_SLICES_TO_THE_END = inspect.signature(pl.LazyFrame.slice).parameters["length"].default is None
_HAS_NULLS_LAST = keyword(pl.LazyFrame.sort, "nulls_last") is not None


def chain_text(question: dict[str, Any]) -> str:
    """Return the text of a lazy frame that gives the answer to a question."""
    text = _relation_text(question["source"])
    if question["join"]:
        used, second = _columns_after_join(question), question.get("second")
        text = _join_text(text, question["join"], used | ({second["left_key"]} if second else set()))
        if second:
            text = _join_text(text, second, used)
    if question["where"] is not None:
        text += f".filter({term_text(question['where'])})"
    if question.get("window"):
        text += _window_text(question["window"])
    if question.get("set"):
        return _set_text(text, question) + _tail_text(question)
    if question["aggregates"] or question["group"]:
        return text + _aggregation_text(question) + _tail_text(question)
    return text + _tail_text(question) + f".select({question['select']!r})"


def _window_text(window: dict[str, Any]) -> str:
    """Return the calls for the rows whose number in a window is at most a number."""
    if window["function"] != "row_number":
        raise Unsupported("the window function " + window["function"])
    order = _sort_text(window["order"]) if window["order"] else ""
    over = "" if window["partition"] is None else f".over({term_text(window['partition'])})"
    return f"{order}.filter(pl.int_range({_LENGTH}){over} < {window['at_most']})"


def _set_text(left: str, question: dict[str, Any]) -> str:
    """Return the text of a union."""
    operation = question["set"]
    if operation["kind"] != "union":
        raise Unsupported("the set operation " + operation["kind"])
    select, columns = question["select"], operation["columns"]
    names = dict(zip(columns, select, strict=True))
    right = f"{_relation_text(operation['right'])}.select({columns!r}).rename({names!r})"
    both = f"pl.concat([{left}.select({select!r}), {right}])"
    return both if operation["all"] else f"{both}.{_UNIQUE}()"


def joins_missing() -> list[str]:
    """Return the kinds of joins and set operations that this version lacks."""
    return [*(kind for kind in _HOW if _join_word(kind) is None), "not in", "intersect", "except"]


def null_safe_missing() -> bool:
    """Tell whether this version has no join in which NULL equals NULL."""
    return _NULLS_EQUAL is None and not _joins_nulls()


def _relation_text(relation: dict[str, Any]) -> str:
    """Return the text of a relation, a table or a subquery of it."""
    text = str(relation["table"])
    columns = relation.get("columns", [])
    if relation["where"] is not None:
        text += f".filter({term_text(relation['where'])})"
    if relation["distinct"]:
        distinct = [column for column in columns if column["name"] == relation["distinct"]]
        names = _names_text(distinct) if distinct else repr([relation["distinct"]])
        text += f".select({names}).{_UNIQUE}()"
        return text + _tail_text(relation)
    selection = f".select({_names_text(columns)})" if columns else ""
    return text + _tail_text(relation) + selection


def _names_text(columns: list[dict[str, Any]]) -> str:
    """Return the text of a list of columns under their names."""
    named = ((column["name"], term_text({"column": column["name"], **column})) for column in columns)
    return f"[{', '.join(f'{text}.alias({name!r})' for name, text in named)}]"


def _tail_text(of: dict[str, Any]) -> str:
    """Return the calls for ORDER BY, LIMIT and OFFSET."""
    text = _sort_text(of["order"]) if of["order"] else ""
    if of["offset"]:
        if of["limit"] is None and not _SLICES_TO_THE_END:
            raise Unsupported("an offset without a limit")
        length = "" if of["limit"] is None else f", {of['limit']}"
        return f"{text}.slice({of['offset']}{length})"
    return text if of["limit"] is None else f"{text}.head({of['limit']})"


def _sort_text(keys: list[dict[str, Any]]) -> str:
    """Return the text of ORDER BY."""
    descending = tuple(key["descending"] for key in keys)
    nulls_last = tuple(not key["nulls_first"] for key in keys)
    by = [term_text(key["by"]) for key in keys]
    if _sorts(descending, nulls_last):
        return _sort_call(by, descending, nulls_last)
    # If NULL cannot be placed as asked, sort by whether the key is NULL first, and then by the key.
    by = [text for term in by for text in (f"{term}.is_null().cast(pl.Int32)", term)]
    firsts = [(not last, down) for last, down in zip(nulls_last, descending, strict=True)]
    return _sort_call(by, tuple(itertools.chain.from_iterable(firsts)), (False,) * len(by))


def _sort_call(by: list[str], descending: tuple[bool, ...], nulls_last: tuple[bool, ...]) -> str:
    """Return a call of sort; options are one value if all keys have the same, for early versions."""
    last = nulls_last[0] if len(set(nulls_last)) == 1 else list(nulls_last)
    nulls = f", nulls_last={last}" if _HAS_NULLS_LAST else ""
    if len(by) == 1:
        return f".sort({by[0]}, {_DESCENDING}={descending[0]}{nulls})"
    return f".sort([{', '.join(by)}], {_DESCENDING}={list(descending)}{nulls})"


@functools.cache
def _sorts(descending: tuple[bool, ...], nulls_last: tuple[bool, ...]) -> bool:
    """Tell whether a small frame is sorted right with these options."""
    rows = list(itertools.product((2, None, 1), repeat=len(descending)))
    columns = [f"k{at}" for at in range(len(descending))]

    def rank(row: tuple[Any, ...]) -> list[tuple[bool, int]]:
        ranks = zip(row, descending, nulls_last, strict=True)
        return [((v is None) == last, -(v or 0) if down else v or 0) for v, down, last in ranks]

    small = pl.DataFrame(
        [pl.Series(name, cells) for name, cells in zip(columns, zip(*rows, strict=True), strict=True)]
    )
    text = "small.lazy()" + _sort_call([f"pl.col({name!r})" for name in columns], descending, nulls_last)
    return works(lambda: eval(text, {"pl": pl, "small": small}).collect().rows() == sorted(rows, key=rank))


def _aggregation_text(question: dict[str, Any]) -> str:
    """Return the text of aggregates, with or without groups, and of HAVING."""
    aggregates = enumerate(question["aggregates"])
    having = "" if question.get("having") is None else f".filter({term_text(question['having'])})"
    # Counts are unsigned, which HAVING may negate.
    widths = {"count": ".cast(pl.Int64)"} if having else {}
    parts = ", ".join(
        f"{_aggregate(aggregate)}{widths.get(aggregate['function'], '')}.alias('aggregate {at}')"
        for at, aggregate in aggregates
    )
    if question["group"]:
        return f".{_GROUP_BY}({_column_or_term(question['group'])}.alias('group')).agg([{parts}])" + having
    return f".select([{parts}])" + having


def _column_or_term(of: Any) -> str:
    """Return the text of an expression that may be the name of a column alone."""
    return term_text({"column": of} if isinstance(of, str) else of)


def _aggregate(aggregate: dict[str, Any]) -> str:
    """Return the text of one aggregate."""
    where = aggregate.get("where")
    if aggregate["of"] is None:
        return _LENGTH if where is None else f"({term_text(where)}).sum()"
    values = _column_or_term(aggregate["of"]) + ("" if where is None else f".filter({term_text(where)})")
    if aggregate.get("distinct"):
        values += ".drop_nulls().unique()"
    if aggregate["function"] == "count" and not _counts_values():
        return values + ".is_not_null().sum()"
    if aggregate["function"] == "sum":
        # SQL's sum of no value is NULL, not 0.
        return f"pl.when({values}.count() > 0).then({values}.sum())"
    return f"{values}.{aggregate['function']}()"


@functools.cache
def _counts_values() -> bool:
    """Tell whether `count` ignores NULL, which early versions counted."""
    return bool(pl.DataFrame({"a": [1, None]}).select([pl.col("a").count()]).rows() == [(1,)])


def _join_text(left: str, join: dict[str, Any], used: set[str]) -> str:
    """Return the text of a join that keeps both keys if they are used after it."""
    kind, how = join["kind"], _join_word(join["kind"])
    if how is None:
        raise Unsupported("the join " + kind)
    right, left_key, right_key = _relation_text(join["right"]), join["left_key"], join["right_key"]
    options = f", how={how!r}"
    if join["null_safe"] and not _joins_nulls():
        if _NULLS_EQUAL is None:
            raise Unsupported("joins in which NULL equals NULL")
        options += f", {_NULLS_EQUAL}=True"
    if _joins_nulls() and not join["null_safe"]:
        if kind == "full":
            raise Unsupported("full joins in which NULL differs from NULL")
        right += f".filter(pl.col({right_key!r}).is_not_null())"
    dropped = {"inner": {right_key}, "left": {right_key}, "right": {left_key}, "full": {left_key, right_key}}
    if dropped.get(kind, set()) & used:
        if _HAS_COALESCE:
            options += ", coalesce=False"
        else:
            left = f"{left}.with_columns([pl.col({left_key!r}).alias('left key')])"
            right = f"{right}.with_columns([pl.col({right_key!r}).alias('right key')])"
            left_key, right_key = "left key", "right key"
    return f"{left}.join({right}, left_on={left_key!r}, right_on={right_key!r}{options})"


@functools.cache
def _join_word(kind: str) -> str | None:
    """Return this version's name for a kind of join, or None."""
    left, right = (pl.DataFrame({name: [1, 2]}).lazy() for name in "ab")

    def joins(how: str) -> bool:
        return len(left.join(right, left_on="a", right_on="b", how=how).collect().rows()) % 2 == 0

    return next((how for how in _HOW.get(kind, ()) if works(functools.partial(joins, how))), None)


@functools.cache
def _joins_nulls() -> bool:
    """Tell whether NULL equals NULL in joins by default, as in early versions."""
    left, right = (pl.DataFrame({name: [1, None]}).lazy() for name in "ab")
    return len(left.join(right, left_on="a", right_on="b", how="inner").collect().rows()) == 2


def _columns_after_join(question: dict[str, Any]) -> set[str]:
    """Return the columns that a question needs after its join."""
    used = set(question["select"])
    terms = [question["where"], *(key["by"] for key in question["order"])]
    parts = [question["group"], *(part["of"] for part in question["aggregates"])]
    terms += [{"column": part} if isinstance(part, str) else part for part in parts]
    terms += [part.get("where") for part in question["aggregates"]]
    while terms:
        term = terms.pop()
        if term is not None:
            used.add(term.get("column"))
            terms += term.get("of", [])
    return used - {None}
