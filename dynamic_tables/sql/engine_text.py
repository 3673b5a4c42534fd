"""The text of a query that an engine computes: names of tables in it, and calls that ask for the time."""

from collections.abc import Iterator
from typing import Any

from sqlglot import Dialect, TokenType, exp
from sqlglot.errors import TokenError

from dynamic_tables.maintenance.algebra import TimeCall, TimeKind
from dynamic_tables.sql.names import table_name
from pruning.errors import InputError

ENGINE_DIALECT = "spark"
# Names that ask for the time also without parentheses.
BARE = {
    TokenType.CURRENT_TIMESTAMP: TimeKind.TIMESTAMP,
    TokenType.CURRENT_DATE: TimeKind.DATE,
    TokenType.LOCALTIMESTAMP: TimeKind.LOCAL,
}
# Names that ask for the time if an empty pair of parentheses follows.
CALLED = {
    "now": TimeKind.TIMESTAMP,
    "curdate": TimeKind.DATE,
    "localtimestamp": TimeKind.LOCAL,
    "unix_timestamp": TimeKind.SECONDS,
}
EMPTY_CALL = [TokenType.L_PAREN, TokenType.R_PAREN]


def with_view_names(text: str, tree: Any) -> tuple[str, dict[str, str]]:
    """Return a query whose names with a schema are names of temporary views, which have none.

    Args:
        text: The query.
        tree: The same, parsed.

    Returns:
        The text, and the name of the view for each name with a schema.
    """
    views: dict[str, str] = {}
    changes: list[tuple[int, int, str]] = []
    for table in tree.find_all(exp.Table):
        schema = table.args.get("db")
        if not isinstance(schema, exp.Identifier):
            continue
        view = views.setdefault(table_name(table), f"table_{len(views)}")
        # Columns are named by the table alone, unless it has an alias.
        alias = "" if table.alias else f" AS {table.this.sql(dialect=ENGINE_DIALECT)}"
        first = table.args.get("catalog") or schema
        changes.append((first.meta["start"], table.this.meta["end"] + 1, f"{view}{alias}"))
    for start, end, new in sorted(changes, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text, views


def time_calls(text: str) -> tuple[TimeCall, ...]:
    """Return the calls that ask for the time, in their order.

    >>> for call in time_calls("SELECT now() AS now, t.current_date FROM t WHERE day < current_date"):
    ...     print(call.start, call.end, call.kind.value)
    7 12 timestamp
    55 67 date

    Raises:
        InputError: The text has no tokens of SQL.
    """
    try:
        return tuple(calls_in(Dialect.get_or_raise(ENGINE_DIALECT).tokenize(text)))
    except TokenError as error:
        raise InputError(f"this is no SQL: {error}") from None


def calls_in(tokens: list[Any]) -> Iterator[TimeCall]:
    """Yield the calls among the tokens of a query."""
    for place, token in enumerate(tokens):
        around = [
            other.token_type for other in (*tokens[max(0, place - 1) : place], *tokens[place + 1 :][:1])
        ]
        if TokenType.DOT in around or token.token_type is TokenType.IDENTIFIER:
            continue
        is_call = [other.token_type for other in tokens[place + 1 :][:2]] == EMPTY_CALL
        kind = BARE.get(token.token_type) or (CALLED.get(token.text.lower()) if is_call else None)
        if kind is not None:
            last = tokens[place + 2] if is_call else token
            yield TimeCall(token.start, last.end + 1, kind)
