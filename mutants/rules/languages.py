"""Regular languages whose question whether a range meets them is answered wrongly."""

from collections.abc import Mapping

from mutants.replacements import Replacement
from pruning.rules.sets.languages import Language


def _no_longer(self: Language, state: int, lower: bytes) -> bool:
    """Forget a bound and what starts with it."""
    return any(self._may_follow(state, other) for byte in lower[:1] for other in range(byte + 1, 256))


def _not_itself(self: Language, state: int, lower: bytes) -> bool:
    """Forget the lower bound itself."""
    for byte in lower:
        if any(self._may_follow(state, other) for other in range(byte + 1, 256)):
            return True
        state = self.automaton.step(state, byte)
    return any(self._may_follow(state, other) for other in range(256))


def _no_start(self: Language, state: int, upper: bytes) -> bool:
    """Forget a start of the upper bound."""
    for byte in upper:
        if any(self._may_follow(state, other) for other in range(byte)):
            return True
        state = self.automaton.step(state, byte)
    return self.automaton.accepting[state]


def _below_only(self: Language, state: int, upper: bytes) -> bool:
    """Forget the upper bound itself."""
    for byte in upper:
        if self.automaton.accepting[state] or any(self._may_follow(state, other) for other in range(byte)):
            return True
        state = self.automaton.step(state, byte)
    return False


def _by_signed_bytes(self: Language, state: int, lower: bytes) -> bool:
    """Take bytes from 0x80 on for negative, as some writers do."""
    for byte in lower:
        greater = [other for other in range(256) if (other ^ 0x80) > (byte ^ 0x80)]
        if any(self._may_follow(state, other) for other in greater):
            return True
        state = self.automaton.step(state, byte)
    return self._can_accept(state)


def _always_live(self: Language, state: int) -> bool:
    """Take a state from which nothing is accepted for any other."""
    return True


MUTANTS: Mapping[str, Replacement] = {
    "nothing is longer than the lower bound": Replacement(Language, "_at_least", _no_longer),
    "the lower bound is no member": Replacement(Language, "_at_least", _not_itself),
    "bytes are signed": Replacement(Language, "_at_least", _by_signed_bytes),
    "no start of the upper bound is a member": Replacement(Language, "_at_most", _no_start),
    "the upper bound is no member": Replacement(Language, "_at_most", _below_only),
    "every state is live": Replacement(Language, "_can_accept", _always_live),
}
