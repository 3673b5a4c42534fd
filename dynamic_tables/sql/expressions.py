"""Expressions of SQL bound to the columns of a scope."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from dynamic_tables.sql.functions import BINARY, DIALECT, LISTS, UNARY, VOLATILE, VOLATILE_NAMES
from dynamic_tables.sql.names import folded, refuse_unknown
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.sql.types import cast_type
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Cast, Expression, Literal
from dynamic_tables.values.functions import FUNCTIONS, LAZY, UNITS_US, as_type, call, case
from dynamic_tables.values.types import (
    BOOLEAN,
    DIGITS_MAX,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    SCALE_MAX,
    TEXT,
    TIMESTAMP,
    decimal,
    fits,
)
from pruning.errors import InputError

Intercept: TypeAlias = Callable[[Any], Expression | None]


class Binder:
    """Binds expressions of one SELECT.

    Attributes:
        aliases: What the select list calls its expressions; a column of the same name comes first.
        intercept: What is bound otherwise, as an aggregate is; None for what is not.
    """

    def __init__(
        self, scope: Scope, aliases: Mapping[str, exp.Expression], intercept: Intercept = lambda node: None
    ) -> None:
        self.scope = scope
        self.aliases = aliases
        self.intercept = intercept
        self.open_aliases: set[str] = set()

    def bind(self, node: exp.Expression) -> Expression:
        """The bound expression.

        Raises:
            Refused: It has a construct that is not supported.
            InputError: It names what there is not, or its types do not fit.
        """
        found = self.intercept(node)
        if found is not None:
            return found
        if isinstance(node, VOLATILE) or (
            isinstance(node, exp.Anonymous) and node.name.lower() in VOLATILE_NAMES
        ):
            raise Refused(
                f"{written(node)}",
                "is volatile: contents would change without a change of any source; store it in a table",
            )
        if isinstance(node, exp.AggFunc):
            raise Refused("an aggregate", "is not supported here")
        # A subclass of the parser's is another function: CONCAT_WS is a CONCAT there.
        rule = BINDERS.get(type(node))
        if rule is None:
            raise Refused(f"the expression {written(node)}", "is not supported")
        return rule(self, node)

    @staticmethod
    def names(node: exp.Column) -> tuple[str, str | None]:
        """The name of a column, and of its table if that is written."""
        table = node.args.get("table")
        return folded(node.this), None if table is None else folded(table)

    def column(self, node: exp.Column) -> Expression:
        """A column, or an alias of the select list."""
        name, qualifier = self.names(node)
        found = self.scope.find(name, qualifier)
        if found is not None:
            return found
        if qualifier is None and name in self.aliases and name not in self.open_aliases:
            self.open_aliases.add(name)
            try:
                return self.bind(self.aliases[name])
            finally:
                self.open_aliases.discard(name)
        raise InputError(f"there is no column {written(node)}")

    def condition(self, node: exp.Expression) -> Expression:
        """A bound expression as a condition."""
        return as_type(self.bind(node), BOOLEAN)


Rule: TypeAlias = Callable[[Binder, Any], Expression]


def written(node: exp.Expression) -> str:
    """A piece of SQL as its writer would know it again."""
    return node.sql(dialect="snowflake")


def literal(binder: Binder, node: exp.Literal) -> Expression:
    """Text, or a number as exact as it is written."""
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


def named(name: str, *arguments: str) -> Rule:
    """A function of the node's arguments with these names; those at the end may be missing."""

    def run(binder: Binder, node: exp.Expression) -> Expression:
        refuse_unknown(node, DIALECT.union(arguments), node_name(node))
        given = [node.args.get(argument) for argument in arguments]
        return call(name, *(binder.bind(one) for one in given if one is not None))

    return run


def listed(name: str) -> Rule:
    """A function of the node's expressions, however many."""

    def run(binder: Binder, node: exp.Expression) -> Expression:
        refuse_unknown(node, LISTS, node_name(node))
        first = () if node.this is None else (node.this,)
        return call(name, *map(binder.bind, (*first, *node.expressions)))

    return run


def node_name(node: exp.Expression) -> str:
    """A function without its arguments, as its writer would know it again."""
    return f"{node.sql_name()}(...)" if isinstance(node, exp.Func) else written(node)


