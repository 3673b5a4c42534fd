"""The builder of programs: rules ask it for operations, and it shares and folds them.

A rule never touches a number. It asks a `Builder` (the Algebra of the design) for operations on
*flags* (booleans) and *bounds* (values that may be unknown), and the builder hands out references
into one growing list, equal operations once. What is constant is folded on the way, with the exact
primitives, so a program holds only what differs from block to block.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal

from pruning.expressions.types import LONG, Type, Value
from pruning.rules.program import functions
from pruning.rules.program.exact_arithmetic import ARITHMETIC, is_defined
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Aspect, Bound, Flag, Input, Op, Operation, Program
from pruning.rules.sets import primitives
from pruning.rules.sets.cuts import Cut, Interval, above, below
from pruning.rules.sets.languages import Language
from pruning.rules.sets.regions import RegionQuery
from pruning.rules.sets.value_sets import Values, intersection, meets

# A set of fewer places is compared with one by one; a search costs as much as a few comparisons.
_COMPARED_CUTS_MAX = 8


@dataclass(slots=True)
class Builder:
    """Hands out operations, each distinct one once, constants folded."""

    operations: list[Operation] = field(default_factory=list)
    _index: dict[Hashable, int] = field(default_factory=dict)

    def program(self, *outputs: Flag | Bound) -> Program:
        """The program that computes the outputs, without the operations they do not need."""
        needed = sorted(self._reachable([output.index for output in outputs]))
        place = {old: new for new, old in enumerate(needed)}
        kept = tuple(
            Operation(step.op, tuple(place[operand] for operand in step.operands), step.type, step.payload)
            for step in (self.operations[old] for old in needed)
        )
        return Program(kept, tuple(place[output.index] for output in outputs))

    # Flags

    def flag(self, value: bool) -> Flag:
        """A constant flag."""
        return self._flag(Operation(Op.FLAG, payload=value))

    def flag_input(
        self,
        aspect: Aspect,
        column: str = "",
        type_: Type | None = None,
        asked: Values | RegionQuery | None = None,
    ) -> Flag:
        """A flag that the block's metadata gives; `asked` is that of `Input`."""
        return self._flag(Operation(Op.FLAG_INPUT, payload=Input(aspect, column, type_, asked)))

    def and_(self, *flags: Flag) -> Flag:
        """All of the flags; true of none."""
        return self._join_flags(Op.AND, flags, neutral=True)

    def or_(self, *flags: Flag) -> Flag:
        """Any of the flags; false of none."""
        return self._join_flags(Op.OR, flags, neutral=False)

    def not_(self, flag: Flag) -> Flag:
        """The opposite."""
        step = self.operations[flag.index]
        if step.op is Op.FLAG:
            return self.flag(not step.payload)
        if step.op is Op.NOT:
            return Flag(step.operands[0])
        return self._flag(Operation(Op.NOT, (flag.index,)))

    def maybe_less(self, left: Bound, right: Bound) -> Flag:
        """Whether `left < right` cannot be excluded."""
        return self._compare(Op.MAYBE_LESS, left, right)

    def maybe_at_most(self, left: Bound, right: Bound) -> Flag:
        """Whether `left <= right` cannot be excluded."""
        return self._compare(Op.MAYBE_AT_MOST, left, right)

    def maybe_meets(self, lower: Bound, upper: Bound, values: Values) -> Flag:
        """Whether a value in [lower, upper] may lie in a set."""
        # [max(x, c), y] meets a set where [x, y] meets what the set has from c on.
        if pair := self._with_constant(Op.GREATEST_KNOWN, lower):
            least = above(self._known_constant(pair[1]), lower.type, inclusive=True)
            return self.maybe_meets(pair[0], upper, intersection(values, least))
        if pair := self._with_constant(Op.LEAST_KNOWN, upper):
            greatest = below(self._known_constant(pair[1]), upper.type, inclusive=True)
            return self.maybe_meets(lower, pair[0], intersection(values, greatest))
        if values.full or values.empty:
            return self.flag(values.full)
        if self._is_constant(lower) and self._is_constant(upper):
            return self.flag(meets(self._constant(lower), self._constant(upper), values))
        if isinstance(values, Language) or len(values.points) > _COMPARED_CUTS_MAX:
            return self._flag(Operation(Op.MAYBE_MEETS, (lower.index, upper.index), payload=values))
        return self.or_(*(self._maybe_overlaps(lower, upper, interval) for interval in values.intervals()))

    def _maybe_overlaps(self, lower: Bound, upper: Bound, interval: Interval) -> Flag:
        start, end = interval
        return self.and_(
            *([] if start is None else [self._maybe_beyond(upper, start)]),
            *([] if end is None else [self._maybe_before(lower, end)]),
        )

    def _maybe_beyond(self, bound: Bound, cut: Cut) -> Flag:
        value, after = cut
        compare = self.maybe_less if after else self.maybe_at_most
        return compare(self.bound(value, bound.type), bound)

    def _maybe_before(self, bound: Bound, cut: Cut) -> Flag:
        value, after = cut
        compare = self.maybe_at_most if after else self.maybe_less
        return compare(bound, self.bound(value, bound.type))

    def known(self, bound: Bound) -> Flag:
        """Whether the bound is known."""
        op = self.operations[bound.index].op
        if op in (Op.BOUND, Op.UNKNOWN):
            return self.flag(op is Op.BOUND)
        return self._flag(Operation(Op.KNOWN, (bound.index,)))

    # Bounds

    def bound(self, value: Value | None, type_: Type) -> Bound:
        """A constant; None is "unknown"."""
        if value is None:
            return self._bound(Operation(Op.UNKNOWN, type=type_))
        return self._bound(Operation(Op.BOUND, type=type_, payload=value))

    def unknown(self, type_: Type) -> Bound:
        """The bound that is never known."""
        return self.bound(None, type_)

    def bound_input(self, aspect: Aspect, column: str, type_: Type) -> Bound:
        """A bound that the block's metadata gives."""
        return self._bound(Operation(Op.BOUND_INPUT, type=type_, payload=Input(aspect, column, type_)))

    def choose(self, flag: Flag, then: Bound, otherwise: Bound) -> Bound:
        """`then` where the flag holds, else `otherwise`."""
        step = self.operations[flag.index]
        if step.op is Op.FLAG:
            return then if step.payload else otherwise
        if then == otherwise:
            return then
        if then.type != otherwise.type:
            return self.unknown(then.type)
        return self._bound(Operation(Op.CHOOSE, (flag.index, then.index, otherwise.index), then.type))

    def least(self, left: Bound, right: Bound) -> Bound:
        """The smaller; unknown if either is."""
        return self._extreme(Op.LEAST, left, right)

    def greatest(self, left: Bound, right: Bound) -> Bound:
        """The greater; unknown if either is."""
        return self._extreme(Op.GREATEST, left, right)

    def least_known(self, left: Bound, right: Bound) -> Bound:
        """The smaller of those that are known."""
        return self._extreme(Op.LEAST_KNOWN, left, right)

    def greatest_known(self, left: Bound, right: Bound) -> Bound:
        """The greater of those that are known."""
        return self._extreme(Op.GREATEST_KNOWN, left, right)

    def add(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """The sum in a type, the operands' unless given; unknown if it does not fit there."""
        return self._arithmetic(Op.ADD, left, right, type_)

    def subtract(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """The difference in a type, the operands' unless given; unknown if it does not fit there."""
        return self._arithmetic(Op.SUBTRACT, left, right, type_)

    def multiply(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """The product in a type, the operands' unless given; unknown if it does not fit there."""
        return self._arithmetic(Op.MULTIPLY, left, right, type_)

    def divide(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """The quotient of floats or decimals; unknown if it does not fit or the divisor is zero."""
        return self._arithmetic(Op.DIVIDE, left, right, type_)

    def quotient(self, left: Bound, right: Bound, type_: Type = LONG) -> Bound:
        """The integral part of the quotient of integers or decimals; unknown as for `divide`."""
        return self._arithmetic(Op.QUOTIENT, left, right, type_)

    def remainder(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """What the division leaves, with the sign of `left`; unknown as for `divide`."""
        return self._arithmetic(Op.REMAINDER, left, right, type_)

    def next(self, bound: Bound) -> Bound:
        """The next value up; the bound itself in a type without steps (a widened answer)."""
        return self._step(Op.NEXT, bound)

    def previous(self, bound: Bound) -> Bound:
        """The next value down; the bound itself in a type without steps (a widened answer)."""
        return self._step(Op.PREVIOUS, bound)

    def cast(self, bound: Bound, type_: Type) -> Bound:
        """The bound cast by one of the casts of `primitives.keeps_order`."""
        if bound.type == type_:
            return bound
        value = self._constant(bound)
        if value is not None or self._is_unknown(bound):
            return self.bound(None if value is None else primitives.cast(value, bound.type, type_), type_)
        return self._bound(Operation(Op.CAST, (bound.index,), type_))

    def apply(self, call: Apply, *bounds: Bound, type_: Type) -> Bound:
        """A function of the bounds, in a type; unknown if it has no value there."""
        if any(self._is_unknown(bound) for bound in bounds):
            return self.unknown(type_)
        values = tuple(value for bound in bounds if (value := self._constant(bound)) is not None)
        if len(values) == len(bounds):
            return self.bound(functions.apply(call, values, bounds[0].type, type_), type_)
        return self._bound(Operation(Op.APPLY, tuple(bound.index for bound in bounds), type_, call))

    # How the above fold and share

    def _flag(self, step: Operation) -> Flag:
        return Flag(self._intern(step))

    def _bound(self, step: Operation) -> Bound:
        assert step.type is not None
        return Bound(self._intern(step), step.type)

    def _intern(self, step: Operation) -> int:
        key = (step, _identity(step.payload))
        if key not in self._index:
            self._index[key] = len(self.operations)
            self.operations.append(step)
        return self._index[key]

    def _join_flags(self, op: Op, flags: tuple[Flag, ...], *, neutral: bool) -> Flag:
        distinct: list[Flag] = []
        for flag in flags:
            step = self.operations[flag.index]
            if step.op is Op.FLAG and step.payload is not neutral:
                return self.flag(not neutral)
            if step.op is not Op.FLAG and flag not in distinct:
                distinct.append(flag)
        if not distinct:
            return self.flag(neutral)
        joined = distinct[0]
        for flag in distinct[1:]:
            joined = self._flag(Operation(op, (joined.index, flag.index)))
        return joined

    def _compare(self, op: Op, left: Bound, right: Bound) -> Flag:
        if left.type != right.type or self._is_unknown(left) or self._is_unknown(right):
            return self.flag(True)
        values = self._constant(left), self._constant(right)
        if values[0] is not None and values[1] is not None:
            compare = primitives.less if op is Op.MAYBE_LESS else primitives.at_most
            return self.flag(compare(values[0], values[1]))
        if op is Op.MAYBE_AT_MOST and self._are_bounds_of_one_column(left, right):
            return self.flag(True)  # metadata promises it; and "maybe" is never wrong
        # The greater of x and a constant is at most y if both are: two comparisons that others share.
        if pair := self._with_constant(Op.GREATEST_KNOWN, left):
            return self.and_(*(self._compare(op, part, right) for part in pair))
        if pair := self._with_constant(Op.LEAST_KNOWN, right):
            return self.and_(*(self._compare(op, left, part) for part in pair))
        return self._flag(Operation(op, (left.index, right.index)))

    def _with_constant(self, op: Op, bound: Bound) -> tuple[Bound, Bound] | None:
        """The operands of `op` where it made this bound of one that differs by block and a constant."""
        step = self.operations[bound.index]
        if step.op is not op:
            return None
        left, right = (Bound(index, bound.type) for index in step.operands)
        return (left, right) if self._is_constant(right) else None

    def _are_bounds_of_one_column(self, left: Bound, right: Bound) -> bool:
        lower, upper = self.operations[left.index].payload, self.operations[right.index].payload
        if not isinstance(lower, Input) or not isinstance(upper, Input):
            return False
        return (lower.aspect, upper.aspect, lower.column) == (Aspect.LOWER, Aspect.UPPER, upper.column)

    def _extreme(self, op: Op, left: Bound, right: Bound) -> Bound:
        assert left.type == right.type
        if left == right:
            return left
        known_only = op in (Op.LEAST_KNOWN, Op.GREATEST_KNOWN)
        if self._is_unknown(left) or self._is_unknown(right):
            if not known_only:
                return self.unknown(left.type)
            return right if self._is_unknown(left) else left
        values = self._constant(left), self._constant(right)
        if values[0] is not None and values[1] is not None:
            smaller = primitives.less(values[0], values[1])
            return left if smaller is (op in (Op.LEAST, Op.LEAST_KNOWN)) else right
        if self._is_constant(left):
            left, right = right, left
        if (pair := self._with_constant(op, left)) and self._is_constant(right):
            return self._extreme(op, pair[0], self._extreme(op, pair[1], right))
        return self._bound(Operation(op, (left.index, right.index), left.type))

    def _arithmetic(self, op: Op, left: Bound, right: Bound, type_: Type | None) -> Bound:
        target = type_ or left.type
        unknown = self._is_unknown(left) or self._is_unknown(right)
        if unknown or not is_defined(op, left.type, right.type, target):
            return self.unknown(target)
        values = self._constant(left), self._constant(right)
        if values[0] is not None and values[1] is not None:
            return self.bound(ARITHMETIC[op](values[0], values[1], target), target)
        return self._bound(Operation(op, (left.index, right.index), target))

    def _step(self, op: Op, bound: Bound) -> Bound:
        if not primitives.has_steps(bound.type) or self._is_unknown(bound):
            return bound
        value = self._constant(bound)
        if value is not None:
            sign = 1 if op is Op.NEXT else -1
            return self.bound(primitives.step(value, bound.type, sign=sign), bound.type)
        return self._bound(Operation(op, (bound.index,), bound.type))

    def _known_constant(self, bound: Bound) -> Value:
        value = self._constant(bound)
        assert value is not None
        return value

    def _constant(self, bound: Bound) -> Value | None:
        value = self.operations[bound.index].payload
        is_value = self.operations[bound.index].op is Op.BOUND
        return value if is_value and isinstance(value, bool | int | float | Decimal | bytes) else None

    def _is_unknown(self, bound: Bound) -> bool:
        return self.operations[bound.index].op is Op.UNKNOWN

    def _is_constant(self, bound: Bound) -> bool:
        return self.operations[bound.index].op in (Op.BOUND, Op.UNKNOWN)

    def _reachable(self, outputs: list[int]) -> set[int]:
        reached: set[int] = set()
        pending = list(outputs)
        while pending:
            index = pending.pop()
            if index not in reached:
                reached.add(index)
                pending.extend(self.operations[index].operands)
        return reached


def _identity(payload: object) -> str:
    """Tells apart constants that Python calls equal: 1, 1.0 and True; 0.0 and -0.0."""
    return repr(payload) if isinstance(payload, bool | int | float | Decimal) else ""
