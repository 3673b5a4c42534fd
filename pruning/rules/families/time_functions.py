"""Functions of dates and times that never decrease between the transitions of a zone ([M] 5.3.7).

`date_trunc('month', t) = c` and `year(d) IN (..)` become predicates on the column itself: the preimage of
the set is computed once, piece by piece, when the predicate is analysed. For a comparison of two columns
only the range of each function is used.
"""

from dataclasses import replace

from pruning.expressions.trees import Call, Cast, Expression, Function, Literal, type_of
from pruning.expressions.types import DATE, LONG, TIMESTAMP, TIMESTAMP_NTZ, Type
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.families.operands import unbounded_where
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Bound
from pruning.rules.sets.cuts import Cuts, complement, union
from pruning.rules.sets.outcomes import EVERYTHING, NOTHING, ValueSet
from pruning.rules.time.step_chains import UNIT_MICROS, StepChain, always_null, step_chain
from pruning.rules.time.step_preimages import preimage
from pruning.rules.time.steps import Action, Step
from pruning.rules.time.zones import zone

CUTS_MAX = 4_096  # preimages of larger sets are not computed


def time_preimage(node: Expression, values: ValueSet) -> tuple[Expression, ValueSet] | None:
    """Return the operand's values for which the function is in a set.

    Claim     A row on which the function's value is in the set has its operand's value in the result.
    Premises  `step_preimages.preimage`; the chain is the function on operands that are inside.
    Proof     (1) Inside, the value after each step is in that step's preimage; where releases of
                  Spark differ it is so by one chain or the other.
              (2) Beyond, anything may come out: those operands are in the preimage of any set but
                  that of nothing, and in that of NULL where a cast may give it.
              (3) NULL comes of NULL, and of nothing else inside.
    """
    if always_null(node):
        operand = _nullable_operand(node)
        return operand, EVERYTHING if values.null else NOTHING
    chain = step_chain(node)
    if chain is None or not isinstance(values.cuts, Cuts) or len(values.cuts.points) > CUTS_MAX:
        return None
    cuts = chain_preimage(chain.steps, values.cuts)  # (1)
    if chain.otherwise:
        cuts = union(cuts, chain_preimage(chain.otherwise, values.cuts))
    if not values.cuts.empty or (values.null and chain.null_beyond):
        cuts = union(cuts, complement(chain.inside))  # (2)
    return chain.operand, ValueSet(_cuts_in_type(cuts, chain), null=values.null)  # (3)


def chain_preimage(chained: tuple[Step, ...], values: Cuts) -> Cuts:
    """Return the integers that a chain of steps takes into a set."""
    if values.full:
        return values
    for step in reversed(chained):
        values = preimage(step, values)
    return values


def _nullable_operand(node: Expression) -> Expression:
    """Return the first operand of a call that is not a literal; the first one if all are."""
    assert isinstance(node, Call)
    return next((operand for operand in node.operands if not isinstance(operand, Literal)), node.operands[0])


def _cuts_in_type(cuts: Cuts, chain: StepChain) -> Cuts:
    """Return the part of a set of integers that the operand's type can hold."""
    limits = type_of(chain.operand).integer_range
    assert limits is not None
    least, greatest = limits
    places = [int(place) for place, _ in cuts.points]
    below = sum(place <= least for place in places)
    kept = tuple((place, False) for place in places if least < place <= greatest)
    return Cuts(cuts.first is (below % 2 == 0), kept)


def time_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the function between the operand's bounds.

    Claim     Each row's value lies in the range; rows on which it raises have none.
    Premises  Axiom ZONES; the chain's least value from a number on and greatest up to it never
              decrease, and the function lies between the two.
    Proof     (1) lower <= v gives least(lower) <= least(v) <= f(v), and so for upper.
              (2) Where a step's result does not fit, or the operand is not bounded, a result may
                  have wrapped round, be NULL or be in no order: then there is no bound.
    """
    assert isinstance(node, Call | Cast)
    build = analysis.build
    if always_null(node):
        operand = analysis.range(_nullable_operand(node), environment)
        return ranges.only_null(
            build, replace(ranges.anything(build, node.type), may_null=ranges.may_have_rows(build, operand))
        )
    chain = step_chain(node)
    if chain is None:
        return ranges.anything(build, node.type)
    operand = analysis.range(chain.operand, environment)
    lower = bound_through_chain(build, chain.enclosing, operand.lower, Side.BELOW, node.type)  # (1)
    upper = bound_through_chain(build, chain.enclosing, operand.upper, Side.ABOVE, node.type)
    fits = build.and_(build.is_known(lower), build.is_known(upper))
    lost = build.and_(operand.may_value, build.not_(fits)) if chain.null_beyond else build.flag(False)
    result = Range(
        lower=lower,
        upper=upper,
        may_null=build.or_(operand.may_null, lost),
        may_nan=build.flag(False),
        may_value=operand.may_value,
    )
    return unbounded_where(build, result, build.not_(fits)) if chain.wraps else result  # (2)


def bound_through_chain(
    build: Builder, chained: tuple[Step, ...], bound: Bound, side: Side, type_: Type
) -> Bound:
    """Return a bound of the value of a chain of steps, enclosed on one side."""
    for step in chained[:-1]:
        bound = build.apply(Apply(step, side=side), bound, type_=_BETWEEN.get(step.action, TIMESTAMP_NTZ))
    return build.apply(Apply(chained[-1], side=side), bound, type_=type_)


_BETWEEN = {Action.INDEX: DATE, Action.UNIT_START: DATE}


def sum_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of a date plus or minus a number of days."""
    assert isinstance(node, Call)
    if step_chain(node) is not None or always_null(node):
        return time_range(analysis, node, environment)
    first, second = (analysis.range(operand, environment) for operand in node.operands)
    sign = -1 if node.function is Function.DATE_SUB else 1
    return _day_arithmetic(analysis.build, first, second, node.type, sign=sign)


