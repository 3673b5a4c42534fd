"""Ranks the children of an AND or OR by benefit and cost, and cuts those that do not pay: a state machine.

It gets the cost of each child and the lanes that it decided, chunk by chunk, and reads no clock itself
("Pruning in Snowflake", 3.2).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

# Children are sorted once in so many chunks; a record that is 16 chunks old counts a tenth.
RANKED_CHUNKS = 4
_KEPT = 0.87
# A child is not cut before it has records of this many chunks.
CUT_CHUNKS_MIN = 4


@dataclass(frozen=True, slots=True)
class ChildRecord:
    """The record of a child: the lanes that it decided, and the time that it took.

    `lanes` counts those of all chunks, `computed` those that it was computed on, and `undecided` those
    among them that no other child had decided before.
    """

    lanes: float = 0
    computed: float = 0
    undecided: float = 0
    decided: float = 0
    seconds: float = 0

    def plus(self, other: "ChildRecord") -> "ChildRecord":
        """Return the sum of two records."""
        return ChildRecord(
            self.lanes + other.lanes,
            self.computed + other.computed,
            self.undecided + other.undecided,
            self.decided + other.decided,
            self.seconds + other.seconds,
        )

    def decay(self) -> "ChildRecord":
        """Return the record with less weight, before a newer one is added."""
        kept = (self.lanes, self.computed, self.undecided, self.decided, self.seconds)
        return ChildRecord(*(part * _KEPT for part in kept))

    @property
    def rank(self) -> float:
        """The seconds per lane over the fraction decided of the undecided lanes: the lowest goes first.

        One extra lane counts as half decided, so that children which decided nothing still have an order. A
        child without a record goes first, so that it gets one.
        """
        if not self.undecided:
            return 0.0
        return (self.seconds / self.computed) / ((self.decided + 0.5) / (self.undecided + 1))

    def futures(self, lanes: int, read_seconds: float, *, past: float) -> tuple[float, float]:
        """Return predicted seconds for `lanes` more: to evaluate it, and to read the blocks it would skip.

        One extra lane counts as decided, so that a child which decided nothing yet is not predicted never to.

        Args:
            past: The lanes that the record is of, also those on which the child was not needed.
        """
        keeping = self.seconds / past * lanes
        stopping = (self.decided + 1) / (past + 1) * lanes * read_seconds
        return keeping, stopping


@dataclass(slots=True)
class Ranking:
    """The children of one AND or OR: their order, their records, and the children that are cut."""

    children: int
    order: list[int] = field(default_factory=list)
    cut: set[int] = field(default_factory=set)
    _recent: list[ChildRecord] = field(default_factory=list)
    _total: list[ChildRecord] = field(default_factory=list)
    _chunks: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.order = list(range(self.children))
        self._recent = [ChildRecord()] * self.children
        self._total = [ChildRecord()] * self.children
        self._chunks = [0] * self.children

    def observe(self, child: int, record: ChildRecord) -> None:
        """Add the record of a child in one chunk; a child that was not evaluated has an empty one."""
        self._total[child] = self._total[child].plus(record)
        self._chunks[child] += 1
        if record.undecided:
            self._recent[child] = self._recent[child].decay().plus(record)

    def rerank(self) -> None:
        """Order the children by their ranks; equal ranks keep their order."""
        self.order.sort(key=lambda child: self._recent[child].rank)

    def cut_last(
        self, lanes: int, read_seconds: float, spared: Collection[int] = (), *, past: float | None = None
    ) -> int | None:
        """Cut the last child if leaving it out is predicted to cost less on the `lanes` that remain.

        Only the last in the order is considered, because no other child decided the lanes that it decided.
        Children in `spared` are never cut.

        Args:
            lanes: The lanes that remain.
            read_seconds: The time to read a block.
            spared: The children that are never cut.
            past: The lanes so far; None for those of the child's own records.

        Returns:
            The child that was cut, if one was.
        """
        candidates = [child for child in self.order if child not in spared]
        if not candidates or not lanes:
            return None
        last = candidates[-1]
        if not self._has_evidence(last):
            return None
        record = self._total[last]
        keeping, stopping = record.futures(lanes, read_seconds, past=record.lanes if past is None else past)
        if keeping <= stopping:
            return None
        self.order.remove(last)
        self.cut.add(last)
        return last

    def _has_evidence(self, child: int) -> bool:
        """Tell whether a child has records of enough chunks to be cut."""
        return self._chunks[child] >= CUT_CHUNKS_MIN and self._total[child].undecided > 0


def spread_order(count: int) -> Sequence[int]:
    """Return the ordinals below `count`, each once, so that the first few are spread over all of them.

    Tables are clustered, so their first chunks are not representative.
    """
    strides = range(max(1, round(count * 0.618)), count + 1)
    stride = next((stride for stride in strides if _coprime(stride, count)), 1)
    return [(ordinal * stride) % count for ordinal in range(count)]


def _coprime(left: int, right: int) -> bool:
    """Tell whether two numbers have no common divisor."""
    while right:
        left, right = right, left % right
    return left == 1
