"""Binding of LATERAL FLATTEN and TABLE(FLATTEN)."""

from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Explode
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import fold_name, sql_text
from dynamic_tables.sql.scopes import Scope, VisibleColumn
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression, Literal
from dynamic_tables.values.functions import call
from dynamic_tables.values.paths import extended_path, path_steps
from dynamic_tables.values.types import INTEGER, TEXT, Kind
from pruning.errors import InputError

FLATTENED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT, Kind.NULL})
# The names that the parser gives the columns where none are written.
DEFAULT_NAMES = ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS")
# The columns that * includes; the others are there by their names.
STARRED = frozenset({"key", "index", "value"})


def bind_flatten(left: Scope, node: Any) -> Scope:
    """Bind FLATTEN of a list or object from the left.

    Raises:
        Refused: It is another function, or has an argument that is not supported.
        InputError: The values of its input are neither lists nor objects, or an argument has no such value.
    """
    item = node.this
    function = item.this
    if not isinstance(function, exp.Explode):
        raise Refused("a LATERAL subquery", "is not supported: write a join")
    if node.args.get("on") is not None or node.args.get("side"):
        raise Refused("FLATTEN with ON or in an outer join", "is not supported: write OUTER => TRUE")
    arguments = arguments_of(function)
    elements = arguments.pop("input", None)
    outer, recursive = (truth_of(arguments.pop(name, None), name) for name in ("outer", "recursive"))
    path = arguments.pop("path", None)
    if arguments.get("mode") is not None and arguments["mode"].name.upper() == "BOTH":
        del arguments["mode"]
    if elements is None or arguments:
        raise Refused(f"FLATTEN({', '.join(arguments).upper() or 'without INPUT'})", "is not supported")
    value, prefix = at_path(Binder(left, {}).bind(elements), path)
    relation = Explode(
        left.relation, value, outer, keyed=True, recursive=recursive, detailed=True, prefix=prefix
    )
    return Scope(relation, (*left.visible, *added_columns(relation, item.args.get("alias"))))


def arguments_of(function: exp.Explode) -> dict[str, Any]:
    """Return the arguments of FLATTEN by name; the first may have none."""
    arguments: dict[str, Any] = {}
    for place, part in enumerate((function.this, *function.expressions)):
        if isinstance(part, exp.Kwarg):
            arguments[part.name.lower()] = part.expression
        elif place == 0:
            arguments["input"] = part
        else:
            raise Refused(f"{sql_text(part)} in FLATTEN", "is not supported: write NAME => VALUE")
    return arguments


def truth_of(node: Any, name: str) -> bool:
    """Return the value of an argument that is TRUE or FALSE, which it is if it is not written.

    Raises:
        InputError: It is something else.
    """
    if node is not None and not isinstance(node, exp.Boolean):
        raise InputError(f"{name.upper()} of FLATTEN is TRUE or FALSE, not {sql_text(node)}")
    return node is not None and bool(node.this)


def at_path(value: Expression, path: Any) -> tuple[Expression, str]:
    """Return the part of a value that a path leads to, and the text of the path.

    Raises:
        InputError: The value is neither a list nor an object, or the path is none.
    """
    if value.type.kind not in FLATTENED:
        raise InputError(f"FLATTEN takes an ARRAY, an OBJECT or a VARIANT, not {value.type}: PARSE_JSON it")
    if path is None:
        return value, ""
    if not isinstance(path, exp.Literal) or not path.is_string:
        raise InputError(f"PATH of FLATTEN is a text in quotes, not {sql_text(path)}")
    prefix = ""
    for step in path_steps(path.this):
        value = call("get", value, Literal(step, INTEGER if isinstance(step, int) else TEXT))
        prefix = extended_path(prefix, step)
    return value, prefix


def added_columns(relation: Explode, alias: Any) -> list[VisibleColumn]:
    """Return the columns that FLATTEN adds to those on its left.

    Raises:
        Refused: They are named in a list.
    """
    written = () if alias is None else alias.args.get("columns") or ()
    if written and tuple(column.name for column in written) != DEFAULT_NAMES:
        raise Refused("a list of the columns of FLATTEN", "is not supported: name them by AS")
    name = "" if alias is None or alias.this is None else fold_name(alias.this)
    width = len(relation.child.fields)
    return [
        VisibleColumn(name, field.name, Column(place, field.type), field.name in STARRED)
        for place, field in enumerate(relation.added_columns, width)
    ]