def unit(node: exp.Expression) -> Expression:
    """The unit of a function of time, in the singular."""
    given = node.args.get("unit")
    name = "day" if given is None else given.name.lower()
    return Literal(name.removesuffix("s"), TEXT)


def truncating(binder: Binder, node: exp.Expression) -> Expression:
    """DATE_TRUNC."""
    return call("date_trunc", unit(node), moment(binder.bind(node.this)))


def moment(expression: Expression) -> Expression:
    """Text as a time, other values as they are."""
    return as_type(expression, TIMESTAMP) if expression.type == TEXT else expression


def difference(binder: Binder, node: exp.Expression) -> Expression:
    """DATEDIFF: the tree has the later time first."""
    return call("datediff", unit(node), binder.bind(node.expression), binder.bind(node.this))


def adding(sign: str) -> Rule:
    """DATEADD, and its opposite."""

    def run(binder: Binder, node: exp.Expression) -> Expression:
        count = binder.bind(node.expression)
        count = count if sign == "+" else call("negate", count)
        return call("dateadd", unit(node), count, moment(binder.bind(node.this)))

    return run


def interval(binder: Binder, node: exp.Interval) -> Expression:
    """A length of time, in units that have one."""
    told = node.args.get("unit")
    given, name = (node.name, told.name.lower().removesuffix("s")) if told is not None else ("", "")
    if name not in UNITS_US or not given.lstrip("-").isdigit():
        raise Refused(f"{written(node)}", "is not supported: write a whole number of weeks to microseconds")
    return Literal(int(given) * UNITS_US[name], INTERVAL)


def casting(binder: Binder, node: exp.Cast) -> Expression:
    """CAST, :: and TRY_CAST."""
    refuse_unknown(node, DIALECT | {"to"}, "a cast")
    wanted, operand = cast_type(node.to), binder.bind(node.this)
    if isinstance(node, exp.TryCast):
        return Cast(operand, wanted, lenient=True)
    return as_type(operand, wanted)


def choosing(binder: Binder, node: exp.Case) -> Expression:
    """CASE, with an operand or without."""
    operand = None if node.this is None else binder.bind(node.this)
    branches = []
    for branch in node.args["ifs"]:
        when = binder.bind(branch.this)
        branches.append(
            (when if operand is None else call("=", operand, when), binder.bind(branch.args["true"]))
        )
    default = node.args.get("default")
    return case(tuple(branches), Literal(None, NULL) if default is None else binder.bind(default))


def conditional(binder: Binder, node: exp.If) -> Expression:
    """IFF."""
    otherwise = node.args.get("false")
    values = (binder.bind(node.this), binder.bind(node.args["true"]))
    return case((values,), Literal(None, NULL) if otherwise is None else binder.bind(otherwise))


def nullif(binder: Binder, node: exp.Nullif) -> Expression:
    """NULLIF."""
    one = binder.bind(node.this)
    return case(((call("=", one, binder.bind(node.expression)), Literal(None, NULL)),), one)


def being(binder: Binder, node: exp.Is) -> Expression:
    """IS NULL, IS TRUE, IS FALSE."""
    one = binder.bind(node.this)
    if isinstance(node.expression, exp.Null):
        return call("is_null", one)
    return call("is_not_distinct", one, binder.bind(node.expression))


def within(binder: Binder, node: exp.In) -> Expression:
    """IN a list; of a query it is refused."""
    if node.args.get("query") or node.args.get("unnest"):
        raise Refused("IN (SELECT ...)", "is not supported: write a join")
    one = binder.bind(node.this)
    tests = [call("=", one, binder.bind(other)) for other in node.expressions]
    return tests[0] if len(tests) == 1 else call("or", *tests)


def between(binder: Binder, node: exp.Between) -> Expression:
    """BETWEEN."""
    refuse_unknown(node, frozenset({"this", "low", "high"}), "BETWEEN")
    one = binder.bind(node.this)
    return call(
        "and", call(">=", one, binder.bind(node.args["low"])), call("<=", one, binder.bind(node.args["high"]))
    )


