"""Steps of whole queries that make other rows of rows: groups, windows, unions, subqueries, inner LIMITs."""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Comparison, Literal
from pruning.expressions.types import INTEGER, LONG, Type, Value, decimal
from strategies.base.tables import Table
from strategies.predicates.scalars import literal
from strategies.queries.joins import key_pair
from strategies.queries.relations import Catalog, Relation, name, names, sample_of, scope_of

_SUM = decimal(20, 0)  # any bigint; the type of a sum has ten digits more
_ORDERED = (Comparison.LESS, Comparison.AT_MOST, Comparison.GREATER, Comparison.AT_LEAST, Comparison.EQUAL)
_DIRECTIONS = ("", " ASC", " DESC", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST", " NULLS FIRST")


def order_by(draw: DrawFn, column: str) -> str:
    """An ORDER BY item."""
    return column + draw(st.sampled_from(_DIRECTIONS))


def grouped(draw: DrawFn, catalog: Catalog, relation: Relation, keys: Sequence[Column] = ()) -> Relation:
    """GROUP BY one or two columns, or `keys` if any, often with HAVING."""
    if not keys:
        count = draw(st.integers(1, min(2, len(relation.columns))))
        keys = draw(st.permutations(relation.columns))[:count]
    made = [_aggregate(draw, relation) for _ in range(draw(st.integers(1, 2)))]
    columns = [Column(catalog.fresh("g"), type_) for _, type_ in made]
    items = [f"{text} AS {name(column)}" for (text, _), column in zip(made, columns, strict=True)]
    sql = f"SELECT {', '.join([names(keys), *items])} FROM {relation.source} GROUP BY {names(keys)}"
    cells = [relation.sample.values(key.name) for key in keys]
    rows = [(*row, *_proposed(columns, ordinal)) for ordinal, row in enumerate(zip(*cells, strict=True))]
    sample = sample_of((*keys, *columns), rows)
    features = []
    if draw(st.sampled_from((False, True, False))):
        sql += f" HAVING {_having(draw, sample, [*made, *((name(key), key.type) for key in keys)])}"
        features.append("HAVING")
    unique = tuple(key.name for key in keys)
    return relation.then(sql, "GROUP BY", *features, sample=sample, unique=unique)


def distinct(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """DISTINCT of one or two columns."""
    count = draw(st.integers(1, min(2, len(relation.columns))))
    chosen = draw(st.permutations(relation.columns))[:count]
    cells = [relation.sample.values(column.name) for column in chosen]
    return relation.then(
        f"SELECT DISTINCT {names(chosen)} FROM {relation.source}",
        "DISTINCT",
        sample=sample_of(chosen, list(zip(*cells, strict=True))),
        unique=tuple(column.name for column in chosen),
    )


def windowed(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """A window function more, and often a filter on it; its order is total where ties would matter."""
    order = order_by(draw, name(draw(st.sampled_from(relation.columns))))
    partition = draw(st.sampled_from(("", *map(name, relation.columns))))
    within = f"PARTITION BY {partition} " if partition else ""
    function, type_ = "rank()", INTEGER
    if draw(st.booleans()) and relation.unique:
        order = ", ".join([order, *relation.unique])
        numbers = [column for column in relation.columns if column.type.integral]
        function = draw(st.sampled_from(("row_number()", "count(*)")))
        type_ = INTEGER if function == "row_number()" else LONG
        if draw(st.booleans()) and numbers:
            function, type_ = _sum(draw(st.sampled_from(numbers)))
    column = Column(catalog.fresh("w"), type_)
    window = f"{function} OVER ({within}ORDER BY {order}) AS {name(column)}"
    sql = f"SELECT *, {window} FROM {relation.source}"
    rows = [(*row, *_proposed([column], ordinal)) for ordinal, row in enumerate(relation.sample.rows)]
    result = relation.then(sql, "window", sample=sample_of((*relation.columns, column), rows))
    if draw(st.booleans()):
        text = f"SELECT * FROM {result.source} WHERE {name(column)} <= {draw(st.integers(1, 4))}"
        return result.then(text, "filter on a window")
    return result


def union(draw: DrawFn, catalog: Catalog, branches: Sequence[Relation]) -> Relation:
    """UNION ALL of the first columns of the same types, as many as all have, and the branch's ordinal."""
    types = [column.type for column in branches[0].columns]
    chosen = [_matched(branch, types) for branch in branches]
    width = min(map(len, chosen))
    columns = [Column(catalog.fresh("u"), column.type) for column in chosen[0][:width]]
    unique = all(_has(found[:width], branch) for branch, found in zip(branches, chosen, strict=True))
    tag = Column(catalog.fresh("u"), INTEGER)
    texts, rows = [], []
    for ordinal, (branch, found) in enumerate(zip(branches, chosen, strict=True)):
        items = [f"{name(one)} AS {name(other)}" for one, other in zip(found, columns, strict=False)]
        texts.append(f"SELECT {', '.join([*items, f'{ordinal} AS {name(tag)}'])} FROM {branch.source}")
        cells = [branch.sample.values(column.name) for column in found[:width]]
        rows += [(*row, ordinal) for row in zip(*cells, strict=True)]
    return branches[0].then(
        " UNION ALL ".join(texts),
        "UNION ALL",
        *(feature for branch in branches for feature in branch.features),
        sample=sample_of((*columns, tag), rows[:: max(1, len(rows) // 40)]),
        unique=tuple(column.name for column in (*columns, tag)) if unique else (),
    )


def limited(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """The first rows in a total order, so that it is known which; `relation.unique` must be known."""
    items = [order_by(draw, name(draw(st.sampled_from(relation.columns)))), *relation.unique]
    sql = f"SELECT * FROM {relation.source} ORDER BY {', '.join(items)} {limit_text(draw, relation)}"
    return relation.then(sql, "inner top-k")


def limited_keys(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """The first values of one column: which of several equal ones they come from makes no difference."""
    column = draw(st.sampled_from(relation.columns))
    order = order_by(draw, name(column))
    sql = f"SELECT {name(column)} FROM {relation.source} ORDER BY {order} {limit_text(draw, relation)}"
    rows = [(value,) for value in relation.sample.values(column.name)]
    return relation.then(sql, "inner top-k of keys", sample=sample_of((column,), rows), unique=())


def counted_limit(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """How many rows there are after LIMIT without order: known, though not which."""
    column = Column(catalog.fresh("n"), LONG)
    inner = f"SELECT * FROM {relation.source} {limit_text(draw, relation)}"
    return relation.then(
        f"SELECT count(*) AS {name(column)} FROM ({inner})",
        "count of LIMIT",
        sample=Table((column,), (((len(relation.sample.rows),),),)),
        unique=(column.name,),
    )


def compared_with_scalar(draw: DrawFn, catalog: Catalog, relation: Relation, other: Relation) -> Relation:
    """Rows compared with an aggregate of another relation, which may depend on the row."""
    column = draw(st.sampled_from(other.columns))
    alike = [each for each in relation.columns if each.type == column.type]
    function = draw(st.sampled_from(("min", "max"))) if alike else "count"
    features: set[str] = {"scalar subquery", *other.features}
    inner = f"SELECT {function}({name(column)}) FROM {other.source} r"
    if draw(st.booleans()):
        one, two = key_pair(draw, relation, other, features)
        inner += f" WHERE {one} = {two}"
        features.add("correlated scalar subquery")
    subject = name(draw(st.sampled_from(alike))) if alike else "2"
    operator = draw(st.sampled_from(_ORDERED)).value
    sql = f"SELECT * FROM {relation.source} l WHERE {subject} {operator} ({inner})"
    return relation.then(sql, "scalar subquery", *features)


def existing(draw: DrawFn, catalog: Catalog, relation: Relation, other: Relation) -> Relation:
    """All rows or none: whether another relation has any row, asked with LIMIT."""
    word = draw(st.sampled_from(("EXISTS", "NOT EXISTS")))
    inner = f"SELECT 1 FROM {other.source} LIMIT {draw(st.integers(1, 2))}"
    sql = f"SELECT * FROM {relation.source} WHERE {word} ({inner})"
    return relation.then(sql, "EXISTS of LIMIT", *other.features)


def limit_text(draw: DrawFn, relation: Relation) -> str:
    """LIMIT, and OFFSET now and then."""
    rows = max(1, len(relation.sample.rows))
    limit = draw(st.one_of(st.integers(1, 4), st.integers(0, rows + 2)))
    offset = draw(st.sampled_from((0, 0, 0, 1, rows // 2)))
    return f"LIMIT {limit} OFFSET {offset}" if offset else f"LIMIT {limit}"


def _aggregate(draw: DrawFn, relation: Relation) -> tuple[str, Type]:
    """An aggregate whose value does not depend on the order of rows, and its type."""
    column = draw(st.sampled_from(relation.columns))
    function = draw(st.sampled_from(("count(*)", "min", "max", "count", "count distinct", "sum")))
    if function == "count(*)":
        return function, LONG
    if function == "sum" and column.type.integral:
        return _sum(column)
    if function.startswith("count"):
        return f"count({'DISTINCT ' if function.endswith('distinct') else ''}{name(column)})", LONG
    return f"{'max' if function == 'sum' else function}({name(column)})", column.type


def _sum(column: Column) -> tuple[str, Type]:
    return f"sum(CAST({name(column)} AS {_SUM.sql}))", decimal(_SUM.precision + 10, 0)


def _having(draw: DrawFn, sample: Table, made: Sequence[tuple[str, Type]]) -> str:
    text, type_ = draw(st.sampled_from(made))
    value: Literal = literal(draw, scope_of(sample), type_)
    return f"{text} {draw(st.sampled_from(_ORDERED)).value} {to_sql(value)}"


def _proposed(columns: Sequence[Column], ordinal: int) -> list[Value | None]:
    """What counts and the like may be; NULL where a guess is worth nothing."""
    return [ordinal % 4 + 1 if column.type.integral else None for column in columns]


def _matched(branch: Relation, types: Sequence[Type]) -> list[Column]:
    """Columns of the wanted types, in order, as far as there are."""
    left, found = list(branch.columns), []
    for type_ in types:
        column = next((each for each in left if each.type == type_), None)
        if column is None:
            break
        left.remove(column)
        found.append(column)
    return found


def _has(found: Sequence[Column], branch: Relation) -> bool:
    """Whether the columns tell a branch's rows apart."""
    return bool(branch.unique) and set(branch.unique) <= {column.name for column in found}
