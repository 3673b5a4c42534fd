"""Binding of functions of dates and times: their units and parts by each name that Snowflake has for them."""

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.sql.names import refuse_unknown, sql_text
from dynamic_tables.sql.rules import ExpressionBinder, Rule
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Expression, Literal
from dynamic_tables.values.functions import UNITS_US, as_type, call
from dynamic_tables.values.types import INTERVAL, TEXT, TIMESTAMP
from pruning.errors import InputError

# The other names of each unit of time.
UNITS: Mapping[str, tuple[str, ...]] = {
    "year": ("y", "yy", "yyy", "yyyy", "yr", "years", "yrs"),
    "quarter": ("q", "qtr", "qtrs", "quarters"),
    "month": ("mm", "mon", "mons", "months"),
    "week": ("w", "wk", "weeks"),
    "day": ("d", "dd", "days"),
    "hour": ("h", "hh", "hr", "hours", "hrs"),
    "minute": ("m", "mi", "min", "minutes", "mins"),
    "second": ("s", "sec", "seconds", "secs"),
    "millisecond": ("ms", "msec", "milliseconds"),
    "microsecond": ("us", "usec", "microseconds"),
}
# The other names of each part of a time. Weeks are those of ISO 8601, which is Snowflake's default too.
PARTS: Mapping[str, tuple[str, ...]] = {
    **{unit: UNITS[unit] for unit in ("year", "quarter", "month", "hour", "minute", "second")},
    "day": (*UNITS["day"], "dayofmonth"),
    "week": (
        *("w", "wk", "weekofyear", "woy", "wy"),
        *("weekiso", "week_iso", "weekofyeariso", "weekofyear_iso"),
    ),
    "dayofweek": ("weekday", "dow", "dw"),
    "dayofweekiso": ("weekday_iso", "dow_iso", "dw_iso", "dayofweek_iso"),
    "dayofyear": ("yearday", "doy", "dy"),
    "yearofweek": ("yearofweekiso",),
    "nanosecond": ("ns", "nsec", "nanosec", "nsecond", "nanoseconds", "nanosecs", "nseconds"),
    "epoch_second": ("epoch", "epoch_seconds"),
    "epoch_millisecond": ("epoch_milliseconds",),
    "epoch_microsecond": ("epoch_microseconds",),
    "epoch_nanosecond": ("epoch_nanoseconds",),
}


def chosen_name(written: str, names: Mapping[str, tuple[str, ...]], what: str) -> str:
    """Return the first of the names of a unit or part.

    Raises:
        InputError: There is none of this name.
    """
    name = written.lower()
    for first, others in names.items():
        if name == first or name in others:
            return first
    raise InputError(f"{written} is no {what}: write one of {', '.join(names)}")


def unit_of(node: exp.Expression) -> Expression:
    """Return the unit of a function of time."""
    written_unit = node.args.get("unit")
    if written_unit is not None and not isinstance(written_unit, (exp.Var, exp.Literal)):
        raise Refused(f"the unit {sql_text(written_unit)}", "is not supported")
    return Literal(chosen_name("day" if written_unit is None else written_unit.name, UNITS, "unit"), TEXT)


def bind_date_trunc(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """Bind DATE_TRUNC."""
    return call("date_trunc", unit_of(node), as_moment(binder.bind(node.this)))


def as_moment(expression: Expression) -> Expression:
    """Cast text to a timestamp; leave other expressions as they are."""
    return as_type(expression, TIMESTAMP) if expression.type == TEXT else expression


def bind_datediff(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """Bind DATEDIFF, whose tree has the later time first."""
    return call("datediff", unit_of(node), binder.bind(node.expression), binder.bind(node.this))


def dateadd_rule(sign: str) -> Rule:
    """Return the rule of DATEADD, or of its inverse."""

    def run(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        count = binder.bind(node.expression)
        count = count if sign == "+" else call("negate", count)
        return call("dateadd", unit_of(node), count, as_moment(binder.bind(node.this)))

    return run


def bind_extract(binder: ExpressionBinder, node: exp.Extract) -> Expression:
    """Bind EXTRACT and DATE_PART."""
    refuse_unknown(node, frozenset({"this", "expression"}), "EXTRACT")
    return call(chosen_name(node.name, PARTS, "part of a time"), binder.bind(node.expression))


def bind_interval(binder: ExpressionBinder, node: exp.Interval) -> Expression:
    """Bind a length of time."""
    return Literal(interval_us(node), INTERVAL)


def interval_us(node: exp.Interval) -> int:
    """Return a length of time in units of fixed length, in microseconds.

    Raises:
        Refused: It is not of such a unit.
    """
    written_unit = node.args.get("unit")
    count, name = (
        (node.name, written_unit.name.lower().removesuffix("s")) if written_unit is not None else ("", "")
    )
    if name not in UNITS_US or not count.lstrip("-").isdigit():
        raise Refused(f"{sql_text(node)}", "is not supported: write a whole number of weeks to microseconds")
    return int(count) * UNITS_US[name]
