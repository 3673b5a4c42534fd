"""GREATEST and LEAST of several operands: NULLs are skipped, NaN is above every number."""

from functools import reduce

from pruning.expressions.trees import Call, Expression, type_of
from pruning.expressions.types import NULL
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag


def greatest_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the greatest of the operands that are not NULL.

    Claim     Each row's value lies in the range.
    Premises  Each operand lies in its range.
    Proof     (1) It is NULL only where every operand is; NaN only where one is; a value only where
                  one is and the others are values, NULL, or nothing more.
              (2) A value of it is a value of some operand: at most the greatest of the upper bounds
                  of those operands that may be values.
              (3) It is at least each operand that is not NULL: at least the lower bound of one that
                  never is (where the result is a value, that operand is no NaN); and, whatever is
                  NULL, at least the smallest lower bound of those that may be values.
    """
    build, operands = _operands(analysis, node, environment)
    if operands is None:
        return ranges.anything(build, type_of(node))
    certain = [_bound_where(build, build.not_(operand.may_null), operand.lower) for operand in operands]
    lowest = ranges.union_of(build, operands)  # (2)
    return Range(
        lower=reduce(build.greatest_known, certain, lowest.lower),  # (3)
        upper=lowest.upper,
        may_null=_may_all_null(build, operands),
        may_nan=lowest.may_nan,
        may_value=_may_all_be_no_nan(build, operands),  # (1)
    )


def least_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the least of the operands that are not NULL.

    Claim     Each row's value lies in the range.
    Premises  Each operand lies in its range.
    Proof     (1) It is NULL only where every operand is; NaN only where every one is NaN or NULL and
                  one is NaN; a value only where one is.
              (2) A value of it is a value of some operand: at least the smallest of the lower bounds
                  of those operands that may be values.
              (3) It is at most each operand that is a value: at most the upper bound of one that
                  always is; and at most the greatest upper bound of those that may be values.
    """
    build, operands = _operands(analysis, node, environment)
    if operands is None:
        return ranges.anything(build, type_of(node))
    certain = [
        _bound_where(build, build.not_(build.or_(operand.may_null, operand.may_nan)), operand.upper)
        for operand in operands
    ]
    widest = ranges.union_of(build, operands)  # (2)
    no_value = (build.or_(operand.may_nan, operand.may_null) for operand in operands)
    return Range(
        lower=widest.lower,
        upper=reduce(build.least_known, certain, widest.upper),  # (3)
        may_null=_may_all_null(build, operands),
        may_nan=build.and_(widest.may_nan, *no_value),
        may_value=widest.may_value,  # (1)
    )


def _operands(
    analysis: Analysis, node: Expression, environment: Environment
) -> tuple[Builder, list[Range] | None]:
    """Return the ranges of the operands; None if their type is not known, or they have several."""
    assert isinstance(node, Call)
    build = analysis.build
    operands = [analysis.range(operand, environment) for operand in node.operands]
    if not node.type.has_bounds or any(range_.type not in (node.type, NULL) for range_ in operands):
        return build, None
    void = ranges.only_null(build, ranges.anything(build, node.type))
    return build, [void if range_.type == NULL else range_ for range_ in operands]


def _bound_where(build: Builder, flag: Flag, bound: Bound) -> Bound:
    """Return the bound where the flag holds; unknown elsewhere."""
    return build.choose(flag, bound, build.unknown(bound.type))


def _may_all_null(build: Builder, operands: list[Range]) -> Flag:
    """Return the flag that all operands may be NULL."""
    return build.and_(*(operand.may_null for operand in operands))


def _may_all_be_no_nan(build: Builder, operands: list[Range]) -> Flag:
    """Return the flag that one operand may be a value, and each a value or NULL."""
    any_value = build.or_(*(operand.may_value for operand in operands))
    return build.and_(any_value, *(build.or_(operand.may_value, operand.may_null) for operand in operands))


GREATEST = Rule(range=greatest_range)
LEAST = Rule(range=least_range)
