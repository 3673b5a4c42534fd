"""Mutants of the builder that only some proofs can refute: what a block holds, and local time."""

from dataclasses import replace
from typing import Any

from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Aspect, Bound, Flag, Input


class HoldsNoNull(Builder):
    """Takes NULL, which no list of values has, for a value that is not there."""

    def or_(self, *flags: Flag) -> Flag:
        held_flags = [flag for flag in flags if self._asks(flag)]
        return held_flags[0] if held_flags else super().or_(*flags)

    def _asks(self, flag: Flag) -> bool:
        payload = self.operations[flag.index].payload
        return isinstance(payload, Input) and payload.aspect is Aspect.MAY_HOLD


class LocalTimeIncreases(Builder):
    """Takes local time, and the instant of a local time, for increasing functions."""

    def apply(self, call: Apply, *bounds: Bound, type_: Any) -> Bound:
        return super().apply(replace(call, side=Side.VALUE), *bounds, type_=type_)
