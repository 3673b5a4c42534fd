"""What every scenario file has, whatever it simulates: a claim, seeds, what varies, and what is expected.

A key that is not known is an error, and so is a value of another type; the sentence names both. Units are in
the names of keys.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, Self, TypeAlias, TypeVar

import msgspec

from pruning.errors import InputError
from sim.kernel.model import Model
from sim.kernel.trace import Trace

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
# A value that a key may have.
Setting: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What does not hold, and when it showed."""

    invariant: str
    at_us: int
    what: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_us:,} us: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgeable:
    """A history of transactions that somebody else judges, since a simulator does not judge itself.

    Attributes:
        invariant: Which is violated if it does not satisfy the level; a measure too, named `lost_` and this.
        level: The isolation level that it has to satisfy.
        history: A line of the notation of `docs/reference/histories.md`, as it was read.
        required: Whether to lose the level is a violation; else it is counted only.
    """

    invariant: str
    level: str
    history: Mapping[str, Any]
    required: bool = True


class Played(Protocol):
    """One run of a scenario, and what came of it."""

    @property
    def trace(self) -> Trace:
        """What happened, in the order of time."""

    def measures(self) -> Mapping[str, float]:
        """In numbers, by name."""

    def latencies_us(self) -> Mapping[str, int]:
        """Of each query that was answered."""

    def violations(self) -> Iterable[Violation]:
        """What did not hold."""

    def histories(self) -> Iterable[Judgeable]:
        """What is left to the checker of isolation."""

    def results(self) -> Mapping[str, str]:
        """What came of what, which must be the same in all runs; by what was given."""


class Seeds(Model, frozen=True, kw_only=True):
    """A range of seeds."""

    first: Count = 0
    count: Positive = 1


class Bounds(Model, frozen=True, kw_only=True):
    """What a measure must be, in each run; `some` must be reached in one of them."""

    min: float | None = None
    max: float | None = None
    some: float | None = None


class Where(Model, frozen=True, kw_only=True):
    """What is expected of some runs only: those of these settings."""

    settings: dict[str, Setting]
    expect: dict[str, Bounds]


class Comparison(Model, frozen=True, kw_only=True):
    """How often a measure of runs of some settings is that of the same runs with others."""

    measure: str
    of: dict[str, Setting]
    to: dict[str, Setting]
    where: dict[str, Setting] = msgspec.field(default_factory=dict)
    min: float | None = None
    max: float | None = None


class Agreement(Model, frozen=True, kw_only=True):
    """Runs that differ in one key alone have the same results, wherever they were given the same.

    Attributes:
        across: The path of the key, which varies.
        min: How many results such runs have to share; else nothing was put to the test.
    """

    across: str
    min: Positive = 1


class Claimed(Model, frozen=True, kw_only=True):
    """One file, apart from what it simulates.

    Attributes:
        vary: Values of keys, by their paths, as in `"world.warehouse.nodes" = [1, 2]`; each combination of
            them is run with each seed (`sim.kernel.varying`).
        expect: Of measures by their names, in all runs.
        where: Expectations of some.
        compare: Ratios of measures.
        agree: Runs that have the same results.
    """

    title: str
    claim: str
    seeds: Seeds = Seeds()
    vary: dict[str, tuple[Setting, ...]] = msgspec.field(default_factory=dict)
    expect: dict[str, Bounds] = msgspec.field(default_factory=dict)
    where: tuple[Where, ...] = ()
    compare: tuple[Comparison, ...] = ()
    agree: tuple[Agreement, ...] = ()

    def checked(self) -> Self:
        """The same scenario.

        Raises:
            InputError: its parts do not go together, or it asks for what the simulator has not.
        """
        return self

    def play(self, seed: int) -> Played:
        """The run of one seed; each kind of scenario has its own."""
        # Structs have a metaclass of their own, which is why this is no abstract class.
        raise NotImplementedError


Kind = TypeVar("Kind", bound=Claimed)


def tables_of(text: str) -> dict[str, Any]:
    """What a text in TOML says.

    Raises:
        InputError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"it is no TOML: {error}") from error


def converted(told: Mapping[str, Any], kind: type[Kind]) -> Kind:
    """The scenario that keys and values describe.

    Raises:
        InputError: they say what such a scenario cannot.
    """
    try:
        found = msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise InputError(sentence(error)) from error
    return found.checked()


def sentence(error: msgspec.ValidationError) -> str:
    """What is wrong with a value, for people."""
    return str(error).replace("`$.", "`").replace("Object contains", "there is an")
