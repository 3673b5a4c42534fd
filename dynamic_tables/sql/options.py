"""The options of CREATE: their names as users write them, and those that are accepted without effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Scan
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import sql_text
from dynamic_tables.sql.scopes import scope_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import Field
from pruning.errors import InputError

COMMENT, CLUSTER_BY, TRANSIENT, DYNAMIC = "comment", "cluster by", "transient", "dynamic"
# By the names of the parser's classes, of which releases of sqlglot 30 have two for CLUSTER BY.
NAMES: Mapping[str, str] = {
    "SchemaCommentProperty": COMMENT,
    "Cluster": CLUSTER_BY,
    "ClusterProperty": CLUSTER_BY,
    "TransientProperty": TRANSIENT,
    "DynamicProperty": DYNAMIC,
}


def read_options(node: Any) -> dict[str, Any]:
    """Return the options of CREATE by name: the value of NAME = VALUE, of others the parsed option.

    Raises:
        InputError: An option is written twice.
    """
    options: dict[str, Any] = {}
    holder = node.args.get("properties")
    for part in () if holder is None else holder.expressions:
        plain = type(part) is exp.Property
        name = part.name.lower() if plain else NAMES.get(type(part).__name__) or sql_text(part).lower()
        if name in options:
            raise InputError(f"{name.upper()} is given twice")
        options[name] = part.args.get("value") if plain else part
    return options


def accept_without_effect(options: dict[str, Any], fields: Sequence[Field]) -> None:
    """Take COMMENT, CLUSTER BY and TRANSIENT out of the options of a table, which they do not change.

    Args:
        options: The options, from which these are removed.
        fields: The columns of the table, over which the keys of CLUSTER BY have to be expressions.

    Raises:
        InputError: A key of CLUSTER BY names no column, or the comment is no text.
        Refused: A key of CLUSTER BY is no expression that is supported.
    """
    options.pop(TRANSIENT, None)
    accept_comment(options)
    cluster = options.pop(CLUSTER_BY, None)
    if cluster is not None:
        binder = Binder(scope_of(Scan("", tuple(fields)), ""), {})
        for key in cluster_keys(cluster.expressions):
            binder.bind(key)


def cluster_keys(nodes: Sequence[Any]) -> Iterator[Any]:
    """Yield the keys of CLUSTER BY, which releases of the parser leave in parentheses."""
    for node in nodes:
        if isinstance(node, exp.Tuple):
            yield from cluster_keys(node.expressions)
        elif isinstance(node, (exp.Paren, exp.Ordered)):
            yield from cluster_keys([node.this])
        else:
            yield node


def accept_comment(options: dict[str, Any]) -> None:
    """Take COMMENT out of the options.

    Raises:
        InputError: It is no text.
    """
    comment = options.pop(COMMENT, None)
    if comment is not None and not (isinstance(comment.this, exp.Literal) and comment.this.is_string):
        raise InputError("COMMENT has to be a text in quotes")


def refuse_options(options: Mapping[str, Any], statement: str) -> None:
    """Refuse the options that are left.

    Raises:
        Refused: There are some.
    """
    if options:
        raise Refused(f"{' and '.join(map(str.upper, options))}", f"is not supported in {statement}")
