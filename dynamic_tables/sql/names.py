"""Names in SQL: their folding, and the tables that a query reads."""

from collections.abc import Iterator
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from dynamic_tables.sql.dialect import WRITTEN_NAME
from dynamic_tables.values.errors import Refused

# The parts of the name of a table.
NAME_PARTS = frozenset({"this", "db", "catalog"})
# Errors of the parser's writer over nodes without the arguments that it expects.
WRITER_ERRORS = (AttributeError, LookupError, SqlglotError, TypeError, ValueError)


def fold_name(identifier: exp.Expression) -> str:
    """Return the name that an identifier means: in lower case, or as written within quotes."""
    name = identifier.name
    quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
    return name if quoted else name.lower()


def sql_text(node: Any) -> str:
    """Return an expression as SQL text; of a function without arguments that it needs, its name."""
    try:
        return str(node.sql(dialect="snowflake", unsupported_level=ErrorLevel.IGNORE))
    except WRITER_ERRORS:
        return written_name(node) or "an expression"


def function_name(node: Any) -> str:
    """Return the name of a function, if possible as it is written; empty for another expression."""
    if not isinstance(node, exp.Func):
        return ""
    name, bracket, _ = sql_text(node).partition("(")
    return written_name(node) or (name if bracket and name.replace("_", "a").isalnum() else "")


def written_name(node: Any) -> str:
    """Return the name of a function as it is written; empty if the parser did not keep it."""
    name = node.name if isinstance(node, exp.Anonymous) else node.meta.get(WRITTEN_NAME)
    return str(name or "").upper()


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
            if what.endswith("(...)") and value is not True:
                arguments = value if isinstance(value, list) else [value]
                construct = f"the argument {', '.join(map(sql_text, arguments))}"
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
