"""The builder of programs: rules call it to emit operations, and it shares and folds them.

A rule never computes with values. It calls the methods of a `Builder`, which stand for operations on
*flags* (booleans) and *bounds* (values that may be unknown), and gets references into one growing list
(hash-consing: equal operations are stored once). Operations on constants are folded at once by the exact
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

# A set of up to this many cuts becomes single comparisons; a search costs as much as a few of them.
_COMPARED_CUTS_MAX = 8


@dataclass(slots=True)
class Builder:
    """Emits operations, each distinct one once, with constants folded."""

    operations: list[Operation] = field(default_factory=list)
    _index: dict[Hashable, int] = field(default_factory=dict)

    def program(self, *outputs: Flag | Bound) -> Program:
        """Return the program that computes the outputs, without operations that they do not need."""
        needed = sorted(self._reachable([output.index for output in outputs]))
        place = {old: new for new, old in enumerate(needed)}
        kept = tuple(
            Operation(step.op, tuple(place[operand] for operand in step.operands), step.type, step.payload)
            for step in (self.operations[old] for old in needed)
        )
        return Program(kept, tuple(place[output.index] for output in outputs))

    # Operations that give flags

    def flag(self, value: bool) -> Flag:
        """Return a constant flag."""
        return self._flag(Operation(Op.FLAG, payload=value))

    def flag_input(
        self,
        aspect: Aspect,
        column: str = "",
        type_: Type | None = None,
        argument: Values | RegionQuery | None = None,
    ) -> Flag:
        """Return a flag that the block's metadata gives; `argument` is that of `Input`."""
        return self._flag(Operation(Op.FLAG_INPUT, payload=Input(aspect, column, type_, argument)))

    def and_(self, *flags: Flag) -> Flag:
        """Return the AND of the flags; true if there are none."""
        return self._join_flags(Op.AND, flags, neutral=True)

    def or_(self, *flags: Flag) -> Flag:
        """Return the OR of the flags; false if there are none."""
        return self._join_flags(Op.OR, flags, neutral=False)

    def not_(self, flag: Flag) -> Flag:
        """Return the negation of a flag."""
        step = self.operations[flag.index]
        if step.op is Op.FLAG:
            return self.flag(not step.payload)
        if step.op is Op.NOT:
            return Flag(step.operands[0])
        return self._flag(Operation(Op.NOT, (flag.index,)))

    def maybe_less(self, left: Bound, right: Bound) -> Flag:
        """Return the flag that `left < right` cannot be excluded."""
        return self._compare(Op.MAYBE_LESS, left, right)

    def maybe_at_most(self, left: Bound, right: Bound) -> Flag:
        """Return the flag that `left <= right` cannot be excluded."""
        return self._compare(Op.MAYBE_AT_MOST, left, right)

    def maybe_meets(self, lower: Bound, upper: Bound, values: Values) -> Flag:
        """Return the flag that a value in [lower, upper] may lie in a set."""
        # [max(x, c), y] meets a set exactly where [x, y] meets the part of the set at or above c.
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
        """Return the flag that [lower, upper] may overlap an interval."""
        start, end = interval
        return self.and_(
            *([] if start is None else [self._maybe_beyond(upper, start)]),
            *([] if end is None else [self._maybe_before(lower, end)]),
        )

    def _maybe_beyond(self, bound: Bound, cut: Cut) -> Flag:
        """Return the flag that a bound may lie above a cut."""
        value, after = cut
        compare = self.maybe_less if after else self.maybe_at_most
        return compare(self.bound(value, bound.type), bound)

    def _maybe_before(self, bound: Bound, cut: Cut) -> Flag:
        """Return the flag that a bound may lie below a cut."""
        value, after = cut
        compare = self.maybe_at_most if after else self.maybe_less
        return compare(bound, self.bound(value, bound.type))

    def is_known(self, bound: Bound) -> Flag:
        """Return the flag that the bound is known."""
        op = self.operations[bound.index].op
        if op in (Op.BOUND, Op.UNKNOWN):
            return self.flag(op is Op.BOUND)
        return self._flag(Operation(Op.KNOWN, (bound.index,)))

    # Operations that give bounds

    def bound(self, value: Value | None, type_: Type) -> Bound:
        """Return a constant bound; None is "unknown"."""
        if value is None:
            return self._bound(Operation(Op.UNKNOWN, type=type_))
        return self._bound(Operation(Op.BOUND, type=type_, payload=value))

    def unknown(self, type_: Type) -> Bound:
        """Return the bound that is never known."""
        return self.bound(None, type_)

    def bound_input(self, aspect: Aspect, column: str, type_: Type) -> Bound:
        """Return a bound that the block's metadata gives."""
        return self._bound(Operation(Op.BOUND_INPUT, type=type_, payload=Input(aspect, column, type_)))

    def choose(self, flag: Flag, then: Bound, otherwise: Bound) -> Bound:
        """Return `then` where the flag holds, else `otherwise`."""
        step = self.operations[flag.index]
        if step.op is Op.FLAG:
            return then if step.payload else otherwise
        if then == otherwise:
            return then
        if then.type != otherwise.type:
            return self.unknown(then.type)
        return self._bound(Operation(Op.CHOOSE, (flag.index, then.index, otherwise.index), then.type))

    def least(self, left: Bound, right: Bound) -> Bound:
        """Return the smaller bound; unknown if either is."""
        return self._extreme(Op.LEAST, left, right)

    def greatest(self, left: Bound, right: Bound) -> Bound:
        """Return the greater bound; unknown if either is."""
        return self._extreme(Op.GREATEST, left, right)

    def least_known(self, left: Bound, right: Bound) -> Bound:
        """Return the smaller of the bounds that are known."""
        return self._extreme(Op.LEAST_KNOWN, left, right)

    def greatest_known(self, left: Bound, right: Bound) -> Bound:
        """Return the greater of the bounds that are known."""
        return self._extreme(Op.GREATEST_KNOWN, left, right)

    def add(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """Return the sum in a type (by default the operands'); unknown if it does not fit."""
        return self._arithmetic(Op.ADD, left, right, type_)

    def subtract(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """Return the difference in a type (by default the operands'); unknown if it does not fit."""
        return self._arithmetic(Op.SUBTRACT, left, right, type_)

    def multiply(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """Return the product in a type (by default the operands'); unknown if it does not fit."""
        return self._arithmetic(Op.MULTIPLY, left, right, type_)

    def divide(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """Return the quotient of floats or decimals; unknown if it does not fit or the divisor is zero."""
        return self._arithmetic(Op.DIVIDE, left, right, type_)

    def quotient(self, left: Bound, right: Bound, type_: Type = LONG) -> Bound:
        """Return the integral part of a quotient of integers or decimals; unknown as for `divide`."""
        return self._arithmetic(Op.QUOTIENT, left, right, type_)

    def remainder(self, left: Bound, right: Bound, type_: Type | None = None) -> Bound:
        """Return the remainder of the division, with the sign of `left`; unknown as for `divide`."""
        return self._arithmetic(Op.REMAINDER, left, right, type_)

    def next(self, bound: Bound) -> Bound:
        """Return the next greater value; in a type without steps the bound itself (a widened answer)."""
        return self._step(Op.NEXT, bound)

    def previous(self, bound: Bound) -> Bound:
        """Return the next smaller value; in a type without steps the bound itself (a widened answer)."""
        return self._step(Op.PREVIOUS, bound)

    def cast(self, bound: Bound, type_: Type) -> Bound:
        """Return the bound cast to a type, by one of the casts of `primitives.keeps_order`."""
        if bound.type == type_:
            return bound
        value = self._constant(bound)
        if value is not None or self._is_unknown(bound):
            return self.bound(None if value is None else primitives.cast(value, bound.type, type_), type_)
        return self._bound(Operation(Op.CAST, (bound.index,), type_))

    def apply(self, call: Apply, *bounds: Bound, type_: Type) -> Bound:
        """Return a function of the bounds, in a type; unknown if it has no value there."""
        if any(self._is_unknown(bound) for bound in bounds):
            return self.unknown(type_)
        values = tuple(value for bound in bounds if (value := self._constant(bound)) is not None)
        if len(values) == len(bounds):
            return self.bound(functions.apply(call, values, bounds[0].type, type_), type_)
        return self._bound(Operation(Op.APPLY, tuple(bound.index for bound in bounds), type_, call))

    # Folding and sharing

    def _flag(self, step: Operation) -> Flag:
        """Emit an operation that gives a flag."""
        return Flag(self._intern(step))

    def _bound(self, step: Operation) -> Bound:
        """Emit an operation that gives a bound."""
        assert step.type is not None
        return Bound(self._intern(step), step.type)

    def _intern(self, step: Operation) -> int:
        """Return the index of an operation, added to the list if it is new."""
        key = (step, _identity(step.payload))
        if key not in self._index:
            self._index[key] = len(self.operations)
            self.operations.append(step)
        return self._index[key]

    def _join_flags(self, op: Op, flags: tuple[Flag, ...], *, neutral: bool) -> Flag:
        """Fold the constants of an AND or OR and emit it as a chain of binary operations."""
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
        """Emit a comparison, folded where its answer is certain."""
        if left.type != right.type or self._is_unknown(left) or self._is_unknown(right):
            return self.flag(True)
        values = self._constant(left), self._constant(right)
        if values[0] is not None and values[1] is not None:
            compare = primitives.less if op is Op.MAYBE_LESS else primitives.at_most
            return self.flag(compare(values[0], values[1]))
        if op is Op.MAYBE_AT_MOST and self._are_bounds_of_one_column(left, right):
            return self.flag(True)  # a column's lower bound is at most its upper one; "maybe" is sound anyway
        # max(x, c) <= y holds if x <= y and c <= y: two comparisons that other operations may share.
        if pair := self._with_constant(Op.GREATEST_KNOWN, left):
            return self.and_(*(self._compare(op, part, right) for part in pair))
        if pair := self._with_constant(Op.LEAST_KNOWN, right):
            return self.and_(*(self._compare(op, left, part) for part in pair))
        return self._flag(Operation(op, (left.index, right.index)))

    def _with_constant(self, op: Op, bound: Bound) -> tuple[Bound, Bound] | None:
        """Return the operands of `op` if it made this bound of one that differs by block and a constant."""
        step = self.operations[bound.index]
        if step.op is not op:
            return None
        left, right = (Bound(index, bound.type) for index in step.operands)
        return (left, right) if self._is_constant(right) else None

    def _are_bounds_of_one_column(self, left: Bound, right: Bound) -> bool:
        """Tell whether the bounds are the lower and the upper input of one column."""
        lower, upper = self.operations[left.index].payload, self.operations[right.index].payload
        if not isinstance(lower, Input) or not isinstance(upper, Input):
            return False
        return (lower.aspect, upper.aspect, lower.column) == (Aspect.LOWER, Aspect.UPPER, upper.column)

    def _extreme(self, op: Op, left: Bound, right: Bound) -> Bound:
        """Emit a least or a greatest, folded where operands are equal, unknown or constant."""
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
        """Emit an arithmetic operation, folded where its operands are unknown or constant."""
        target = type_ or left.type
        unknown = self._is_unknown(left) or self._is_unknown(right)
        if unknown or not is_defined(op, left.type, right.type, target):
            return self.unknown(target)
        values = self._constant(left), self._constant(right)
        if values[0] is not None and values[1] is not None:
            return self.bound(ARITHMETIC[op](values[0], values[1], target), target)
        return self._bound(Operation(op, (left.index, right.index), target))

    def _step(self, op: Op, bound: Bound) -> Bound:
        """Emit the next or the previous value of a bound, folded where it is constant."""
        if not primitives.has_steps(bound.type) or self._is_unknown(bound):
            return bound
        value = self._constant(bound)
        if value is not None:
            sign = 1 if op is Op.NEXT else -1
            return self.bound(primitives.step(value, bound.type, sign=sign), bound.type)
        return self._bound(Operation(op, (bound.index,), bound.type))

    def _known_constant(self, bound: Bound) -> Value:
        """Return the value of a constant bound that is known."""
        value = self._constant(bound)
        assert value is not None
        return value

    def _constant(self, bound: Bound) -> Value | None:
        """Return the value of a constant bound; None if it is no constant."""
        value = self.operations[bound.index].payload
        is_value = self.operations[bound.index].op is Op.BOUND
        return value if is_value and isinstance(value, bool | int | float | Decimal | bytes) else None

    def _is_unknown(self, bound: Bound) -> bool:
        """Tell whether a bound is never known."""
        return self.operations[bound.index].op is Op.UNKNOWN

    def _is_constant(self, bound: Bound) -> bool:
        """Tell whether a bound is the same in every block, "unknown" included."""
        return self.operations[bound.index].op in (Op.BOUND, Op.UNKNOWN)

    def _reachable(self, outputs: list[int]) -> set[int]:
        """Return the indices of the operations that the outputs need."""
        reached: set[int] = set()
        pending = list(outputs)
        while pending:
            index = pending.pop()
            if index not in reached:
                reached.add(index)
                pending.extend(self.operations[index].operands)
        return reached


def _identity(payload: object) -> str:
    """Return a key that distinguishes constants which Python calls equal: 1, 1.0 and True; 0.0 and -0.0."""
    return repr(payload) if isinstance(payload, bool | int | float | Decimal) else ""
