"""What is known of expressions at one place in a predicate: the block's ranges, narrowed.

An environment that no row can be in may say anything; `feasible` tells where.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pruning.rules.analysis import ranges
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Flag


@dataclass(frozen=True, slots=True)
class Environment:
    """The ranges of those expressions that a condition narrowed, by the ordinals that `Analysis` gave."""

    narrowed: tuple[tuple[int, Range], ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.narrowed))

    def __hash__(self) -> int:
        return self._hash

    def get(self, subject: int) -> Range | None:
        """The narrowed range of an expression, if it was narrowed."""
        return dict(self.narrowed).get(subject)

    def narrow(self, subject: int, range_: Range) -> "Environment":
        """The same with another range for one expression."""
        return Environment(tuple(sorted((dict(self.narrowed) | {subject: range_}).items(), key=_subject)))


def _subject(item: tuple[int, Range]) -> int:
    return item[0]


def feasible(build: Builder, environment: Environment) -> Flag:
    """Whether a row may be in it: each narrowed expression still may be something."""
    return build.and_(*(ranges.exists(build, range_) for _, range_ in environment.narrowed))


def union(
    build: Builder, environments: list[Environment], elsewhere: Callable[[int], Range | None]
) -> Environment:
    """The rows of any of the environments, of which there is at least one.

    `elsewhere` gives the range of an expression where an environment leaves it alone; where it gives
    none, the union does. An environment that no row of a block can be in does not loosen the others
    there.
    """
    first, *others = environments
    if all(other == first for other in others):
        return first
    reached = [feasible(build, environment) for environment in environments]
    joined = Environment()
    for subject in sorted({subject for environment in environments for subject, _ in environment.narrowed}):
        default = elsewhere(subject)
        if default is None:
            continue
        alternatives = [environment.get(subject) or default for environment in environments]
        if all(alternative == alternatives[0] for alternative in alternatives):
            joined = joined.narrow(subject, alternatives[0])
            continue
        pieces = zip(alternatives, reached, strict=True)
        joined = joined.narrow(
            subject,
            ranges.union_of(build, [ranges.only_where(build, piece, there) for piece, there in pieces]),
        )
    return joined
