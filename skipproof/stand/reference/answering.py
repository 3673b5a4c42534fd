"""What a question's answer is, from rows: nothing here knows of statistics."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from skipproof.stand.reference.evaluating import Schema, compiled, filtered, type_of
from skipproof.stand.reference.values import Row, Value, from_json, is_shown_as_held, to_answer
from strategies.engines.questions import Json

Rows: TypeAlias = Sequence[Row]

# The aggregates of values of which there is one at least.
FOLDS: dict[str, Callable[[Sequence[Value]], Value]] = {"min": min, "max": max, "sum": sum}
_ONE_SIDED = ("semi", "anti", "not in")


def ordered(rows: Rows, order: Sequence[Json], schema: Schema) -> list[Row]:
    """Rows in an order, the last key first, since sorting keeps what was equal in place."""
    result = list(rows)
    for key in reversed(order):
        value = compiled(key["by"], schema)
        nulls = [row for row in result if value(row) is None]
        present = [row for row in result if value(row) is not None]
        present.sort(key=value, reverse=key["descending"])
        result = nulls + present if key["nulls_first"] else present + nulls
    return result


def cut(rows: Rows, limit: int | None, offset: int) -> Rows:
    """The rows after the first `offset`, at most `limit` of them."""
    return rows[offset : None if limit is None else offset + limit]


def related(relation: Json, rows: Rows, schema: Schema) -> tuple[Rows, Schema]:
    """What a relation makes of the filtered rows of its table."""
    if relation["distinct"]:
        position, type_ = schema[relation["distinct"]]
        rows = [(value,) for value in dict.fromkeys(row[position] for row in rows)]
        schema = {relation["distinct"]: (0, type_)}
    return cut(ordered(rows, relation["order"], schema), relation["limit"], relation["offset"]), schema


def joined(join: Json, left: Rows, right: Rows, schemas: tuple[Schema, Schema]) -> tuple[Rows, Schema]:
    """The rows of two relations, and where their columns are."""
    at_left, at_right = schemas[0][join["left_key"]][0], schemas[1][join["right_key"]][0]
    partners: dict[Value, list[Row]] = {}
    for row in right:
        if row[at_right] is not None or join["null_safe"]:
            partners.setdefault(row[at_right], []).append(row)
    if join["kind"] in _ONE_SIDED:
        keys = [row[at_right] for row in right]
        return [row for row in left if _kept(join["kind"], row[at_left], partners, keys)], schemas[0]
    width = len(schemas[0])
    shifted = {name: (position + width, type_) for name, (position, type_) in schemas[1].items()}
    rows = [(*row, *other) for row in left for other in partners.get(row[at_left], ())]
    if join["kind"] in ("left", "full"):
        nothing = (None,) * len(schemas[1])
        rows += [(*row, *nothing) for row in left if row[at_left] not in partners]
    if join["kind"] in ("right", "full"):
        met = {row[at_left] for row in left if row[at_left] is not None or join["null_safe"]}
        rows += [((None,) * width + tuple(row)) for row in right if row[at_right] not in met]
    return rows, {**schemas[0], **shifted}


def _kept(kind: str, key: Value, partners: dict[Value, list[Row]], keys: Sequence[Value]) -> bool:
    """Whether a row of the left side stays; a NULL among the right keys leaves NOT IN unknown."""
    if kind == "semi":
        return key in partners
    if kind == "anti":
        return key not in partners
    return not keys or (key is not None and None not in keys and key not in partners)


def aggregated(aggregate: Json, rows: Rows, schema: Schema) -> Value:
    """One aggregate of some rows."""
    if aggregate["of"] is None:
        return len(rows)
    position = schema[aggregate["of"]][0]
    values = [row[position] for row in rows if row[position] is not None]
    if aggregate["function"] == "count":
        return len(values)
    return FOLDS[aggregate["function"]](values) if values else None


def aggregates(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """The values of all aggregates, for each value of the grouping column."""
    if question["group"] is None:
        return [[aggregated(one, rows, schema) for one in question["aggregates"]]]
    position = schema[question["group"]][0]
    groups: dict[Value, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[position], []).append(row)
    return [
        [key, *(aggregated(one, some, schema) for one in question["aggregates"])]
        for key, some in groups.items()
    ]


def changed(question: Json, rows: Rows, schema: Schema) -> list[Row]:
    """What a delete or an update leaves of some rows."""
    holds = compiled(question["source"]["where"], schema)
    if question["change"] == "delete":
        return [row for row in rows if holds(row) is not True]
    return [updated(question, row, schema) if holds(row) is True else row for row in rows]


def updated(question: Json, row: Row, schema: Schema) -> Row:
    """A row after an update that meets it."""
    position = schema[question["change"]][0]
    value = from_json(question["to"]["literal"], question["to"]["type"])
    return (*row[:position], value, *row[position + 1 :])


def whole(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """The answer, from the rows of a source that is joined where it should be, but not yet filtered after."""
    if question["change"]:
        return shown(question, changed(question, rows, schema), schema)
    rows = filtered(rows, question["where"], schema)
    if question["aggregates"]:
        return typed(question, aggregates(question, rows, schema), schema)
    return shown(question, ordered(rows, question["order"], schema), schema)


def shown(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """The selected columns of the rows that LIMIT and OFFSET leave."""
    columns = [schema[name] for name in question["select"]]
    some = cut(rows, question["limit"], question["offset"])
    if any(not is_shown_as_held(type_) for _, type_ in columns):
        return [[to_answer(row[position], type_) for position, type_ in columns] for row in some]
    return [[row[position] for position, _ in columns] for row in some]


def typed(question: Json, rows: Rows, schema: Schema) -> list[list[Value]]:
    """Rows of aggregates as an answer has them."""
    names = [question["group"]] if question["group"] is not None else []
    types = [schema[name][1] for name in names]
    for one in question["aggregates"]:
        counts = one["function"] == "count"
        types.append("int64" if counts else type_of({"column": one["of"]}, schema))
    return [[to_answer(value, type_) for value, type_ in zip(row, types, strict=True)] for row in rows]
