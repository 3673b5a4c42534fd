"""Literals and columns."""

import math
from dataclasses import replace

from pruning.expressions.trees import Column, Expression, Literal
from pruning.expressions.types import BOOLEAN
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.sets.cuts import EMPTY, of_values
from pruning.rules.sets.outcomes import Outcomes, constant
from pruning.rules.sets.truths import Truths


def literal_range(analysis: Analysis, node: Expression, _: Environment) -> Range:
    """Return the range of one value."""
    assert isinstance(node, Literal)
    build, value = analysis.build, node.value
    if value is not None and not node.type.has_bounds:
        return ranges.anything(build, node.type)
    nan = isinstance(value, float) and math.isnan(value)
    bound = build.bound(None if nan else value, node.type)
    return Range(
        lower=bound,
        upper=bound,
        may_null=build.flag(value is None),
        may_nan=build.flag(nan),
        may_value=build.flag(value is not None and not nan),
        cuts=EMPTY if nan or value is None else of_values([value], node.type),
    )


def literal_outcomes(analysis: Analysis, node: Expression) -> Outcomes | None:
    """Return the outcomes of a boolean constant, which has no subject."""
    assert isinstance(node, Literal)
    return constant(node.value) if node.type == BOOLEAN else None


def column_range(analysis: Analysis, node: Expression, _: Environment) -> Range:
    """Return the range of a column that the block's metadata gives."""
    assert isinstance(node, Column)
    return analysis.metadata_range(node)


def assume_column(
    analysis: Analysis, node: Expression, environment: Environment, truths: Truths
) -> Environment:
    """Narrow a boolean column to the truth values."""
    assert isinstance(node, Column)
    build = analysis.build
    range_ = analysis.range(node, environment)
    if node.type != BOOLEAN:
        return environment
    if Truths.NULL not in truths:
        range_ = ranges.not_null(build, range_)
    if Truths.TRUE not in truths:
        range_ = ranges.within(build, range_, build.bound(False, BOOLEAN), build.bound(False, BOOLEAN))
    if Truths.FALSE not in truths:
        range_ = ranges.within(build, range_, build.bound(True, BOOLEAN), build.bound(True, BOOLEAN))
    if truths is Truths.NULL:
        range_ = replace(range_, may_value=build.flag(False))
    return analysis.constrain(node, environment, range_)


LITERAL = Rule(range=literal_range, outcomes=literal_outcomes)
COLUMN = Rule(range=column_range, assume=assume_column)
