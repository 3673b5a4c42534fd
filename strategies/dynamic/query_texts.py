"""Relations of the algebra as SQL that this project reads; their columns are c0, c1 and so on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    ConstantRows,
    Distinct,
    Explode,
    Filter,
    Frame,
    Group,
    Join,
    Order,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
    WindowFunction,
)
from dynamic_tables.values.expressions import Call, Case, Cast, Column, Expression, Literal
from strategies.dynamic.sql_texts import literal_text, type_text

# Functions that are not written as NAME(ARGUMENTS).
WRITTEN: Mapping[str, str] = {
    **{symbol: f"({{}} {symbol} {{}})" for symbol in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/")},
    "and": "({} AND {})",
    "or": "({} OR {})",
    "not": "(NOT {})",
    "is_null": "({} IS NULL)",
}


def expression_text(expression: Expression, first: int = 0) -> str:
    """Return an expression as SQL; `first` is the number of the first column of its rows."""
    match expression:
        case Column():
            return f"c{expression.index + first}"
        case Literal():
            return literal_text(expression.value, expression.type)
        case Cast():
            word = "TRY_CAST" if expression.lenient else "CAST"
            return f"{word}({expression_text(expression.operand, first)} AS {type_text(expression.type)})"
        case Case():
            branches = [
                f"WHEN {expression_text(when, first)} THEN {expression_text(then, first)}"
                for when, then in expression.branches
            ]
            return f"CASE {' '.join(branches)} ELSE {expression_text(expression.otherwise, first)} END"
        case Call():
            arguments = [expression_text(argument, first) for argument in expression.arguments]
            if expression.function in WRITTEN:
                return WRITTEN[expression.function].format(*arguments)
            return f"{expression.function}({', '.join(arguments)})"


def listed_texts(expressions: Sequence[str], first: int = 0) -> str:
    """Return the items of a select list."""
    return ", ".join(f"{text} AS c{place}" for place, text in enumerate(expressions, first))


def scan_text(relation: Scan) -> str:
    """Return a table as SQL."""
    return f"SELECT {listed_texts([field.name for field in relation.fields])} FROM {relation.source}"


def constants_text(relation: ConstantRows) -> str:
    """Return constant rows as SQL, which has to have a row for the types of its columns."""
    fields = relation.fields
    rows = relation.rows or ((None,) * len(fields),)
    texts = [
        ", ".join(literal_text(cell, field.type) for cell, field in zip(row, fields, strict=True))
        for row in rows
    ]
    names = ", ".join(f"c{place}" for place in range(len(fields)))
    values = f"SELECT * FROM (VALUES {', '.join(f'({text})' for text in texts)}) AS v ({names})"
    return values if relation.rows else f"{values} WHERE 1 = 0"


def filter_text(relation: Filter) -> str:
    """Return a filter as SQL."""
    return f"SELECT * FROM ({relation_text(relation.child)}) WHERE {expression_text(relation.condition)}"


def projection_text(relation: Project) -> str:
    """Return a projection as SQL."""
    columns = [expression_text(column) for column in relation.columns]
    return f"SELECT {listed_texts(columns)} FROM ({relation_text(relation.child)})"


def union_text(relation: UnionAll) -> str:
    """Return a union as SQL."""
    return " UNION ALL ".join(f"SELECT * FROM ({relation_text(branch)})" for branch in relation.inputs)


def join_text(relation: Join) -> str:
    """Return a join as SQL."""
    width = len(relation.left.fields)
    columns = listed_texts([f"c{place}" for place in range(len(relation.right.fields))], width)
    tests = [
        f"{expression_text(left)} = {expression_text(right, width)}"
        for left, right in zip(relation.left_keys, relation.right_keys, strict=True)
    ]
    if relation.residual is not None:
        tests.append(expression_text(relation.residual))
    return (
        f"SELECT l.*, r.* FROM ({relation_text(relation.left)}) l {relation.kind.value} JOIN "
        f"(SELECT {columns} FROM ({relation_text(relation.right)})) r ON {' AND '.join(tests)}"
    )


def explode_text(relation: Explode) -> str:
    """Return an explode as SQL."""
    names = [f"f.{field.name}" for field in relation.added_columns]
    outer = ", outer => TRUE" if relation.outer else ""
    added = listed_texts(names, len(relation.child.fields))
    return (
        f"SELECT q.*, {added} FROM ({relation_text(relation.child)}) q, "
        f"LATERAL FLATTEN(input => {expression_text(relation.elements)}{outer}) f"
    )


def distinct_text(relation: Distinct) -> str:
    """Return DISTINCT as SQL."""
    return f"SELECT DISTINCT * FROM ({relation_text(relation.child)})"


def aggregate_text(function: Aggregate | WindowFunction, *, distinct: bool = False) -> str:
    """Return an aggregate as SQL."""
    if function.argument is None:
        return f"{function.function}({'*' if function.function == 'count' else ''})"
    return f"{function.function}({'DISTINCT ' if distinct else ''}{expression_text(function.argument)})"


def group_text(relation: Group) -> str:
    """Return a group as SQL."""
    keys = [expression_text(key) for key in relation.keys]
    aggregates = [aggregate_text(part, distinct=part.distinct) for part in relation.aggregates]
    columns = listed_texts([*keys, *aggregates])
    return f"SELECT {columns} FROM ({relation_text(relation.child)}) GROUP BY {', '.join(keys)}"


def window_text(relation: Window) -> str:
    """Return a window as SQL."""
    partition = ", ".join(expression_text(key) for key in relation.partition)
    functions = [window_function_text(function, partition) for function in relation.functions]
    added = listed_texts(functions, len(relation.child.fields))
    return f"SELECT q.*, {added} FROM ({relation_text(relation.child)}) q"


def window_function_text(function: WindowFunction, partition: str) -> str:
    """Return a window function as SQL."""
    order = ", ".join(map(order_text, function.order))
    ordered = f" ORDER BY {order}" if order else ""
    if function.function in ("lag", "lead"):
        assert function.argument is not None, "a neighbour has a value"
        value = f"{function.function}({expression_text(function.argument)}, {function.offset})"
        return f"{value} OVER (PARTITION BY {partition}{ordered})"
    has_frame = order and function.function not in ("row_number", "rank", "dense_rank")
    assert isinstance(function.frame, Frame), "no other frames are drawn"
    frame = frame_text(function.frame) if has_frame else ""
    return f"{aggregate_text(function)} OVER (PARTITION BY {partition}{ordered}{frame})"


def order_text(term: Order) -> str:
    """Return a term of ORDER BY as SQL."""
    direction = "DESC" if term.descending else "ASC"
    return f"{expression_text(term.expression)} {direction} NULLS {'FIRST' if term.nulls_first else 'LAST'}"


def frame_text(frame: Frame) -> str:
    """Return a frame as SQL."""
    first = "UNBOUNDED PRECEDING" if frame.first is None else f"{-frame.first} PRECEDING"
    last = "CURRENT ROW" if frame.last == 0 else f"{frame.last} FOLLOWING"
    last = "UNBOUNDED FOLLOWING" if frame.last is None else last
    return f" {'RANGE' if frame.peers else 'ROWS'} BETWEEN {first} AND {last}"


TEXTS: Mapping[type[Relation], Callable[[Any], str]] = {
    Scan: scan_text,
    ConstantRows: constants_text,
    Filter: filter_text,
    Project: projection_text,
    UnionAll: union_text,
    Join: join_text,
    Explode: explode_text,
    Distinct: distinct_text,
    Group: group_text,
    Window: window_text,
}


def relation_text(relation: Relation) -> str:
    """Return a relation as SQL."""
    return TEXTS[type(relation)](relation)
