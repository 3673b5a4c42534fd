"""Which rule knows which class of expression, and which function."""

from collections.abc import Mapping

from pruning.expressions import trees
from pruning.expressions.trees import Function
from pruning.rules import (
    arithmetic,
    boolean,
    cast,
    comparison,
    conditional,
    elementary,
    extremes,
    leaves,
    magnitude,
    membership,
    null_test,
    order,
    prefix,
    rounding,
)
from pruning.rules.analysis import Rule, RuleKey, unknown_rule

RULES: Mapping[RuleKey, Rule] = {
    trees.Column: leaves.COLUMN,
    trees.Literal: leaves.LITERAL,
    trees.Compare: comparison.COMPARE,
    trees.Order: order.ORDER,
    trees.And: boolean.CONNECTIVE,
    trees.Or: boolean.CONNECTIVE,
    trees.Not: boolean.NOT,
    trees.IsNull: null_test.IS_NULL,
    trees.In: membership.IN,
    trees.StartsWith: prefix.PREFIX,
    trees.Like: prefix.PREFIX,
    trees.Case: conditional.CASE,
    trees.Coalesce: conditional.COALESCE,
    trees.Arithmetic: arithmetic.ARITHMETIC,
    trees.Cast: cast.CAST,
    trees.Opaque: unknown_rule(),
    Function.NEGATE: magnitude.NEGATE,
    Function.ABS: magnitude.ABS,
    Function.SIGN: magnitude.SIGN,
    Function.FLOOR: rounding.ROUNDING,
    Function.CEIL: rounding.ROUNDING,
    Function.ROUND: rounding.ROUNDING,
    Function.BROUND: rounding.ROUNDING,
    Function.SQRT: elementary.SQRT,
    Function.EXP: elementary.EXP,
    Function.LN: elementary.LOGARITHM,
    Function.LOG10: elementary.LOGARITHM,
    Function.LOG2: elementary.LOGARITHM,
    Function.LOG1P: elementary.LOGARITHM,
    Function.LOG: elementary.LOG,
    Function.POWER: elementary.POWER,
    Function.GREATEST: extremes.GREATEST,
    Function.LEAST: extremes.LEAST,
}
