"""Which rule knows which class of expression."""

from collections.abc import Mapping

from pruning.expressions import trees
from pruning.rules import (
    arithmetic,
    boolean,
    cast,
    comparison,
    conditional,
    leaves,
    membership,
    null_test,
    prefix,
)
from pruning.rules.analysis import Rule, unknown_rule

RULES: Mapping[type, Rule] = {
    trees.Column: leaves.COLUMN,
    trees.Literal: leaves.LITERAL,
    trees.Compare: comparison.COMPARE,
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
}
