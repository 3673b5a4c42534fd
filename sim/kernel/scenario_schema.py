"""The schema that all scenario files share: a claim, seeds, varied settings, and expectations.

An unknown key or a value of a wrong type is an error whose sentence names both. Units are in the names of
keys.

"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, Self, TypeAlias, TypeVar

import msgspec

from pruning.errors import InputError
from sim.kernel.model import Model
from sim.kernel.trace import Trace

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
# A value of a key that varies.
Setting: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An invariant that does not hold, and when this showed."""

    invariant: str
    at_us: int
    what: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_us:,} us: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationClaim:
    """A history of transactions and the isolation level that the separate checker must find in it.

    Attributes:
        invariant: The invariant that is violated if the history does not satisfy the level; `lost_` and this
            name a measure, too.
        level: The isolation level that the history has to satisfy.
        history: A line of the notation of `docs/reference/histories.md`, parsed.
        required: True if to lose the level is a violation; else it is only counted.
    """

    invariant: str
    level: str
    history: Mapping[str, Any]
    required: bool = True


class ScenarioRun(Protocol):
    """One run of a scenario, and its outcome."""

    @property
    def trace(self) -> Trace:
        """The events of the run, in the order of time."""

    def measures(self) -> Mapping[str, float]:
        """Return the measures of the run, by name."""

    def latencies_us(self) -> Mapping[str, int]:
        """Return the latency of each query that was answered, by the query's name."""

    def violations(self) -> Iterable[Violation]:
        """Return the invariants that did not hold."""

    def histories(self) -> Iterable[IsolationClaim]:
        """Return the histories that the isolation checker has to judge."""

    def results(self) -> Mapping[str, str]:
        """Return a digest of each result by its inputs; equal inputs must give equal results in all runs."""


class Seeds(Model, frozen=True, kw_only=True):
    """A range of seeds."""

    first: Count = 0
    count: Positive = 1


class Bounds(Model, frozen=True, kw_only=True):
    """The bounds of a measure in each run; at least one run must reach `some`."""

    min: float | None = None
    max: float | None = None
    some: float | None = None


class SettingsExpectation(Model, frozen=True, kw_only=True):
    """Expectations of those runs alone that have these settings."""

    settings: dict[str, Setting]
    expect: dict[str, Bounds]


class Comparison(Model, frozen=True, kw_only=True):
    """Bounds of a ratio: a measure of runs of some settings, divided by that of equal runs with other
    settings.
    """

    measure: str
    of: dict[str, Setting]
    to: dict[str, Setting]
    where: dict[str, Setting] = msgspec.field(default_factory=dict)
    min: float | None = None
    max: float | None = None


class Agreement(Model, frozen=True, kw_only=True):
    """Runs that differ in one key alone must have the same results wherever their inputs were the same.

    Attributes:
        across: The path of the key that varies.
        min: The number of results that such runs must share; with fewer, the claim was not put to the test.
    """

    across: str
    min: Positive = 1


class ScenarioSchema(Model, frozen=True, kw_only=True):
    """A scenario file, apart from the world that it simulates.

    Attributes:
        vary: Values of keys, by their paths, as in `"world.warehouse.nodes" = [1, 2]`; each combination of
            them is run with each seed (`sim.kernel.varying`).
        expect: Bounds of measures by their names, in all runs.
        where: Expectations of some runs.
        compare: Ratios of measures.
        agree: Runs that must have the same results.
    """

    title: str
    claim: str
    seeds: Seeds = Seeds()
    vary: dict[str, tuple[Setting, ...]] = msgspec.field(default_factory=dict)
    expect: dict[str, Bounds] = msgspec.field(default_factory=dict)
    where: tuple[SettingsExpectation, ...] = ()
    compare: tuple[Comparison, ...] = ()
    agree: tuple[Agreement, ...] = ()

    def validate(self) -> Self:
        """Return this scenario if its parts go together.

        Raises:
            InputError: its parts do not go together, or it asks for something that the simulator lacks.
        """
        return self

    def play(self, seed: int) -> ScenarioRun:
        """Run the scenario with one seed; each kind of scenario has its own run."""
        # msgspec.Struct has a metaclass of its own, so this class cannot be abstract.
        raise NotImplementedError


Kind = TypeVar("Kind", bound=ScenarioSchema)
Contents = TypeVar("Contents")


def read_input(path: Path, parse: Callable[[str], Contents]) -> Contents:
    """Return the contents of a text file that a function parses.

    Raises:
        InputError: the file cannot be read, or the function raises the error; the sentence names the file.
    """
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Return the keys and values of a TOML text.

    Raises:
        InputError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"it is no TOML: {error}") from error


def convert_scenario(document: Mapping[str, Any], kind: type[Kind]) -> Kind:
    """Return the scenario that keys and values describe.

    Raises:
        InputError: a key or value is none that such a scenario can have.
    """
    try:
        scenario = msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise InputError(error_sentence(error)) from error
    return scenario.validate()


def error_sentence(error: msgspec.ValidationError) -> str:
    """Return a validation error as a sentence for people."""
    return str(error).replace("`$.", "`").replace("Object contains", "there is an")