def path(binder: Binder, node: exp.JSONExtract) -> Expression:
    """A path into an object: `column:member.member[0]`."""
    value = binder.bind(node.this)
    if not isinstance(node.expression, exp.JSONPath):
        return call("get", value, binder.bind(node.expression))
    for step in node.expression.expressions:
        if isinstance(step, exp.JSONPathRoot):
            continue
        if not isinstance(step, (exp.JSONPathKey, exp.JSONPathSubscript)):
            raise Refused(f"the path {written(node)}", "has a step that is not supported")
        at = step.this
        value = call("get", value, Literal(at, INTEGER if isinstance(at, int) else TEXT))
    return value


def bracketed(binder: Binder, node: exp.Bracket) -> Expression:
    """A step into an object or a list, in brackets."""
    value = binder.bind(node.this)
    for step in node.expressions:
        value = call("get", value, binder.bind(step))
    return value


def trimmed(binder: Binder, node: exp.Trim) -> Expression:
    """TRIM, LTRIM and RTRIM of blanks."""
    if node.args.get("expression") is not None:
        raise Refused("TRIM of other characters than blanks", "is not supported")
    sides = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    return call(sides.get(str(node.args.get("position") or ""), "trim"), binder.bind(node.this))


def parsing(binder: Binder, node: exp.ParseJSON) -> Expression:
    """PARSE_JSON; the parser calls TRY_PARSE_JSON the same."""
    if node.args.get("safe"):
        raise Refused("TRY_PARSE_JSON", "is not supported")
    return call("parse_json", binder.bind(node.this))


def called(binder: Binder, node: exp.Anonymous) -> Expression:
    """A function that the parser has no own node for."""
    name = node.name.lower()
    if name not in FUNCTIONS and name not in LAZY:
        raise Refused(f"the function {node.name.upper()}", "is not supported")
    return call(name, *map(binder.bind, node.expressions))


def refused(construct: str, hint: str) -> Rule:
    """A construct that no mode evaluates."""

    def run(binder: Binder, node: exp.Expression) -> Expression:
        raise Refused(construct, f"is not supported{hint}")

    return run


BINDERS: Mapping[type[Any], Rule] = {
    **{kind: named(name, "this", "expression") for kind, name in BINARY.items()},
    **{kind: named(name, "this") for kind, name in UNARY.items()},
    exp.Column: Binder.column,
    exp.Alias: lambda binder, node: binder.bind(node.this),
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: literal,
    exp.Null: lambda binder, node: Literal(None, NULL),
    exp.Boolean: lambda binder, node: Literal(bool(node.this), BOOLEAN),
    exp.NullSafeNEQ: lambda binder, node: call(
        "not", call("is_not_distinct", binder.bind(node.this), binder.bind(node.expression))
    ),
    exp.Round: named("round", "this", "decimals"),
    exp.Substring: named("substr", "this", "start", "length"),
    exp.Replace: named("replace", "this", "expression", "replacement"),
    exp.Coalesce: listed("coalesce"),
    exp.Greatest: listed("greatest"),
    exp.Least: listed("least"),
    exp.Concat: listed("concat"),
    exp.ConcatWs: listed("concat_ws"),
    exp.Array: listed("array_construct"),
    exp.TimestampTrunc: truncating,
    exp.DateTrunc: truncating,
    exp.DateDiff: difference,
    exp.TimestampDiff: difference,
    exp.DateAdd: adding("+"),
    exp.TimestampAdd: adding("+"),
    exp.DateSub: adding("-"),
    exp.Interval: interval,
    exp.Cast: casting,
    exp.TryCast: casting,
    exp.Case: choosing,
    exp.If: conditional,
    exp.Nullif: nullif,
    exp.Is: being,
    exp.In: within,
    exp.Between: between,
    exp.JSONExtract: path,
    exp.Bracket: bracketed,
    exp.ParseJSON: parsing,
    exp.Trim: trimmed,
    exp.Anonymous: called,
    exp.Subquery: refused("a scalar subquery", ": write a join"),
    exp.Exists: refused("EXISTS", ": write a join"),
    exp.All: refused("a comparison with a subquery (NOT IN, ALL)", ": write a join"),
    exp.Any: refused("a comparison with a subquery (ANY)", ": write a join"),
    exp.Rollup: refused("ROLLUP", ""),
    exp.Cube: refused("CUBE", ""),
    exp.GroupingSets: refused("GROUPING SETS", ""),
    exp.Window: refused("a window function", " here"),
}
