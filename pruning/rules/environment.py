"""What is known of the columns at one place in a predicate: the block's ranges, narrowed.

An environment that no row can be in may say anything; `feasible` tells where.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pruning.rules import ranges
from pruning.rules.program import Builder, Flag
from pruning.rules.ranges import Range


@dataclass(frozen=True, slots=True)
class Environment:
    """The ranges of those columns that a condition narrowed; the others are as in the block."""

    narrowed: tuple[tuple[str, Range], ...] = ()
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.narrowed))

    def __hash__(self) -> int:
        return self._hash

    def get(self, column: str) -> Range | None:
        """The narrowed range of a column, if it was narrowed."""
        return dict(self.narrowed).get(column)

    def with_column(self, column: str, range_: Range) -> "Environment":
        """The same with another range for one column."""
        return _environment(dict(self.narrowed) | {column: range_})


def _environment(narrowed: Mapping[str, Range]) -> Environment:
    return Environment(tuple(sorted(narrowed.items(), key=lambda item: item[0])))


def feasible(build: Builder, environment: Environment) -> Flag:
    """Whether a row may be in it: each narrowed column still may be something."""
    return build.and_(*(ranges.exists(build, range_) for _, range_ in environment.narrowed))


def union(build: Builder, environments: list[Environment], in_block: Callable[[str], Range]) -> Environment:
    """The rows of any of the environments, of which there is at least one.

    `in_block` gives the range of a column that an environment leaves alone. An environment that no
    row of a block can be in does not loosen the others there.
    """
    first, *others = environments
    if all(other == first for other in others):
        return first
    parts = [(dict(environment.narrowed), feasible(build, environment)) for environment in environments]
    joined: dict[str, Range] = {}
    for column in sorted({column for narrowed, _ in parts for column in narrowed}):
        alternatives = [narrowed.get(column) or in_block(column) for narrowed, _ in parts]
        if all(alternative == alternatives[0] for alternative in alternatives):
            joined[column] = alternatives[0]
            continue
        joined[column] = ranges.union_of(
            build,
            [
                ranges.only_where(build, alternative, reached)
                for alternative, (_, reached) in zip(alternatives, parts, strict=True)
            ],
        )
    return _environment(joined)
