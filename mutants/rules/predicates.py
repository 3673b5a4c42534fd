"""Mistakes in the rules of predicates, choices and leaves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mutants.rules.rule_mutant import RuleMutant
from pruning.expressions import trees
from pruning.expressions.trees import (
    And,
    Case,
    Coalesce,
    Compare,
    Comparison,
    Function,
    In,
    Literal,
    Not,
)
from pruning.expressions.types import BYTE
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families import (
    boolean,
    comparison,
    conditional,
    conditions,
    leaves,
    order,
)
from pruning.rules.program.operations import Flag
from pruning.rules.sets import cuts
from pruning.rules.sets.outcomes import NOTHING, NUMBERS, Outcomes, ValueSet
from pruning.rules.sets.truths import Truths


def _may_differ_only_if_both_bounds_do(
    analysis: Analysis, node: Any, environment: Environment, truth: Truths
) -> Flag:
    """`<>` read as "neither bound is the literal"; only min = max = literal proves it false."""
    if node.operator is not Comparison.EQUAL or truth is not Truths.FALSE:
        return comparison.may_compare(analysis, node, environment, truth)
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return build.and_(build.maybe_less(left.lower, right.lower), build.maybe_less(right.upper, left.upper))


def _nan_is_above_nothing(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """NaN left out of `>`: it is above every number in Spark."""
    flag = comparison.may_compare(analysis, node, environment, truth)
    if node.operator is not Comparison.GREATER or truth is not Truths.TRUE:
        return flag
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return build.and_(flag, build.maybe_less(right.lower, left.upper))


def _narrows_past_nan(analysis: Analysis, node: Any, environment: Environment, truths: Truths) -> Environment:
    """Narrows `x < y` by y's upper bound although y may be NaN."""
    if truths is not Truths.TRUE or node.operator is not Comparison.LESS:
        return comparison.assume_comparison(analysis, node, environment, truths)
    other = analysis.range(node.right, environment)
    known = analysis.range(node.left, environment)
    narrowed = ranges.within(analysis.build, known, analysis.build.unknown(known.type), other.upper)
    return analysis.constrain(node.left, environment, narrowed)


def _narrowing_leaks(analysis: Analysis, node: Any, environment: Environment, truth: Truths) -> Flag:
    """Uses the rows where AND is TRUE to tell whether it may be FALSE."""
    for operand in node.operands:
        environment = analysis.assume(operand, environment, Truths.TRUE)
    return boolean.may_connective(analysis, node, environment, truth)


def _not_swaps_null(analysis: Analysis, node: Any) -> Outcomes:
    """NOT of "never TRUE" taken for "always TRUE"; it may be NULL."""
    return replace(boolean.not_outcomes(analysis, node), null=NOTHING)


def _null_test_ignores_nan(analysis: Analysis, node: Any) -> Outcomes:
    """IS NOT NULL needs a value inside the bounds; NaN is one outside."""
    return replace(conditions.null_outcomes(analysis, node), false=NUMBERS)


def _in_ignores_null_member(analysis: Analysis, node: Any) -> Outcomes | None:
    """IN (..., NULL) taken as FALSE where nothing matches; it is NULL."""
    members = tuple(member for member in node.members if getattr(member, "value", 0) is not None)
    return conditions.in_outcomes(analysis, In(node.operand, members))


def _constant_is_above_nan(analysis: Analysis, node: Any) -> Outcomes | None:
    """NaN left out of the values above a constant, as min/max leave it out."""
    found = comparison.comparison_outcomes(analysis, node)
    return None if found is None else replace(found, true=replace(found.true, nan=False))


def _equal_to_itself_where_null(analysis: Analysis, node: Any) -> Outcomes | None:
    """`a = a` taken for TRUE; it is NULL where a is."""
    found = comparison.comparison_outcomes(analysis, node)
    return None if found is None else replace(found, null=NOTHING)


def _order_without_nan(analysis: Analysis, node: Any, environment: Environment, values: ValueSet) -> Flag:
    """The order of two floats by their bounds alone; NaN is above each."""
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    flag = order.order_may_lie(analysis, node, environment, values)
    if values.null or values.cuts != cuts.of_values([1], BYTE):
        return flag
    return build.and_(flag, build.maybe_less(right.lower, left.upper))


def _chooses_the_first(analysis: Analysis, node: Any, environment: Environment, values: ValueSet) -> Flag:
    """GREATEST taken for its first operand."""
    first = next((side.operands[0] for side in (node.left, node.right) if isinstance(side, trees.Call)), None)
    if first is None:
        return order.order_may_lie(analysis, node, environment, values)
    sides = (first if isinstance(side, trees.Call) else side for side in (node.left, node.right))
    return order.order_may_lie(analysis, trees.Order(*sides), environment, values)


