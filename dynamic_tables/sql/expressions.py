"""Binding of SQL expressions to the columns of a scope."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from dynamic_tables.sql import conversions
from dynamic_tables.sql.functions import BINARY, UNARY, VOLATILE, VOLATILE_NAMES
from dynamic_tables.sql.names import fold_name, function_name, refuse_unknown, sql_text
from dynamic_tables.sql.rules import (
    Rule,
    function_rule,
    node_name,
    operator_refusal,
    refusal_rule,
    variadic_rule,
)
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.sql.times import (
    bind_date_trunc,
    bind_datediff,
    bind_extract,
    bind_interval,
    dateadd_rule,
)
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Expression, Literal
from dynamic_tables.values.functions import FUNCTIONS, LAZY, as_type, call, case
from dynamic_tables.values.types import (
    BOOLEAN,
    DIGITS_MAX,
    FLOAT,
    INTEGER,
    NULL,
    SCALE_MAX,
    TEXT,
    decimal,
    fits,
)
from pruning.errors import InputError

Intercept: TypeAlias = Callable[[Any], Expression | None]


class Binder:
    """Binds the expressions of one SELECT.

    Attributes:
        aliases: The expressions of the select list by alias; a column of the same name takes precedence.
        intercept: Binds some nodes in another way, for example aggregates; None for other nodes.
    """

    def __init__(
        self, scope: Scope, aliases: Mapping[str, exp.Expression], intercept: Intercept = lambda node: None
    ) -> None:
        self.scope = scope
        self.aliases = aliases
        self.intercept = intercept
        self.open_aliases: set[str] = set()

    def bind(self, node: exp.Expression) -> Expression:
        """Bind an expression.

        Raises:
            Refused: The expression has a construct that is not supported.
            InputError: It names a column that does not exist, or its types do not fit.
        """
        if not isinstance(node, exp.Expression):
            raise InputError("an argument of a function is missing")
        expression = self.intercept(node)
        if expression is not None:
            return expression
        if isinstance(node, VOLATILE) or (
            isinstance(node, exp.Anonymous) and node.name.lower() in VOLATILE_NAMES
        ):
            raise Refused(
                f"{function_name(node)}()" if function_name(node) else sql_text(node),
                "is volatile: contents would change without a change of any source; store it in a table",
            )
        if isinstance(node, exp.AggFunc):
            raise Refused(f"the aggregate {function_name(node)}", "is not supported here")
        # Look up the exact type: the parser's subclasses are other functions, as CONCAT_WS is a CONCAT
        # there.
        rule = BINDERS.get(type(node))
        if rule is None:
            name = function_name(node)
            what = f"the function {name}" if name else f"the expression {sql_text(node)}"
            raise Refused(what, "is not supported")
        return rule(self, node)

    @staticmethod
    def names(node: exp.Column) -> tuple[str, str | None]:
        """Return the name of a column, and that of its table if it is written."""
        table = node.args.get("table")
        return fold_name(node.this), None if table is None else fold_name(table)

    def column(self, node: exp.Column) -> Expression:
        """Bind a column, or an alias of the select list."""
        name, qualifier = self.names(node)
        column = self.scope.find(name, qualifier)
        if column is not None:
            return column
        if qualifier is None and name in self.aliases and name not in self.open_aliases:
            self.open_aliases.add(name)
            try:
                return self.bind(self.aliases[name])
            finally:
                self.open_aliases.discard(name)
        raise InputError(f"there is no column {sql_text(node)}")

    def condition(self, node: exp.Expression) -> Expression:
        """Bind an expression as a condition."""
        return as_type(self.bind(node), BOOLEAN)


def bind_literal(binder: Binder, node: exp.Literal) -> Expression:
    """Bind text, or a number with exactly the digits that are written."""
    if node.is_string:
        return Literal(node.this, TEXT)
    if "e" in node.this.lower():
        return Literal(float(node.this), FLOAT)
    number = Decimal(node.this)
    scale = max(0, -int(number.as_tuple().exponent))
    if scale > SCALE_MAX or not fits(number, decimal(scale)):
        raise InputError(
            f"the number {node.this} has more than {DIGITS_MAX} digits, or {SCALE_MAX} behind the point"
        )
    return Literal(int(number), INTEGER) if node.this.isdigit() else Literal(number, decimal(scale))


def bind_case(binder: Binder, node: exp.Case) -> Expression:
    """Bind CASE, with an operand or without."""
    operand = None if node.this is None else binder.bind(node.this)
    branches = []
    for branch in node.args["ifs"]:
        when = binder.bind(branch.this)
        branches.append(
            (when if operand is None else call("=", operand, when), binder.bind(branch.args["true"]))
        )
    default = node.args.get("default")
    return case(tuple(branches), Literal(None, NULL) if default is None else binder.bind(default))


def bind_iff(binder: Binder, node: exp.If) -> Expression:
    """Bind IFF."""
    otherwise = node.args.get("false")
    values = (binder.bind(node.this), binder.bind(node.args["true"]))
    return case((values,), Literal(None, NULL) if otherwise is None else binder.bind(otherwise))


def bind_nullif(binder: Binder, node: exp.Nullif) -> Expression:
    """Bind NULLIF."""
    value = binder.bind(node.this)
    return case(((call("=", value, binder.bind(node.expression)), Literal(None, NULL)),), value)


def bind_is(binder: Binder, node: exp.Is) -> Expression:
    """Bind IS NULL, IS TRUE and IS FALSE."""
    value = binder.bind(node.this)
    if isinstance(node.expression, exp.Null):
        return call("is_null", value)
    return call("is_not_distinct", value, binder.bind(node.expression))


def bind_in(binder: Binder, node: exp.In) -> Expression:
    """Bind IN of a list; IN of a query is refused."""
    if node.args.get("query") or node.args.get("unnest"):
        raise Refused("IN (SELECT ...)", "is not supported: write a join")
    value = binder.bind(node.this)
    tests = [call("=", value, binder.bind(other)) for other in node.expressions]
    return tests[0] if len(tests) == 1 else call("or", *tests)


def bind_between(binder: Binder, node: exp.Between) -> Expression:
    """Bind BETWEEN."""
    refuse_unknown(node, frozenset({"this", "low", "high"}), "BETWEEN")
    value = binder.bind(node.this)
    return call(
        "and",
        call(">=", value, binder.bind(node.args["low"])),
        call("<=", value, binder.bind(node.args["high"])),
    )


def bind_path(binder: Binder, node: exp.JSONExtract) -> Expression:
    """Bind a path into an object: `column:member.member[0]`."""
    value = binder.bind(node.this)
    if not isinstance(node.expression, exp.JSONPath):
        return call("get", value, binder.bind(node.expression))
    for step in node.expression.expressions:
        if isinstance(step, exp.JSONPathRoot):
            continue
        if not isinstance(step, (exp.JSONPathKey, exp.JSONPathSubscript)):
            raise Refused(f"the path {sql_text(node)}", "has a step that is not supported")
        at = step.this
        value = call("get", value, Literal(at, INTEGER if isinstance(at, int) else TEXT))
    return value


def bind_bracket(binder: Binder, node: exp.Bracket) -> Expression:
    """Bind a step into an object or a list, in brackets."""
    value = binder.bind(node.this)
    for step in node.expressions:
        value = call("get", value, binder.bind(step))
    return value


def bind_trim(binder: Binder, node: exp.Trim) -> Expression:
    """Bind TRIM, LTRIM and RTRIM of blanks."""
    if node.args.get("expression") is not None:
        raise Refused("TRIM of other characters than blanks", "is not supported")
    sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return call(sides.get(str(node.args.get("position") or ""), "trim"), binder.bind(node.this))


def bind_parse_json(binder: Binder, node: exp.ParseJSON) -> Expression:
    """Bind PARSE_JSON; refuse TRY_PARSE_JSON, for which the parser has the same node."""
    if node.args.get("safe"):
        raise Refused("TRY_PARSE_JSON", "is not supported")
    return call("parse_json", binder.bind(node.this))


def bind_call(binder: Binder, node: exp.Anonymous) -> Expression:
    """Bind a function that has no node of its own in the parser."""
    name = node.name.lower()
    if name in conversions.CONVERSIONS:
        return conversions.bind_conversion(binder, node)
    if name not in FUNCTIONS and name not in LAZY:
        raise Refused(f"the function {node.name.upper()}", "is not supported")
    arguments = list(map(binder.bind, node.expressions))
    try:
        return call(name, *arguments)
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{node.name.upper()} takes another number of arguments") from None


def refuse_within_group(binder: Binder, node: exp.WithinGroup) -> Expression:
    """Refuse WITHIN GROUP of a function that has no order."""
    raise Refused("WITHIN GROUP", f"is not supported of {node_name(node.this)}")


BINDERS: Mapping[type[Any], Rule] = {
    **{kind: function_rule(name, "this", "expression") for kind, name in BINARY.items()},
    **{kind: function_rule(name, "this") for kind, name in UNARY.items()},
    exp.Column: Binder.column,
    exp.Alias: lambda binder, node: binder.bind(node.this),
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: bind_literal,
    exp.Null: lambda binder, node: Literal(None, NULL),
    exp.Boolean: lambda binder, node: Literal(bool(node.this), BOOLEAN),
    exp.NullSafeNEQ: lambda binder, node: call(
        "not", call("is_not_distinct", binder.bind(node.this), binder.bind(node.expression))
    ),
    exp.Round: function_rule("round", "this", "decimals"),
    exp.Substring: function_rule("substr", "this", "start", "length"),
    exp.Replace: function_rule("replace", "this", "expression", "replacement"),
    exp.Coalesce: variadic_rule("coalesce"),
    exp.Greatest: variadic_rule("greatest"),
    exp.Least: variadic_rule("least"),
    exp.Concat: variadic_rule("concat"),
    exp.ConcatWs: variadic_rule("concat_ws"),
    exp.Array: variadic_rule("array_construct"),
    exp.TimestampTrunc: bind_date_trunc,
    exp.DateTrunc: bind_date_trunc,
    exp.DateDiff: bind_datediff,
    exp.TimestampDiff: bind_datediff,
    exp.DateAdd: dateadd_rule("+"),
    exp.TimestampAdd: dateadd_rule("+"),
    exp.DateSub: dateadd_rule("-"),
    exp.Interval: bind_interval,
    exp.Extract: bind_extract,
    **conversions.RULES,
    exp.Case: bind_case,
    exp.If: bind_iff,
    exp.Nullif: bind_nullif,
    exp.Is: bind_is,
    exp.In: bind_in,
    exp.Between: bind_between,
    exp.JSONExtract: bind_path,
    exp.Bracket: bind_bracket,
    exp.ParseJSON: bind_parse_json,
    exp.Trim: bind_trim,
    exp.Anonymous: bind_call,
    exp.RegexpLike: operator_refusal("RLIKE"),
    exp.AtTimeZone: operator_refusal("AT TIME ZONE"),
    exp.Filter: operator_refusal("FILTER of an aggregate"),
    exp.WithinGroup: refuse_within_group,
    exp.CastToStrType: refusal_rule("CAST without AS", ""),
    exp.Subquery: refusal_rule("a scalar subquery", ": write a join"),
    exp.Exists: refusal_rule("EXISTS", ": write a join"),
    exp.All: refusal_rule("a comparison with a subquery (NOT IN, ALL)", ": write a join"),
    exp.Any: refusal_rule("a comparison with a subquery (ANY)", ": write a join"),
    exp.Rollup: refusal_rule("ROLLUP", " here: write it in GROUP BY"),
    exp.Cube: refusal_rule("CUBE", " here: write it in GROUP BY"),
    exp.GroupingSets: refusal_rule("GROUPING SETS", " here: write it in GROUP BY"),
    exp.Window: refusal_rule("a window function", " here"),
}