def difference_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the days from one date to another."""
    assert isinstance(node, Call)
    end, start = (analysis.range(operand, environment) for operand in node.operands)
    return _day_arithmetic(analysis.build, end, start, node.type, sign=-1)


def interval_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of the whole units of local time from one instant to another.

    Claim     Each row's value lies in the range.
    Premises  Local times are enclosed as `time_range` has it; Spark raises where a difference does not fit.
    Proof     (1) The exact difference lies between the end's least local time less the start's greatest, and
                  the other way round; its quotient toward zero never decreases.
              (2) Months have no length: of them only NULL is known.
    """
    assert isinstance(node, Call)
    build = analysis.build
    unit, *moments = node.operands
    start, end = (analysis.range(moment, environment) for moment in moments)
    value = unit.value if isinstance(unit, Literal) else None
    micros = UNIT_MICROS.get(value.decode()) if isinstance(value, bytes) else None
    lower = upper = build.unknown(node.type)
    if micros is not None and zone(node.zone) and start.lower.type == end.lower.type == TIMESTAMP:
        steps, local = (Step(Action.QUOTIENT, micros),), Step(Action.LOCAL, zone=node.zone)
        (first, last), (least, greatest) = (
            tuple(
                _integer_bound(build, bound_through_chain(build, (local,), bound, side, TIMESTAMP_NTZ), LONG)
                for bound, side in ((moment.lower, Side.BELOW), (moment.upper, Side.ABOVE))
            )
            for moment in (start, end)
        )
        below, above = build.subtract(least, last), build.subtract(greatest, first)  # (1)
        lower = bound_through_chain(build, steps, below, Side.BELOW, node.type)
        upper = bound_through_chain(build, steps, above, Side.ABOVE, node.type)
    return Range(
        lower=lower,
        upper=upper,
        may_null=build.or_(start.may_null, end.may_null),
        may_nan=build.flag(False),
        may_value=build.and_(start.may_value, end.may_value),
    )


def _day_arithmetic(build: Builder, left: Range, right: Range, type_: Type, *, sign: int) -> Range:
    """Return the range of the sum or the difference of two numbers of days.

    Claim     Each row's value lies in the range.
    Premises  Spark adds 32-bit integers, which wrap round.
    Proof     (1) The exact sum lies between those of the bounds.
              (2) Where both of these fit every sum does; else there is no bound.
    """
    (low, high), (least, greatest) = (
        tuple(_integer_bound(build, bound, LONG) for bound in (side.lower, side.upper))
        for side in (left, right)
    )
    if sign > 0:
        lower, upper = build.add(low, least), build.add(high, greatest)
    else:
        lower, upper = build.subtract(low, greatest), build.subtract(high, least)
    lower, upper = _integer_bound(build, lower, type_), _integer_bound(build, upper, type_)
    result = Range(
        lower=lower,
        upper=upper,
        may_null=build.or_(left.may_null, right.may_null),
        may_nan=build.flag(False),
        may_value=build.and_(left.may_value, right.may_value),
    )
    fits = build.and_(build.is_known(lower), build.is_known(upper))
    return unbounded_where(build, result, build.not_(fits))  # (2)


def _integer_bound(build: Builder, bound: Bound, type_: Type) -> Bound:
    """Return the integer of a date or an integer in another type; unknown if it does not fit."""
    if bound.type.integer_range is None:
        return build.unknown(type_)
    return build.apply(Apply(_SAME), bound, type_=type_)


_SAME = Step(Action.SHIFT, 0)
TIME = Rule(range=time_range, preimage=time_preimage)
DAYS_LATER = Rule(range=sum_range, preimage=time_preimage)
DATEDIFF = Rule(range=difference_range, preimage=time_preimage)
TIMESTAMPDIFF = Rule(range=interval_range, preimage=time_preimage)
