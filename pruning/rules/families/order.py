"""The order of two expressions: the sign -1, 0 or 1 of their comparison, row by row."""

from collections.abc import Iterator

from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import Expression, Literal, Order
from pruning.expressions.types import BYTE
from pruning.rules.analysis import ranges, sides
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.analysis.sides import ALL_SIGNS
from pruning.rules.families.choices import Choice, choices, is_correlated_choice
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Flag
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import EMPTY, FULL
from pruning.rules.sets.outcomes import ValueSet


def canonical_order(analysis: Analysis, left: Expression, right: Expression) -> tuple[Order, bool]:
    """Return the order of two expressions in its canonical form, and whether that swaps them."""
    first, second = analysis.ordinal(left), analysis.ordinal(right)
    turned = second < first
    return (Order(right, left), True) if turned else (Order(left, right), False)


def order_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range from -1 to 1; `order_may_lie` decides more."""
    assert isinstance(node, Order)
    build = analysis.build
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    return Range(
        lower=build.bound(-1, BYTE),
        upper=build.bound(1, BYTE),
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=build.flag(False),
        may_value=sides.may_lie(build, left, right, ALL_SIGNS),
        cuts=cuts.of_values(ALL_SIGNS, BYTE),
    )


def order_may_lie(analysis: Analysis, node: Expression, environment: Environment, values: ValueSet) -> Flag:
    """Return the flag that the order of the sides may be in a set of signs.

    Claim     If on a row the order is in the set, the flag holds.
    Premises  Each row of either side is NULL, NaN or a value inside its bounds, as its Range says.
    Proof     (1) The order is a sign where neither side is NULL (`sides.may_lie`), and NULL elsewhere.
              (2) An order with itself is 0, or NULL where it is.
              (3) The order of a choice is the order of what is chosen (`choices`).
    """
    assert isinstance(node, Order)
    build = analysis.build
    if node.left == node.right and is_repeatable(node.left):  # (2)
        same = values.cuts.holds(0)
        return analysis.may_lie(
            node.left, environment, ValueSet(FULL if same else EMPTY, null=values.null, nan=same)
        )
    order_range = analysis.values(node, environment)
    signs = frozenset(sign for sign in ALL_SIGNS if order_range.cuts.holds(sign) and values.cuts.holds(sign))
    left, right = analysis.range(node.left, environment), analysis.range(node.right, environment)
    plain = build.or_(
        sides.may_lie(build, left, right, signs),  # (1)
        order_range.may_null if values.null else build.flag(False),
    )
    kept = ValueSet(cuts.of_values(signs, BYTE), null=values.null)
    return build.and_(plain, *_order_of_each_choice(analysis, node, environment, kept))  # (3)


def _order_of_each_choice(
    analysis: Analysis, node: Order, environment: Environment, values: ValueSet
) -> Iterator[Flag]:
    """Yield the flag evaluated for each choice of a side."""
    for side, other, turn in ((node.left, node.right, False), (node.right, node.left, True)):
        if is_correlated_choice(side, other):
            yield analysis.build.or_(
                *(
                    analysis.build.and_(
                        choice.reached, _order_lies(analysis, choice, other, values, turn=turn)
                    )
                    for choice in choices(analysis, side, environment)
                )
            )
            return


def _order_lies(
    analysis: Analysis, choice: Choice, other: Expression, values: ValueSet, *, turn: bool
) -> Flag:
    """Return the flag that the order of one choice and the other side may be in the set."""
    subject, turned = canonical_order(analysis, choice.value, other)
    wanted = _mirror(values) if turn is not turned else values
    return analysis.may_lie(subject, choice.environment, wanted)


def _mirror(values: ValueSet) -> ValueSet:
    """Return the set with the signs swapped."""
    signs = {-sign for sign in ALL_SIGNS if values.cuts.holds(sign)}
    return ValueSet(cuts.of_values(signs, BYTE), null=values.null)


def constrain_order(
    analysis: Analysis, node: Expression, environment: Environment, narrowed: Range
) -> Environment:
    """Narrow both sides to rows where they compare by one of the signs left.

    Claim     Each such row's value of a side lies in the range that this side is narrowed to.
    Premises  The other side's range encloses its values on the rows of the environment.
    Proof     The rows are those where the order is a sign, as the comparison that is TRUE there
              narrows them (`sides.where_compared`), and those where it is NULL (`sides.narrow_by_null`).
    """
    assert isinstance(node, Order)
    signs = frozenset(sign for sign in ALL_SIGNS if narrowed.cuts.holds(sign))
    null = narrowed.may_null != analysis.build.flag(False)
    turned = frozenset(-sign for sign in signs)
    for side, other, wanted in ((node.left, node.right, signs), (node.right, node.left, turned)):
        own, others = analysis.values(side, environment), analysis.range(other, environment)
        if not isinstance(side, Literal) and own.type == others.type:
            pieces = _pieces(analysis.build, own, others, wanted, null=null)
            if pieces:
                united = ranges.union_of(analysis.build, pieces)
                environment = analysis.constrain(side, environment, united)
    return environment


def _pieces(build: Builder, own: Range, other: Range, signs: frozenset[int], *, null: bool) -> list[Range]:
    """Return the parts of one side: its rows where the order is NULL, and where it is one of the signs."""
    pieces = [sides.narrow_by_null(build, own, other)] if null else []
    return [*pieces, sides.narrow_by_signs(build, own, other, signs)] if signs else pieces


ORDER = Rule(range=order_range, constrain=constrain_order, may_lie=order_may_lie)
