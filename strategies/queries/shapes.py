"""Steps of whole queries that change the rows: groups, windows, unions, subqueries, inner LIMITs."""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Comparison, Literal
from pruning.expressions.types import INTEGER, LONG, Type, Value, decimal
from strategies.base.tables import Table, sort_key
from strategies.choices import choose
from strategies.predicates.scalars import literal
from strategies.queries.joins import key_pair
from strategies.queries.relations import Catalog, SampledRelation, name, names, sample_of, scope_of

_SUM = decimal(20, 0)  # any bigint; the type of a sum has ten digits more
_ORDERED = (Comparison.LESS, Comparison.AT_MOST, Comparison.GREATER, Comparison.AT_LEAST, Comparison.EQUAL)
_DIRECTIONS = ("", " ASC", " DESC", " DESC", " ASC NULLS LAST", " DESC NULLS FIRST", " NULLS FIRST")


def order_by(draw: DrawFn, column: str) -> str:
    """Draw an ORDER BY item."""
    return column + choose(draw, _DIRECTIONS)


def with_group_by(
    draw: DrawFn, catalog: Catalog, relation: SampledRelation, keys: Sequence[Column] = ()
) -> SampledRelation:
    """Add GROUP BY one or two columns, or `keys` if any, often with HAVING."""
    if not keys:
        count = draw(st.integers(1, min(2, len(relation.columns))))
        keys = draw(st.permutations(relation.columns))[:count]
    aggregates = [_aggregate(draw, relation) for _ in range(draw(st.integers(1, 2)))]
    columns = [Column(catalog.fresh("g"), type_) for _, type_ in aggregates]
    items = [f"{text} AS {name(column)}" for (text, _), column in zip(aggregates, columns, strict=True)]
    sql = f"SELECT {', '.join([names(keys), *items])} FROM {relation.source} GROUP BY {names(keys)}"
    cells = [relation.sample.values(key.name) for key in keys]
    rows = [(*row, *_guesses(columns, ordinal)) for ordinal, row in enumerate(zip(*cells, strict=True))]
    sample = sample_of((*keys, *columns), rows)
    features = []
    if choose(draw, (False, True, False)):
        sql += f" HAVING {_having(draw, sample, [*aggregates, *((name(key), key.type) for key in keys)])}"
        features.append("HAVING")
    unique = tuple(key.name for key in keys)
    return relation.then(sql, "GROUP BY", *features, sample=sample, unique=unique)


