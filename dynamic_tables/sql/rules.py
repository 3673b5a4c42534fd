"""Rules that bind one class of the parser's nodes, and how errors name a node."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from sqlglot import exp

from dynamic_tables.sql.functions import DIALECT, LISTS
from dynamic_tables.sql.names import function_name, refuse_unknown, sql_text, written_name
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.functions import call
from pruning.errors import InputError


class ExpressionBinder(Protocol):
    """Binds the operands of a node."""

    def bind(self, node: exp.Expression) -> Expression:
        """Bind an expression."""


Rule: TypeAlias = Callable[[Any, Any], Expression]


def function_rule(name: str, *arguments: str) -> Rule:
    """Return the rule of a function of these arguments of the node, of which the last may be missing."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        refuse_unknown(node, DIALECT.union(arguments), node_name(node))
        nodes = [node.args.get(argument) for argument in arguments]
        if nodes[0] is None:
            raise InputError(f"{node_name(node)} has no argument")
        return call(name, *(binder.bind(part) for part in nodes if part is not None))

    return run


def variadic_rule(name: str) -> Rule:
    """Return the rule of a function of all expressions of the node."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        refuse_unknown(node, LISTS, node_name(node))
        first = () if node.this is None else (node.this,)
        return call(name, *map(binder.bind, (*first, *node.expressions)))

    return run


def refusal_rule(construct: str, hint: str) -> Rule:
    """Return the rule that refuses a construct which no mode supports."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        raise Refused(construct, f"is not supported{hint}")

    return run


def operator_refusal(construct: str) -> Rule:
    """Return the rule that refuses an operator, or the function that the parser takes for the same."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        name = written_name(node)
        raise Refused(f"the function {name}" if name else construct, "is not supported")

    return run


def node_name(node: exp.Expression) -> str:
    """Return the name of a function without its arguments, or the text of another expression."""
    name = function_name(node)
    return f"{name}(...)" if name else sql_text(node)