def _null_order_is_none(
    analysis: Analysis, node: Any, environment: Environment, narrowed: Range
) -> Environment:
    """Narrows both sides to values where the order may be NULL as well."""
    never = replace(narrowed, may_null=analysis.build.flag(False))
    return order.constrain_order(analysis, node, environment, never)


def _narrows_by_the_first_branch(
    analysis: Analysis, node: Any, environment: Environment, narrowed: Range
) -> Environment:
    """Takes the first branch of IF to lie in the range that IF lies in."""
    condition, value = node.branches[0]
    return analysis.constrain(value, analysis.assume(condition, environment, Truths.TRUE), narrowed)


def _else_forgets_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """ELSE looked at only where the condition may be FALSE; NULL leads there too."""
    ((condition, value),) = node.branches
    build = analysis.build
    pieces = [
        ranges.only_where(
            build, analysis.range(branch, environment), analysis.may(condition, environment, truth)
        )
        for branch, truth in ((value, Truths.TRUE), (node.otherwise, Truths.FALSE))
    ]
    return ranges.union_of(build, pieces)


def _else_narrowed_to_false(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """ELSE narrowed by NOT condition; rows where the condition is NULL lie outside."""
    ((condition, value),) = node.branches
    outside = analysis.assume(condition, environment, Truths.FALSE)
    inside = analysis.assume(condition, environment, Truths.TRUE)
    pieces = [analysis.range(value, inside), analysis.range(node.otherwise, outside)]
    return ranges.union_of(analysis.build, pieces)


def _coalesce_is_first(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """COALESCE taken for its first operand."""
    return analysis.range(node.operands[0], environment)


def _exists_is_never_true_of_some(
    analysis: Analysis, node: Any, environment: Environment, truth: Truths
) -> Flag:
    """exists read as forall: every element must satisfy the body."""
    build = analysis.build
    flag = conditions.may_hold_of_elements(analysis, node, environment, truth)
    if truth is not Truths.TRUE:
        return flag
    return build.and_(flag, build.not_(analysis.may(node.body, environment, Truths.FALSE)))


def _empty_arrays_are_forgotten(
    analysis: Analysis, node: Any, environment: Environment, truth: Truths
) -> Flag:
    """FALSE only where the body may be FALSE of an element; an empty array has none."""
    return analysis.may(node.body, environment, truth)


def _element_narrowed(analysis: Analysis, node: Any, environment: Environment, truths: Truths) -> Environment:
    """Takes what one element satisfies to hold for the whole array."""
    return analysis.assume(node.body, environment, truths)


def _item_is_not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes each array to have the element."""
    return replace(
        conditions.item_range(analysis, node, environment),
        may_null=analysis.range(node.operands[0], environment).may_null,
    )


def _map_value_is_not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes each map to have the key."""
    return replace(
        conditions.map_value_range(analysis, node, environment),
        may_null=analysis.range(node.operands[0], environment).may_null,
    )


def _value_of_any_key(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """The range of the values as a condition on one key narrowed it."""
    values = analysis.range(node.operands[0], environment)
    return replace(values, may_null=analysis.build.flag(True))


def _narrow_all_values(
    analysis: Analysis, node: Any, environment: Environment, narrowed: Range
) -> Environment:
    """Takes a condition on the value of one key to hold for all keys."""
    return analysis.constrain(node.operands[0], environment, narrowed)


def _strictly_inside(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes a key that equals a bound of the keys to be missing."""
    build, (_, keys, sought) = analysis.build, node.operands
    held, key = analysis.range(keys, environment), analysis.range(sought, environment)
    value = conditions.map_value_range(analysis, node, environment)
    inside = build.and_(build.maybe_less(held.lower, key.upper), build.maybe_less(key.lower, held.upper))
    return replace(value, may_value=build.and_(value.may_value, inside))


def _nan_is_between(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes the bounds of keys to hold for NaN too."""
    build, (_, keys, sought) = analysis.build, node.operands
    held, key = analysis.range(keys, environment), analysis.range(sought, environment)
    value = conditions.map_value_range(analysis, node, environment)
    inside = build.and_(
        key.may_value, build.maybe_at_most(held.lower, key.upper), build.maybe_at_most(key.lower, held.upper)
    )
    return replace(value, may_value=build.and_(value.may_value, inside))


def _elements_are_not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Elements taken never to be NULL."""
    return ranges.not_null(analysis.build, conditions.element_range(analysis, node, environment))


def _literal_null_is_value(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A NULL literal that is never NULL."""
    return replace(leaves.literal_range(analysis, node, environment), may_null=analysis.build.flag(False))


def _column_without_nan(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """A footer's bounds taken to bound NaN too."""
    return replace(leaves.column_range(analysis, node, environment), may_nan=analysis.build.flag(False))


def _opaque_not_null(analysis: Analysis, node: Any, environment: Environment) -> Range:
    """Takes an expression that no rule knows never to be NULL."""
    return ranges.not_null(analysis.build, ranges.anything(analysis.build, node.type))


MUTANTS: Mapping[str, RuleMutant] = {
    "<> by both bounds": RuleMutant(
        Compare, Rule(may=_may_differ_only_if_both_bounds_do), "comparison", "= of columns"
    ),
    "> without NaN": RuleMutant(Compare, Rule(may=_nan_is_above_nothing), "comparison", "> of floats"),
    "narrowing past NaN": RuleMutant(
        Compare, Rule(may=comparison.may_compare, assume=_narrows_past_nan), "boolean", "floats narrowed"
    ),
    "a constant is above NaN": RuleMutant(
        Compare, Rule(outcomes=_constant_is_above_nan), "comparison", "> of float and number"
    ),
    "order without NaN": RuleMutant(
        trees.Order,
        replace(order.ORDER, may_lie=_order_without_nan),
        "order",
        "floats",
    ),
    "GREATEST chooses the first": RuleMutant(
        trees.Order,
        replace(order.ORDER, may_lie=_chooses_the_first),
        "order",
        "GREATEST and an operand",
    ),
    "narrowing past a NULL order": RuleMutant(
        trees.Order,
        replace(order.ORDER, constrain=_null_order_is_none),
        "boolean",
        "two orders of two columns",
    ),
    "equal to itself where NULL": RuleMutant(
        Compare, Rule(outcomes=_equal_to_itself_where_null), "comparison", "= of column and itself"
    ),
    "IF narrows as its first branch": RuleMutant(
        Case,
        replace(conditional.CASE, constrain=_narrows_by_the_first_branch),
        "conditional",
        "IF above a value",
    ),
    "AND leaks": RuleMutant(And, Rule(may=_narrowing_leaks), "boolean", "AND that narrows"),
    "OR leaks": RuleMutant(trees.Or, Rule(may=_narrowing_leaks), "boolean", "OR that narrows"),
    "NOT without NULL": RuleMutant(Not, Rule(outcomes=_not_swaps_null), "boolean", "NOT"),
    "IS NULL without NaN": RuleMutant(
        trees.IsNull, Rule(outcomes=_null_test_ignores_nan), "null_test", "IS NULL of a float"
    ),
    "IN without NULL": RuleMutant(In, Rule(outcomes=_in_ignores_null_member), "membership", "IN with NULL"),
    "ELSE without NULL": RuleMutant(Case, Rule(range=_else_forgets_null), "conditional", "IF"),
    "ELSE narrowed": RuleMutant(Case, Rule(range=_else_narrowed_to_false), "conditional", "CASE nested"),
    "COALESCE is first": RuleMutant(Coalesce, Rule(range=_coalesce_is_first), "conditional", "COALESCE"),
    "exists for all": RuleMutant(
        trees.Quantified, Rule(may=_exists_is_never_true_of_some), "quantifiers", "exists"
    ),
    "no empty arrays": RuleMutant(
        trees.Quantified, Rule(may=_empty_arrays_are_forgotten), "quantifiers", "exists"
    ),
    "one element for all": RuleMutant(
        trees.Quantified,
        replace(conditions.QUANTIFIED, assume=_element_narrowed),
        "quantifiers",
        "two elements",
    ),
    **{
        f"{function.value} never NULL": RuleMutant(
            function, Rule(range=_item_is_not_null), "quantifiers", subject
        )
        for function, subject in (
            (Function.ELEMENT_AT, "an item"),
            (Function.ARRAY_MAX, "the greatest item"),
            (Function.ARRAY_MIN, "the least item"),
        )
    },
    **{
        name: RuleMutant(Function.MAP_VALUE, Rule(range=range_), "quantifiers", subject)
        for name, range_, subject in (
            ("map_value never NULL", _map_value_is_not_null, "the value of a key"),
            ("no key equals a bound of keys", _strictly_inside, "the value of a key >"),
            ("no key is NaN", _nan_is_between, "the value of a float"),
        )
    },
    "one key for all": RuleMutant(
        Function.MAP_VALUE,
        Rule(range=_value_of_any_key, constrain=_narrow_all_values),
        "quantifiers",
        "the values of two keys",
    ),
    "element never NULL": RuleMutant(
        trees.Element, Rule(range=_elements_are_not_null), "quantifiers", "element"
    ),
    "NULL is a value": RuleMutant(Literal, Rule(range=_literal_null_is_value), "leaves", "NULL"),
    "column without NaN": RuleMutant(trees.Column, Rule(range=_column_without_nan), "leaves", "float column"),
    "opaque never NULL": RuleMutant(trees.Opaque, Rule(range=_opaque_not_null), "leaves", "opaque"),
}