def with_distinct(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Add DISTINCT of one or two columns."""
    count = draw(st.integers(1, min(2, len(relation.columns))))
    chosen = draw(st.permutations(relation.columns))[:count]
    cells = [relation.sample.values(column.name) for column in chosen]
    return relation.then(
        f"SELECT DISTINCT {names(chosen)} FROM {relation.source}",
        "DISTINCT",
        sample=sample_of(chosen, list(zip(*cells, strict=True))),
        unique=tuple(column.name for column in chosen),
    )


def with_window(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Add a window function, and often a filter on it; its order is total where ties would matter."""
    order = order_by(draw, name(choose(draw, relation.columns)))
    partition = choose(draw, ("", *map(name, relation.columns)))
    within = f"PARTITION BY {partition} " if partition else ""
    function, type_ = "rank()", INTEGER
    if draw(st.booleans()) and relation.unique:
        order = ", ".join([order, *relation.unique])
        numbers = [column for column in relation.columns if column.type.integral]
        function = choose(draw, ("row_number()", "count(*)"))
        type_ = INTEGER if function == "row_number()" else LONG
        if draw(st.booleans()) and numbers:
            function, type_ = _sum(choose(draw, numbers))
    column = Column(catalog.fresh("w"), type_)
    window = f"{function} OVER ({within}ORDER BY {order}) AS {name(column)}"
    sql = f"SELECT *, {window} FROM {relation.source}"
    rows = [(*row, *_guesses([column], ordinal)) for ordinal, row in enumerate(relation.sample.rows)]
    result = relation.then(sql, "window", sample=sample_of((*relation.columns, column), rows))
    if draw(st.booleans()):
        text = f"SELECT * FROM {result.source} WHERE {name(column)} <= {draw(st.integers(1, 4))}"
        return result.then(text, "filter on a window")
    return result


def union(draw: DrawFn, catalog: Catalog, branches: Sequence[SampledRelation]) -> SampledRelation:
    """Return UNION ALL of as many first columns of equal types as all have, and the branch's ordinal."""
    types = [column.type for column in branches[0].columns]
    chosen = [_matching_columns(branch, types) for branch in branches]
    width = min(map(len, chosen))
    columns = [Column(catalog.fresh("u"), column.type) for column in chosen[0][:width]]
    unique = all(
        _are_unique(matching[:width], branch) for branch, matching in zip(branches, chosen, strict=True)
    )
    tag = Column(catalog.fresh("u"), INTEGER)
    texts, rows = [], []
    for ordinal, (branch, matching) in enumerate(zip(branches, chosen, strict=True)):
        items = [f"{name(column)} AS {name(alias)}" for column, alias in zip(matching, columns, strict=False)]
        texts.append(f"SELECT {', '.join([*items, f'{ordinal} AS {name(tag)}'])} FROM {branch.source}")
        cells = [branch.sample.values(column.name) for column in matching[:width]]
        rows += [(*row, ordinal) for row in zip(*cells, strict=True)]
    return branches[0].then(
        " UNION ALL ".join(texts),
        "UNION ALL",
        *(feature for branch in branches for feature in branch.features),
        sample=sample_of((*columns, tag), rows[:: max(1, len(rows) // 40)]),
        unique=tuple(column.name for column in (*columns, tag)) if unique else (),
    )


def with_limit(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Keep the first rows in a total order, so that they are determined; `relation.unique` must be known."""
    items = [order_by(draw, name(choose(draw, relation.columns))), *relation.unique]
    sql = f"SELECT * FROM {relation.source} ORDER BY {', '.join(items)} {limit_text(draw, relation)}"
    return relation.then(sql, "inner top-k")


def with_limit_of_keys(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Keep the first values of one column: among equal values, the row makes no difference."""
    column = choose(draw, relation.columns)
    order = order_by(draw, name(column))
    sql = f"SELECT {name(column)} FROM {relation.source} ORDER BY {order} {limit_text(draw, relation)}"
    rows = [(value,) for value in relation.sample.values(column.name)]
    return relation.then(sql, "inner top-k of keys", sample=sample_of((column,), rows), unique=())


def count_of_limit(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Count the rows after LIMIT without order: their number is determined, though the rows are not."""
    column = Column(catalog.fresh("n"), LONG)
    inner = f"SELECT * FROM {relation.source} {limit_text(draw, relation)}"
    return relation.then(
        f"SELECT count(*) AS {name(column)} FROM ({inner})",
        "count of LIMIT",
        sample=Table((column,), (((len(relation.sample.rows),),),)),
        unique=(column.name,),
    )


def with_bounds(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Give the least and the greatest value of a column in each group of rows, or in all rows."""
    column = choose(draw, relation.columns)
    ends = [Column(catalog.fresh("b"), column.type) for _ in range(2)]
    items = ", ".join(
        f"{function}({name(column)}) AS {name(end)}"
        for function, end in zip(("min", "max"), ends, strict=True)
    )
    keys = [choose(draw, relation.columns)] if draw(st.booleans()) else []
    sql = f"SELECT {', '.join([*map(name, keys), items])} FROM {relation.source}"
    values = sorted((v for v in relation.sample.values(column.name) if v is not None), key=sort_key)
    groups = [(value,) for value in relation.sample.values(keys[0].name)] if keys else [()]
    bounds = (values[0], values[-1]) if values else (None, None)
    return relation.then(
        f"{sql} GROUP BY {names(keys)}" if keys else sql,
        "bounds of groups" if keys else "bounds of all rows",
        sample=sample_of((*keys, *ends), [(*group, *bounds) for group in groups]),
        unique=tuple(key.name for key in keys),
    )


def counts_of_limits(draw: DrawFn, catalog: Catalog, branches: Sequence[SampledRelation]) -> SampledRelation:
    """Count the rows of each branch of UNION ALL, after a LIMIT in each."""
    tag, count = Column(catalog.fresh("u"), INTEGER), Column(catalog.fresh("n"), LONG)
    texts = [
        f"(SELECT {ordinal} AS {name(tag)} FROM {branch.source} {limit_text(draw, branch)})"
        for ordinal, branch in enumerate(branches)
    ]
    rows = [(ordinal, len(branch.sample.rows)) for ordinal, branch in enumerate(branches)]
    inner = " UNION ALL ".join(texts)
    return branches[0].then(
        f"SELECT {name(tag)}, count(*) AS {name(count)} FROM ({inner}) GROUP BY {name(tag)}",
        "counts of LIMITs",
        *(feature for branch in branches for feature in branch.features),
        sample=sample_of((tag, count), rows),
        unique=(tag.name,),
    )


def with_scalar_subquery(
    draw: DrawFn, catalog: Catalog, relation: SampledRelation, other: SampledRelation
) -> SampledRelation:
    """Compare rows with an aggregate of another relation, which may depend on the row."""
    column = choose(draw, other.columns)
    alike = [candidate for candidate in relation.columns if candidate.type == column.type]
    function = choose(draw, ("min", "max")) if alike else "count"
    features: set[str] = {"scalar subquery", *other.features}
    inner = f"SELECT {function}({name(column)}) FROM {other.source} r"
    if draw(st.booleans()):
        ours, theirs = key_pair(draw, relation, other, features)
        inner += f" WHERE {ours} = {theirs}"
        features.add("correlated scalar subquery")
    subject = name(choose(draw, alike)) if alike else "2"
    operator = choose(draw, _ORDERED).value
    sql = f"SELECT * FROM {relation.source} l WHERE {subject} {operator} ({inner})"
    return relation.then(sql, "scalar subquery", *features)


def with_existence(
    draw: DrawFn, catalog: Catalog, relation: SampledRelation, other: SampledRelation
) -> SampledRelation:
    """Keep all rows or none, depending on whether another relation, with LIMIT, has any row."""
    word = choose(draw, ("EXISTS", "NOT EXISTS"))
    inner = f"SELECT 1 FROM {other.source} LIMIT {draw(st.integers(1, 2))}"
    sql = f"SELECT * FROM {relation.source} WHERE {word} ({inner})"
    return relation.then(sql, "EXISTS of LIMIT", *other.features)


def limit_text(draw: DrawFn, relation: SampledRelation) -> str:
    """Draw LIMIT, sometimes with OFFSET."""
    rows = max(1, len(relation.sample.rows))
    limit = draw(st.one_of(st.integers(1, 4), st.integers(0, rows + 2)))
    offset = choose(draw, (0, 0, 0, 1, rows // 2))
    return f"LIMIT {limit} OFFSET {offset}" if offset else f"LIMIT {limit}"


def _aggregate(draw: DrawFn, relation: SampledRelation) -> tuple[str, Type]:
    """Draw an aggregate whose value does not depend on the order of rows; return it with its type."""
    column = choose(draw, relation.columns)
    function = choose(draw, ("count(*)", "min", "max", "count", "count distinct", "sum"))
    if function == "count(*)":
        return function, LONG
    if function == "sum" and column.type.integral:
        return _sum(column)
    if function.startswith("count"):
        return f"count({'DISTINCT ' if function.endswith('with_distinct') else ''}{name(column)})", LONG
    return f"{'max' if function == 'sum' else function}({name(column)})", column.type


def _sum(column: Column) -> tuple[str, Type]:
    return f"sum(CAST({name(column)} AS {_SUM.sql}))", decimal(_SUM.precision + 10, 0)


def _having(draw: DrawFn, sample: Table, aggregates: Sequence[tuple[str, Type]]) -> str:
    text, type_ = choose(draw, aggregates)
    value: Literal = literal(draw, scope_of(sample), type_)
    return f"{text} {choose(draw, _ORDERED).value} {to_sql(value)}"


def _guesses(columns: Sequence[Column], ordinal: int) -> list[Value | None]:
    """Guess the values of counts and the like; NULL where a guess is worth nothing."""
    return [ordinal % 4 + 1 if column.type.integral else None for column in columns]


def _matching_columns(branch: SampledRelation, types: Sequence[Type]) -> list[Column]:
    """Return columns of the wanted types, in order, as far as there are any."""
    left, matching = list(branch.columns), []
    for type_ in types:
        column = next((candidate for candidate in left if candidate.type == type_), None)
        if column is None:
            break
        left.remove(column)
        matching.append(column)
    return matching


def _are_unique(columns: Sequence[Column], branch: SampledRelation) -> bool:
    """Tell whether the columns distinguish a branch's rows."""
    return bool(branch.unique) and set(branch.unique) <= {column.name for column in columns}
