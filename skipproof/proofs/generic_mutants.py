"""Generic mutants: mistakes in the algebra that every rule is written in, each of which breaks many rules."""

from typing import Any

from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Aspect, Bound, Flag


class TouchingIsApart(Builder):
    """Takes `<=` for `<`."""

    def maybe_at_most(self, left: Bound, right: Bound) -> Flag:
        return self.maybe_less(left, right)


class OrderReversed(Builder):
    """Takes the greater for the smaller."""

    def maybe_less(self, left: Bound, right: Bound) -> Flag:
        return super().maybe_less(right, left)


class JoinsInwards(Builder):
    """Takes the tighter bound where either may hold."""

    def least(self, left: Bound, right: Bound) -> Bound:
        return super().greatest(left, right)


class NullForgotten(Builder):
    """No column is ever NULL."""

    def flag_input(self, aspect: Aspect, column: str = "", type_: Any = None, asked: Any = None) -> Flag:
        return (
            self.flag(False)
            if aspect is Aspect.MAY_NULL
            else super().flag_input(aspect, column, type_, asked)
        )


class NanForgotten(Builder):
    """No float is ever NaN."""

    def flag_input(self, aspect: Aspect, column: str = "", type_: Any = None, asked: Any = None) -> Flag:
        return (
            self.flag(False) if aspect is Aspect.MAY_NAN else super().flag_input(aspect, column, type_, asked)
        )


class UnknownIsKnown(Builder):
    """Takes every bound for known."""

    def is_known(self, bound: Bound) -> Flag:
        return self.flag(True)


class NothingPossible(Builder):
    """Takes "may be" for "is not"."""

    def flag(self, value: bool) -> Flag:
        return super().flag(False)


class SetsMissed(Builder):
    """Holds no range to meet any set of values."""

    def maybe_meets(self, lower: Bound, upper: Bound, cuts: Any) -> Flag:
        return self.flag(False)


class EitherForBoth(Builder):
    """Takes AND for OR."""

    def or_(self, *flags: Flag) -> Flag:
        return self.and_(*flags)


GENERIC_MUTANTS: tuple[type[Builder], ...] = (
    NothingPossible,
    EitherForBoth,
    NullForgotten,
    NanForgotten,
    TouchingIsApart,
    OrderReversed,
    JoinsInwards,
    UnknownIsKnown,
    SetsMissed,
)
