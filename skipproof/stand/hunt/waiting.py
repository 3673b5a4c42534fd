"""The failures of a hunt that wait until there is time to shrink them, a few of each symptom.

A very broken release fails in many ways at once. A queue that took failures as they come would be full of its
loudest fault, and lose the others.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from oracles.answers.contradictions import Discrepancy
from skipproof.stand.hunt.causes import cause, error_words
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.varying import Cure
from strategies.engines.worlds import World

WAITING_MAX = 20

# The kind, the cause and the cure of failures, of which only one waits.
_Key: TypeAlias = tuple[tuple[str, ...], frozenset[str], Cure | None]


@dataclass(slots=True)
class Shrinking:
    """A failure that is being shrunk: the smallest so far, the steps to come, and what was spent on it.

    Attributes:
        cure: The cure that its smaller worlds have, too, so that they do not show another fault; or None.
        is_shrunk_before: Whether a finding was made of it, which may show another fault.
        start: The failure before it was shrunk.
    """

    failure: Finding
    cure: Cure | None = None
    is_shrunk_before: bool = False
    start: Finding = field(init=False)
    steps: Iterator[tuple[World, QuestionResult] | None] | None = None
    worlds: int = 0
    seconds: float = 0.0
    is_done: bool = False

    def __post_init__(self) -> None:
        self.start = self.failure

    @property
    def key(self) -> _Key:
        """The kind, the cause and the cure of the failure."""
        return failure_kind(self.failure.outcome), cause(self.failure.traits), self.cure


class Waiting:
    """At most `WAITING_MAX` failures that wait; where there are more, each symptom has about as many."""

    def __init__(self) -> None:
        self._by_key: dict[_Key, Shrinking] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait, and return whether there was place for it and all others.

        Of two with the same key, the one with fewer traits stays. If all places are taken, the failure has
        the place of one of the symptom that most failures have, if that leaves both symptoms more equal, or
        else of one with its own symptom and more traits.
        """
        key = shrinking.key
        other = self._by_key.get(key)
        if other is not None:
            if _trait_count(shrinking) < _trait_count(other):
                self._by_key[key] = shrinking
            return False
        if len(self) == WAITING_MAX:
            replaced = self._replaced_key(shrinking)
            if replaced is not None:
                del self._by_key[replaced]
                self._by_key[key] = shrinking
            return False
        self._by_key[key] = shrinking
        return True

    def pop(self) -> Shrinking:
        """Remove and return a failure: one of another cause first, then wrong rows, then one of few traits.

        Most others are duplicates of one of few traits.
        """

        def place(key: _Key) -> tuple[bool, bool, int]:
            shrinking = self._by_key[key]
            return shrinking.cure is None, _is_error(shrinking), _trait_count(shrinking)

        return self._by_key.pop(min(self._by_key, key=place))

    def _replaced_key(self, shrinking: Shrinking) -> _Key | None:
        """Return the key of the failure to leave out for another one, or None if there is none."""
        counts = Counter(map(_symptom, self._by_key.values()))
        own = _symptom(shrinking)
        loudest, count = counts.most_common(1)[0]
        is_louder = count > counts[own] + 1
        symptom = loudest if is_louder else own
        replaced = max(
            (key for key, other in self._by_key.items() if _symptom(other) == symptom and other.cure is None),
            key=lambda key: _trait_count(self._by_key[key]),
            default=None,
        )
        if replaced is None or is_louder:
            return replaced
        return replaced if _trait_count(shrinking) < _trait_count(self._by_key[replaced]) else None


def failure_kind(outcome: QuestionResult) -> tuple[str, ...]:
    """Return the kind of a failure; a smaller world must fail in the same way."""
    assert outcome.contradiction is not None
    wrong = outcome.contradiction
    return outcome.question.area, wrong.verdict.value, wrong.oracle.value, error_words(wrong)


def _symptom(shrinking: Shrinking) -> tuple[str, ...]:
    """Return the kind of a failure, without the area of an error: one fault often raises in each."""
    kind = failure_kind(shrinking.failure.outcome)
    return kind[1:] if _is_error(shrinking) else kind


def _is_error(shrinking: Shrinking) -> bool:
    wrong = shrinking.failure.outcome.contradiction
    return wrong is not None and wrong.verdict is Discrepancy.RAISED


def _trait_count(shrinking: Shrinking) -> int:
    return len(shrinking.failure.traits)
