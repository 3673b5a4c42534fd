"""Names in SQL: their folding, and the tables that a query reads."""

from collections.abc import Iterator

from sqlglot import exp

from dynamic_tables.values.errors import Refused


def fold_name(identifier: exp.Expression) -> str:
    """Return the name that an identifier means: in lower case, or as written within quotes."""
    name = identifier.name
    quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
    return name if quoted else name.lower()


def sql_text(node: exp.Expression) -> str:
    """Return an expression as SQL text."""
    return node.sql(dialect="snowflake")


def table_name(table: exp.Expression) -> str:
    """ "schema.table", or the table alone; of an object without its own name, the schema."""
    parts = [table.args.get(part) for part in ("catalog", "db", "this")]
    return ".".join(fold_name(part) for part in parts if isinstance(part, exp.Identifier))


def tables_read(query: exp.Expression, hidden: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names that a query reads, in its order, without the names of its WITH."""
    with_clause = query.args.get("with_")
    for part in () if with_clause is None else with_clause.expressions:
        yield from tables_read(part.this, hidden)
        hidden |= {fold_name(part.args["alias"].this)}
    if isinstance(query, exp.Table):
        name = table_name(query)
        if name and name not in hidden:
            yield name
    for part in query.iter_expressions():
        if part is not with_clause:
            yield from tables_read(part, hidden)


def refuse_unknown(node: exp.Expression, handled: frozenset[str], what: str) -> None:
    """Refuse a node with a clause that is not handled, so that no clause is ignored."""
    for name, value in node.args.items():
        if value and name not in handled:
            construct = name.rstrip("_").upper().replace("_", " ")
            raise Refused(CLAUSES.get(name, construct), f"is not supported in {what}")


# Clauses whose key in the tree differs from their name in SQL.
CLAUSES = {
    "match": "MATCH_RECOGNIZE",
    "pivots": "PIVOT",
    "connect": "CONNECT BY",
    "sample": "SAMPLE",
    "when": "AT or BEFORE",
    "cluster": "CLUSTER BY",
    "decimals": "a number of digits",
    "truncate": "a rounding mode",
}
