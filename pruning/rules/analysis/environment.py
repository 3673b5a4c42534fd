"""The environment of an expression in a predicate: ranges narrowed by the conditions around it.

An environment that no row can be in may hold any ranges; `may_have_rows` tells in which blocks it has rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from pruning.rules.analysis import ranges
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Flag


@dataclass(frozen=True, slots=True)
class Environment:
    """The ranges of those expressions that a condition narrowed, by the ordinals of `Analysis`."""

    narrowed: tuple[tuple[int, Range], ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.narrowed))

    def __hash__(self) -> int:
        return self._hash

    def get(self, subject: int) -> Range | None:
        """Return the narrowed range of an expression; None if it was not narrowed."""
        return dict(self.narrowed).get(subject)

    def narrow(self, subject: int, range_: Range) -> "Environment":
        """Return the environment with the range of one expression replaced."""
        return Environment(tuple(sorted((dict(self.narrowed) | {subject: range_}).items(), key=_ordinal_of)))


def _ordinal_of(item: tuple[int, Range]) -> int:
    """Return the ordinal of an item, for sorting."""
    return item[0]


def may_have_rows(build: Builder, environment: Environment) -> Flag:
    """Return the flag that a row may be in the environment: every narrowed range may have one."""
    return build.and_(*(ranges.may_have_rows(build, range_) for _, range_ in environment.narrowed))


def union(
    build: Builder, environments: list[Environment], elsewhere: Callable[[int], Range | None]
) -> Environment:
    """Return an environment of the rows of any of the environments, of which there is at least one.

    `elsewhere` gives the range of an expression that an environment does not narrow; if it gives None, the
    union does not narrow the expression. In a block in which an environment has no row, it does not widen the
    ranges of the others.
    """
    first, *others = environments
    if all(other == first for other in others):
        return first
    reached = [may_have_rows(build, environment) for environment in environments]
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
