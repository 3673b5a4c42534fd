"""`*`: the products of the ends of two ranges, as few of them as the signs allow."""

from pruning.expressions.trees import Arithmetic
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.operands import (
    may_be_any_infinity,
    may_be_nan,
    may_be_zero,
    never_negative,
    never_positive,
    results_in_mode,
)
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound


def product_range(build: Builder, node: Arithmetic, left: Range, right: Range) -> Range:
    """Return the range of the products of two sides.

    Claim     Each row's product lies in the range; rows on which it raises have none.
    Premises  The sides lie in their ranges; rounding is monotone (axiom ROUNDING).
    Proof     (1) For one b the product grows with a where b >= 0 and falls where b <= 0, so it is least
                  at an end of a; which, a known sign of b tells. A literal side leaves one candidate.
              (2) For that end the product is least at an end of b; which, the sign of a's end tells.
              (3) A candidate that is not needed is left out, not only outdone: its product might not
                  fit although the least one does.
              (4) NaN comes from NaN, or from zero times infinity.
              (5) Where both bounds fit every result does; else see `operands.results_in_mode`.
    """
    values = build.and_(left.may_value, right.may_value)
    nan = build.flag(False)
    if node.type.floating:
        undefined = build.or_(
            build.and_(may_be_zero(build, left), may_be_any_infinity(build, right)),
            build.and_(may_be_zero(build, right), may_be_any_infinity(build, left)),
        )
        nan = build.or_(may_be_nan(build, left, right), undefined)  # (4)
    product = Range(
        lower=_least(build, node, left, right),
        upper=_greatest(build, node, left, right),
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=nan,
        may_value=values,
    )
    return results_in_mode(build, product, node.mode)  # (5)


def _least(build: Builder, node: Arithmetic, left: Range, right: Range) -> Bound:
    """Return the least product of the ends."""

    def of(end: Bound) -> Bound:
        """Return the least product of an end of the left side."""
        other = build.choose(never_negative(build, end), right.lower, right.upper)  # (2)
        return build.multiply(end, other, node.type)

    at_lower = build.choose(never_positive(build, right.upper), left.upper, left.lower)  # (1), (3)
    at_upper = build.choose(never_negative(build, right.lower), left.lower, left.upper)
    return build.least(of(at_lower), of(at_upper))


def _greatest(build: Builder, node: Arithmetic, left: Range, right: Range) -> Bound:
    """Return the greatest product of the ends."""

    def of(end: Bound) -> Bound:
        """Return the greatest product of an end of the left side."""
        other = build.choose(never_negative(build, end), right.upper, right.lower)  # (2)
        return build.multiply(end, other, node.type)

    at_lower = build.choose(never_negative(build, right.lower), left.upper, left.lower)  # (1), (3)
    at_upper = build.choose(never_positive(build, right.upper), left.lower, left.upper)
    return build.greatest(of(at_lower), of(at_upper))
