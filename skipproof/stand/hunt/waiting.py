"""The failures of a hunt that wait until there is time to shrink them, few with the same symptoms.

A very broken release fails in many ways at once. A queue that took failures as they come would be full of its
loudest fault, and lose the others.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from oracles.answers.contradictions import Discrepancy
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, cause, error_words
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.varying import Cure
from strategies.engines.questions import Call, subterms
from strategies.engines.worlds import World

WAITING_MAX = 40

# The kind, the cause and the cure of failures, of which only one waits.
_Key: TypeAlias = tuple[tuple[str, ...], frozenset[str], Cure | None]


@dataclass(slots=True)
class Shrinking:
    """A failure that is being shrunk: the smallest so far, the steps to come, and what was spent on it.

    Attributes:
        cure: The cure that its smaller worlds have, too, so that they do not show another fault; or None.
        is_shrunk_before: Whether a finding was made of it, which may show another fault.
        is_its_turn: Whether its turn has come, so that it goes on before others.
        start: The failure before it was shrunk.
        symptoms: Its traits, the functions of its question and its kind, before it was shrunk.
    """

    failure: Finding
    cure: Cure | None = None
    is_shrunk_before: bool = False
    is_its_turn: bool = False
    start: Finding = field(init=False)
    symptoms: frozenset[str] = field(init=False)
    steps: Iterator[tuple[World, QuestionResult] | None] | None = None
    worlds: int = 0
    seconds: float = 0.0
    is_done: bool = False

    def __post_init__(self) -> None:
        self.start = self.failure
        self.symptoms = self.failure.traits | _functions(self.failure) | {" ".join(_kind_anywhere(self))}

    @property
    def key(self) -> _Key:
        """The kind, the cause and the cure of the failure."""
        return failure_kind(self.failure.outcome), cause(self.failure.traits), self.cure


class Waiting:
    """At most `WAITING_MAX` failures that wait: those with a symptom that few others have.

    A quiet fault mostly has a symptom that loud ones lack: a function, a layout, a kind of wrong answer.
    """

    def __init__(self) -> None:
        self._by_key: dict[_Key, Shrinking] = {}
        # The number of failures with each symptom whose turn has come.
        self._turns: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait, and return whether there was place for it and all others.

        Of two with the same key, the one with fewer traits stays. If all places are taken, one of the rank
        with the most failures is left out: the one whose rarest symptom is the commonest; of several, the one
        with most traits.
        """
        key = shrinking.key
        other = self._by_key.get(key)
        if other is None:
            self._by_key[key] = shrinking
            if len(self) <= WAITING_MAX:
                return True
            del self._by_key[self._commonest_key()]
        elif _trait_count(shrinking) < _trait_count(other):
            self._by_key[key] = shrinking
        return False

    def pop(self) -> Shrinking:
        """Remove and return the failure whose turn it is.

        The first is the one whose turn it was before and that is not done, then one of another cause, then
        rows that only what is pruned gets wrong, then other wrong rows, then one with a symptom that few
        had whose turn it was, then one of few traits. Most others are duplicates of one of few traits.
        """

        def place(key: _Key) -> tuple[bool, bool, tuple[bool, bool], int, int]:
            shrinking = self._by_key[key]
            return (
                not shrinking.is_its_turn,
                shrinking.cure is None,
                _rank(shrinking),
                _rarity(shrinking, self._turns),
                _trait_count(shrinking),
            )

        shrinking = self._by_key.pop(min(self._by_key, key=place))
        if not shrinking.is_its_turn:
            shrinking.is_its_turn = True
            self._turns.update(shrinking.symptoms)
        return shrinking

    def _commonest_key(self) -> _Key:
        """Return the key of the failure to leave out; of equal ones, the last."""
        counts = self._turns + Counter(
            symptom for other in self._by_key.values() for symptom in other.symptoms
        )

        def place(key: _Key) -> tuple[bool, int, int, int]:
            shrinking = self._by_key[key]
            may_go = shrinking.cure is None and not shrinking.is_its_turn
            return (
                may_go,
                self._count_of_rank(_rank(shrinking)),
                _rarity(shrinking, counts),
                _trait_count(shrinking),
            )

        return max(reversed(self._by_key), key=place)

    def _count_of_rank(self, rank: tuple[bool, bool]) -> int:
        """Return how many failures of a rank wait."""
        return sum(_rank(other) == rank for other in self._by_key.values())


def failure_kind(outcome: QuestionResult) -> tuple[str, ...]:
    """Return the kind of a failure; a smaller world must fail in the same way."""
    assert outcome.contradiction is not None
    wrong = outcome.contradiction
    return outcome.question.area, wrong.verdict.value, wrong.oracle.value, error_words(wrong)


def _rarity(shrinking: Shrinking, counts: Counter[str]) -> int:
    """Return the count of the symptom of a failure that the fewest others have."""
    return min(counts[symptom] for symptom in shrinking.symptoms)


def _functions(failure: Finding) -> frozenset[str]:
    """Return the names of the functions of a failure's question."""
    parts = (part for term in failure.outcome.question.terms for part in subterms(term))
    return frozenset(part.function for part in parts if isinstance(part, Call))


def _kind_anywhere(shrinking: Shrinking) -> tuple[str, ...]:
    """Return the kind of a failure, without the area of an error: one fault often raises in each."""
    kind = failure_kind(shrinking.failure.outcome)
    return kind[1:] if _is_error(shrinking) else kind


def _rank(shrinking: Shrinking) -> tuple[bool, bool]:
    """Return the rank of a failure: rows that only what is pruned gets wrong, other wrong rows, an error."""
    return _is_error(shrinking), AGAINST_THE_REFERENCE in shrinking.start.traits


def _is_error(shrinking: Shrinking) -> bool:
    wrong = shrinking.failure.outcome.contradiction
    return wrong is not None and wrong.verdict is Discrepancy.RAISED


def _trait_count(shrinking: Shrinking) -> int:
    return len(shrinking.failure.traits)
