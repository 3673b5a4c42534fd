"""Answers to questions from rows alone, without statistics."""

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TypeAlias

from skipproof.stand.reference.evaluating import Schema, compile_term, filter_rows, type_of
from skipproof.stand.reference.values import Row, Value, from_json, is_answer_value, to_answer
from strategies.engines.questions import Json

Rows: TypeAlias = Sequence[Row]

# The aggregates of a sequence of at least one value.
FOLDS: dict[str, Callable[[Sequence[Value]], Value]] = {"min": min, "max": max, "sum": sum}
_ONE_SIDED = ("semi", "anti", "not in")


def sort_rows(rows: Rows, order: Sequence[Json], schema: Schema) -> list[Row]:
    """Sort rows."""
    return TopRows(order, schema)(rows)


class TopRows:
    """Sorts rows that come in parts, and evaluates the keys of each row once.

    Args:
        needed: The number of rows to keep; None is all.
    """

    def __init__(self, order: Sequence[Json], schema: Schema, needed: int | None = None) -> None:
        self._order, self._needed = order, needed
        self._values = [compile_term(key["by"], schema) for key in order]
        # The values of the keys, and the row.
        self._kept: list[tuple[Value, ...]] = []

    def __call__(self, rows: Rows) -> list[Row]:
        """Return the first of some rows, which begin with those that were returned last."""
        others = rows[len(self._kept) :]
        keyed = [*self._kept, *zip(*(map(value, others) for value in self._values), others, strict=True)]
        # By the last key first, because sorting is stable.
        for at, key in reversed(list(enumerate(self._order))):
            nulls = [entry for entry in keyed if entry[at] is None]
            present = [entry for entry in keyed if entry[at] is not None]
            present.sort(key=itemgetter(at), reverse=key["descending"])
            keyed = nulls + present if key["nulls_first"] else present + nulls
        self._kept = keyed[: self._needed]
        return [entry[-1] for entry in self._kept]


def limit_rows(rows: Rows, limit: int | None, offset: int) -> Rows:
    """Return the rows after the first `offset`, at most `limit` of them."""
    return rows[offset : None if limit is None else offset + limit]


def apply_relation(relation: Json, rows: Rows, schema: Schema) -> tuple[Rows, Schema]:
    """Apply DISTINCT, ORDER BY, LIMIT and OFFSET of a relation to the filtered rows of its table."""
    if relation["distinct"]:
        position, type_ = schema[relation["distinct"]]
        rows = [(value,) for value in dict.fromkeys(row[position] for row in rows)]
        schema = {relation["distinct"]: (0, type_)}
    return limit_rows(
        sort_rows(rows, relation["order"], schema), relation["limit"], relation["offset"]
    ), schema


def join_rows(join: Json, left: Rows, right: Rows, schemas: tuple[Schema, Schema]) -> tuple[Rows, Schema]:
    """Join the rows of two relations; return the rows and their schema."""
    at_left, at_right = schemas[0][join["left_key"]][0], schemas[1][join["right_key"]][0]
    width = len(schemas[0])
    shifted = {name: (position + width, type_) for name, (position, type_) in schemas[1].items()}
    schema = {**schemas[0], **shifted}
    partners = _partners(join, left, right, (at_left, at_right), schema)
    if join["kind"] in _ONE_SIDED:
        keys = [row[at_right] for row in right]
        return [
            row
            for row, others in zip(left, partners, strict=True)
            if _is_kept(join["kind"], row[at_left], others, keys)
        ], schemas[0]
    rows = [(*row, *right[at]) for row, others in zip(left, partners, strict=True) for at in others]
    if join["kind"] in ("left", "full"):
        nothing = (None,) * len(schemas[1])
        rows += [(*row, *nothing) for row, others in zip(left, partners, strict=True) if not others]
    if join["kind"] in ("right", "full"):
        met = {at for others in partners for at in others}
        rows += [((None,) * width + tuple(row)) for at, row in enumerate(right) if at not in met]
    return rows, schema


def _partners(
    join: Json, left: Rows, right: Rows, keys: tuple[int, int], schema: Schema
) -> list[Sequence[int]]:
    """Return the positions of each left row's partners among the right rows."""
    at_left, at_right = keys
    places: dict[Value, list[int]] = {}
    for at, row in enumerate(right):
        if row[at_right] is not None or join["null_safe"]:
            places.setdefault(row[at_right], []).append(at)
    every = range(len(right))
    equal: list[Sequence[int]] = [
        places.get(row[at_left], ()) if join.get("equal", True) else every for row in left
    ]
    if join.get("on") is None:
        return equal
    holds = compile_term(join["on"], schema)
    return [
        [at for at in others if holds((*row, *right[at])) is True]
        for row, others in zip(left, equal, strict=True)
    ]


def _is_kept(kind: str, key: Value, partners: Sequence[int], keys: Sequence[Value]) -> bool:
    """Tell whether a semi, anti or NOT IN join keeps a left row; a NULL right key makes NOT IN unknown."""
    if kind == "semi":
        return bool(partners)
    if kind == "anti":
        return not partners
    return not keys or (key is not None and None not in keys and not partners)


def aggregate_value(aggregate: Json, rows: Rows, schema: Schema) -> Value:
    """Return one aggregate of some rows."""
    rows = filter_rows(rows, aggregate.get("where"), schema)
    if aggregate["of"] is None:
        return len(rows)
    value = compile_term(column_or_term(aggregate["of"]), schema)
    values = [cell for cell in map(value, rows) if cell is not None]
    if aggregate.get("distinct"):
        values = list(dict.fromkeys(values))
    if aggregate["function"] == "count":
        return len(values)
    return FOLDS[aggregate["function"]](values) if values else None


