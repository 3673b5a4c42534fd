"""Which child of an AND or OR to ask next, and which to ask no more: a pure state machine.

It is told what each child cost and decided, chunk by chunk, and keeps no time of its own
("Pruning in Snowflake", 3.2).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

# Orders change slowly, so that a chunk costs no sorting; what is 16 chunks old counts a tenth.
RANKED_CHUNKS = 4
_KEPT = 0.87
# Before it has seen as many chunks, a child is not cut, whatever they said.
CUT_CHUNKS_MIN = 4


@dataclass(frozen=True, slots=True)
class Tally:
    """What a child did: how many lanes it decided, and how long it took.

    `lanes` counts those of all chunks, `computed` those that it was computed on, and `asked` those
    among them that nothing had decided before.
    """

    lanes: float = 0
    computed: float = 0
    asked: float = 0
    decided: float = 0
    seconds: float = 0

    def plus(self, other: "Tally") -> "Tally":
        """Both together."""
        return Tally(
            self.lanes + other.lanes,
            self.computed + other.computed,
            self.asked + other.asked,
            self.decided + other.decided,
            self.seconds + other.seconds,
        )

    def faded(self) -> "Tally":
        """The same, of less weight beside what comes next."""
        kept = (self.lanes, self.computed, self.asked, self.decided, self.seconds)
        return Tally(*(part * _KEPT for part in kept))

    @property
    def rank(self) -> float:
        """Seconds per lane over the fraction decided of those asked: the lowest goes first.

        One lane more than were asked counts as half decided, so that a child that decided nothing
        still has its place. One that was never asked goes first, to be known.
        """
        if not self.asked:
            return 0.0
        return (self.seconds / self.computed) / ((self.decided + 0.5) / (self.asked + 1))

    def futures(self, lanes: int, read_seconds: float) -> tuple[float, float]:
        """Predicted seconds for `lanes` more: (to ask it of them, to read what it would skip).

        One lane more than was seen counts as decided, or nothing seen would mean nothing to come.
        """
        keeping = self.seconds / self.lanes * lanes
        stopping = (self.decided + 1) / (self.lanes + 1) * lanes * read_seconds
        return keeping, stopping


@dataclass(slots=True)
class Ranking:
    """The children of one AND or OR: their order, what each did, and which are cut."""

    children: int
    order: list[int] = field(default_factory=list)
    cut: set[int] = field(default_factory=set)
    _recent: list[Tally] = field(default_factory=list)
    _total: list[Tally] = field(default_factory=list)
    _chunks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.order = list(range(self.children))
        self._recent = [Tally()] * self.children
        self._total = [Tally()] * self.children
        self._chunks = [0] * self.children

    def observe(self, child: int, seen: Tally) -> None:
        """Tell what a child did in one chunk; one that was not asked did nothing."""
        self._total[child] = self._total[child].plus(seen)
        self._chunks[child] += 1
        if seen.asked:
            self._recent[child] = self._recent[child].faded().plus(seen)

    def rerank(self) -> None:
        """Order the children by their ranks; equals keep their places."""
        self.order.sort(key=lambda child: self._recent[child].rank)

    def cut_last(self, lanes: int, read_seconds: float, spared: Collection[int] = ()) -> int | None:
        """Cut the last child if stopping is the cheaper future for the `lanes` that remain.

        Only the last in the order is judged: what it decided, no other child did. Those in `spared`
        are passed over.

        Returns:
            The child that was cut, if one was.
        """
        candidates = [child for child in self.order if child not in spared]
        if not candidates or not lanes:
            return None
        last = candidates[-1]
        keeping, stopping = self._total[last].futures(lanes, read_seconds) if self._seen(last) else (0.0, 0.0)
        if keeping <= stopping:
            return None
        self.order.remove(last)
        self.cut.add(last)
        return last

    def _seen(self, child: int) -> bool:
        return self._chunks[child] >= CUT_CHUNKS_MIN and self._total[child].asked > 0


def spread(count: int) -> Sequence[int]:
    """The ordinals below `count`, each once, so that the first few are from everywhere.

    Tables are clustered: their first chunks alone would tell little of the rest.
    """
    strides = range(max(1, round(count * 0.618)), count + 1)
    stride = next((stride for stride in strides if _coprime(stride, count)), 1)
    return [(ordinal * stride) % count for ordinal in range(count)]


def _coprime(left: int, right: int) -> bool:
    while right:
        left, right = right, left % right
    return left == 1
