"""IN a list ([M] 5.3.4): literal members as intervals, others as an OR of equalities."""

import math
from dataclasses import dataclass, replace

from pruning.expressions.trees import (
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    Literal,
    Or,
    type_of,
)
from pruning.expressions.types import Value
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.primitives import Intervals, intervals_of
from pruning.rules.program import Flag
from pruning.rules.ranges import Range
from pruning.rules.truths import Truths


@dataclass(frozen=True, slots=True)
class Members:
    """A list of literals: its values as intervals, and whether NULL or NaN is in it."""

    intervals: Intervals
    null: bool
    nan: bool


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether `operand IN (members)` may be TRUE, FALSE or NULL.

    Claim     If a row gives IN this truth value, the flag holds.
    Premises  Each row of the operand is NULL, NaN or a value inside its bounds.
    Proof     (1) TRUE only if a member lies inside the bounds, or NaN is a member and may be a row.
              (2) FALSE only if some value inside the bounds is no member, and no member is NULL.
              (3) NULL only if the operand is, or a member is NULL and (2) or NaN is not a member.
    """
    assert isinstance(node, In)
    members = _members(node)
    if members is None:
        return analysis.may(_as_equalities(node), environment, truth)
    build, known = analysis.build, analysis.range(node.operand, environment)
    if truth is Truths.TRUE:  # (1)
        meets = build.maybe_meets(known.lower, known.upper, members.intervals)
        return build.or_(
            build.and_(known.may_value, meets), build.and_(known.may_nan, build.flag(members.nan))
        )
    leaves = build.maybe_leaves(known.lower, known.upper, members.intervals)
    missed = build.or_(
        build.and_(known.may_value, leaves), build.and_(known.may_nan, build.flag(not members.nan))
    )
    if truth is Truths.FALSE:  # (2)
        return build.flag(False) if members.null else missed
    return build.or_(known.may_null, missed) if members.null else known.may_null  # (3)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """TRUE puts a column between the least and the greatest member; FALSE makes it not NULL."""
    assert isinstance(node, In)
    members = _members(node)
    if members is None:
        return analysis.assume(_as_equalities(node), environment, truths)
    if not isinstance(node.operand, Column):
        return environment
    known = analysis.range(node.operand, environment)
    pieces = [_where(analysis, known, members, truth) for truth in truths.members()]
    return environment.with_column(node.operand.name, ranges.union_of(analysis.build, pieces))


def _where(analysis: Analysis, known: Range, members: Members, truth: Truths) -> Range:
    build, never = analysis.build, analysis.build.flag(False)
    if truth is Truths.NULL:
        return known if members.null else ranges.only_null(build, known)
    known = ranges.not_null(build, known)
    if truth is Truths.FALSE:
        return replace(known, may_nan=never) if members.nan else known
    if not members.nan:
        known = replace(known, may_nan=never)
    if not members.intervals:
        return replace(known, may_value=never)
    least = build.bound(members.intervals[0][0], known.type)
    greatest = build.bound(members.intervals[-1][1], known.type)
    return ranges.within(build, known, least, greatest)


def _members(node: In) -> Members | None:
    """The members where all are literals of the operand's type or NULL, else None."""
    type_ = type_of(node.operand)
    literals = [member for member in node.members if isinstance(member, Literal)]
    alike = all(literal.value is None or literal.type == type_ for literal in literals)
    if len(literals) < len(node.members) or not alike or not type_.known:
        return None
    values = {_positive_zero(literal.value) for literal in literals if literal.value is not None}
    numbers = {value for value in values if not _is_nan(value)}
    return Members(
        intervals_of(numbers, type_),
        null=any(literal.value is None for literal in literals),
        nan=len(numbers) < len(values),
    )


def _positive_zero(value: Value) -> Value:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _as_equalities(node: In) -> Expression:
    return Or(tuple(Compare(Comparison.EQUAL, node.operand, member) for member in node.members))


IN = Rule(may=may, assume=assume)