def column_or_term(of: Json) -> Json:
    """Return an expression that may be the name of a column alone."""
    return {"column": of} if isinstance(of, str) else of


def grouped_aggregates(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """Return the values of all aggregates, one row for each value of the grouping expression."""
    if question["group"] is None:
        return [[aggregate_value(aggregate, rows, schema) for aggregate in question["aggregates"]]]
    value = compile_term(column_or_term(question["group"]), schema)
    groups: dict[Value, list[Row]] = {}
    for row in rows:
        groups.setdefault(value(row), []).append(row)
    return [
        [key, *(aggregate_value(aggregate, some, schema) for aggregate in question["aggregates"])]
        for key, some in groups.items()
    ]


def window_rows(window: Json, rows: Rows, schema: Schema) -> list[Row]:
    """Return the rows whose place in a window is at most a number."""
    if window["partition"] is None:
        return _first_places(window, sort_rows(rows, window["order"], schema), schema)
    value = compile_term(window["partition"], schema)
    parts: dict[Value, list[Row]] = {}
    for row in sort_rows(rows, window["order"], schema):
        parts.setdefault(value(row), []).append(row)
    return [row for part in parts.values() for row in _first_places(window, part, schema)]


def _first_places(window: Json, rows: Rows, schema: Schema) -> list[Row]:
    """Return the rows of one partition, which is in order, whose place is at most a number."""
    keys = [compile_term(key["by"], schema) for key in window["order"]]
    kept, rank, dense = list[Row](), 0, 0
    last: list[Value] | None = None
    for number, row in enumerate(rows, 1):
        values = [key(row) for key in keys]
        if values != last:
            rank, dense, last = number, dense + 1, values
        if {"row_number": number, "rank": rank, "dense_rank": dense}[window["function"]] <= window["at_most"]:
            kept.append(row)
    return kept


def combined_rows(operation: Json, left: Rows, right: Rows) -> list[Row]:
    """Return the union, intersection or difference of rows of values."""
    if operation["kind"] == "union":
        both = [*left, *right]
        return both if operation["all"] else list(dict.fromkeys(both))
    counts = Counter(right)
    if not operation["all"]:
        wanted = operation["kind"] == "intersect"
        return [row for row in dict.fromkeys(left) if (row in counts) == wanted]
    kept = []
    for row in left:
        matched = counts[row] > 0
        counts[row] -= matched
        if matched == (operation["kind"] == "intersect"):
            kept.append(row)
    return kept


def answer_of_set(question: Json, left: tuple[Rows, Schema], right: tuple[Rows, Schema]) -> list[list[Value]]:
    """Return the answer to a set operation of two relations."""
    sides = [
        [tuple(row[schema[name][0]] for name in names) for row in rows]
        for (rows, schema), names in zip(
            (left, right), (question["select"], question["set"]["columns"]), strict=True
        )
    ]
    schema = {name: (at, left[1][name][1]) for at, name in enumerate(question["select"])}
    rows = sort_rows(combined_rows(question["set"], *sides), question["order"], schema)
    return selected_values(question, rows, schema)


def changed_rows(question: Json, rows: Rows, schema: Schema) -> list[Row]:
    """Return the rows after a delete or an update."""
    holds = compile_term(question["source"]["where"], schema)
    if question["change"] == "delete":
        return [row for row in rows if holds(row) is not True]
    return [updated_row(question, row, schema) if holds(row) is True else row for row in rows]


def updated_row(question: Json, row: Row, schema: Schema) -> Row:
    """Return a row with the updated value."""
    position = schema[question["change"]][0]
    value = from_json(question["to"]["literal"], question["to"]["type"])
    return (*row[:position], value, *row[position + 1 :])


def answer_of_source(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """Return the answer from the joined rows of a question's source; WHERE is not applied to them yet."""
    if question["change"]:
        return selected_values(question, changed_rows(question, rows, schema), schema)
    rows = filter_rows(rows, question["where"], schema)
    if question.get("window"):
        rows = window_rows(question["window"], rows, schema)
    if question["aggregates"]:
        return aggregated_answer(question, grouped_aggregates(question, rows, schema), schema)
    return selected_values(question, sort_rows(rows, question["order"], schema), schema)


def selected_values(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """Return the selected columns of the rows that LIMIT and OFFSET leave."""
    columns = [schema[name] for name in question["select"]]
    some = limit_rows(rows, question["limit"], question["offset"])
    if any(not is_answer_value(type_) for _, type_ in columns):
        return [[to_answer(row[position], type_) for position, type_ in columns] for row in some]
    return [[row[position] for position, _ in columns] for row in some]


def aggregated_answer(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """Return the answer from rows of aggregates: HAVING, ORDER BY and LIMIT, in the form of an answer."""
    outputs = aggregated_schema(question, schema)
    rows = sort_rows(filter_rows(rows, question.get("having"), outputs), question["order"], outputs)
    types = [type_ for _, type_ in outputs.values()]
    return [
        [to_answer(value, type_) for value, type_ in zip(row, types, strict=True)]
        for row in limit_rows(rows, question["limit"], question["offset"])
    ]


def aggregated_schema(question: Json, schema: Schema) -> Schema:
    """Return the columns of an answer with aggregates."""
    types = {}
    if question["group"] is not None:
        types["group"] = type_of(column_or_term(question["group"]), schema)
    for at, aggregate in enumerate(question["aggregates"]):
        counts = aggregate["function"] in ("count", "sum")
        of = None if counts else column_or_term(aggregate["of"])
        types[f"aggregate {at}"] = "int64" if counts else type_of(of, schema)
    return {name: (at, type_) for at, (name, type_) in enumerate(types.items())}
