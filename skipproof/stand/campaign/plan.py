"""The file of a campaign: engines, their time, seeds and classes of questions, checked strictly."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec

from pruning.errors import InputError
from sim.kernel.scenario_schema import error_sentence, parse_toml, read_input
from skipproof.stand.workers.environments import release_name
from strategies.engines.questions import AREAS

_SECONDS_PER_HOUR = 3_600.0
_LABEL = re.compile(r"[A-Za-z0-9][\w.+-]*")

Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
# The upper bound excludes infinity, which TOML can write.
Duration: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Seed: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Keys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; a key that it does not know is an error."""


class PlannedEngine(_Keys, frozen=True, kw_only=True):
    """One engine in one release.

    Attributes:
        name: The name of the engine; with `command`, any name.
        label: A name that no other engine of the campaign has, also of folders; empty is the default one.
        python: The interpreter that has the release.
        pins: The requirements that pip installs into an environment of their own.
        command: The program and the arguments of a worker.
        seconds, hours, examples: The length of the engine's hunts, one of them at most; without one, the
            engine has its share of the budget.
        areas: The classes of questions, by default those of the campaign.
    """

    name: Text
    label: str = ""
    python: Text | None = None
    pins: Texts | None = None
    command: Texts | None = None
    seconds: Duration | None = None
    hours: Duration | None = None
    examples: Count | None = None
    areas: Texts | None = None

    @property
    def own_label(self) -> str:
        """The label, or the name with the version that is pinned."""
        if self.label or self.pins is None:
            return self.label or self.name
        release = release_name(self.pins[0])
        return f"{self.name}-{release.removeprefix(f'{self.name}-')}"

    @property
    def started_by(self) -> str:
        """The key that names what runs the engine."""
        keys = ("python", "pins", "command")
        return next((key for key in keys if getattr(self, key) is not None), "name")

    @property
    def own_seconds(self) -> float | None:
        """The time that the engine names for itself."""
        return self.seconds if self.hours is None else self.hours * _SECONDS_PER_HOUR


class Plan(_Keys, frozen=True, kw_only=True):
    """A campaign.

    Attributes:
        results: The directory of its state, findings and page; `--results` names another.
        engine: The engines, in the order of their turns.
        budget_seconds: The time of all engines together.
        slice_seconds, slice_examples: The limits of one slice.
        seeds: The seeds that slices take in turn.
        areas: The classes of questions, by default all that an engine answers.
        environments: The directory of environments, by default one in `results`.
        corpora: The directory of a corpus for each engine; without it, none is kept.
    """

    engine: Annotated[tuple[PlannedEngine, ...], msgspec.Meta(min_length=1)]
    results: Text | None = None
    budget_seconds: Duration | None = None
    slice_seconds: Duration = 60.0
    slice_examples: Count | None = None
    seeds: Annotated[tuple[Seed, ...], msgspec.Meta(min_length=1)] = (0,)
    areas: Texts | None = None
    environments: Text | None = None
    corpora: Text | None = None

    def areas_of(self, engine: PlannedEngine) -> tuple[str, ...] | None:
        """Return the classes of questions of an engine; None is all that it answers."""
        return self.areas if engine.areas is None else engine.areas

    def lengths_seconds(self) -> Mapping[str, float | None]:
        """Return the time of each engine by its label; None where it is counted in examples.

        The engines that name no length share what the others leave of the budget.
        """
        own = {engine.own_label: engine.own_seconds for engine in self.engine}
        sharing = [engine.own_label for engine in self.engine if _shares(engine)]
        left = (self.budget_seconds or 0.0) - sum(seconds or 0.0 for seconds in own.values())
        return own | {label: left / len(sharing) for label in sharing}

    def identity(self) -> dict[str, Any]:
        """Return what must be the same where a campaign goes on: everything but its length and its places."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("results", "budget_seconds", "environments", "corpora"):
            del document[name]
        for engine in document["engine"]:
            for name in ("seconds", "hours", "examples"):
                del engine[name]
        return document


def read_plan(path: Path) -> Plan:
    """Read the file of a campaign.

    Raises:
        InputError: it cannot be read, is no TOML, or has a key or value that a campaign cannot have; the
            sentence names the file and the key.
    """
    return read_input(path, parse_plan)


def parse_plan(text: str) -> Plan:
    """Return the campaign that a TOML text describes.

    Raises:
        InputError: the text is no TOML, or has a key or value that a campaign cannot have.
    """
    try:
        plan = msgspec.convert(parse_toml(text), Plan)
    except msgspec.ValidationError as error:
        raise InputError(error_sentence(error)) from error
    for ordinal, engine in enumerate(plan.engine):
        _check_engine(engine, f"engine[{ordinal}]")
        _check_areas(engine.areas, f"engine[{ordinal}].areas")
    _check_areas(plan.areas, "areas")
    _check_labels(plan)
    _check_budget(plan)
    return plan


def _check_engine(engine: PlannedEngine, key: str) -> None:
    """Refuse an engine whose keys do not go together."""
    for names in (("python", "pins", "command"), ("seconds", "hours", "examples")):
        present = [name for name in names if getattr(engine, name) is not None]
        if len(present) > 1:
            raise InputError(f"`{key}` has {' and '.join(f'`{name}`' for name in present)}: give one of them")
    if not _LABEL.fullmatch(engine.own_label):
        raise InputError(
            f"`{key}.label` names a folder, of letters, digits and `._+-`: {engine.own_label!r} is none"
        )


def _check_areas(areas: Sequence[str] | None, key: str) -> None:
    """Refuse classes of questions that there are not."""
    for area in areas or ():
        if area not in AREAS:
            raise InputError(f"`{key}` has {area!r}: it is one of {', '.join(AREAS)}")


def _check_labels(plan: Plan) -> None:
    """Refuse two engines of one label."""
    label, count = Counter(engine.own_label for engine in plan.engine).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"`engine`: {count} engines have the label {label!r}: give each a `label` of its own"
        )


def _check_budget(plan: Plan) -> None:
    """Refuse a length that is missing, or a budget that does not hold the engines' own times."""
    own_seconds = sum(engine.own_seconds or 0.0 for engine in plan.engine)
    sharing = [ordinal for ordinal, engine in enumerate(plan.engine) if _shares(engine)]
    if sharing and plan.budget_seconds is None:
        raise InputError(
            f"`engine[{sharing[0]}]` has no `seconds`, `hours` or `examples`, and there is no "
            "`budget_seconds` to divide"
        )
    if plan.budget_seconds is None:
        return
    if own_seconds > plan.budget_seconds or (sharing and own_seconds == plan.budget_seconds):
        raise InputError(
            f"`budget_seconds` is {plan.budget_seconds:g}, and the engines that name their time take "
            f"{own_seconds:g} of it" + (f": none is left for `engine[{sharing[0]}]`" if sharing else "")
        )


def _shares(engine: PlannedEngine) -> bool:
    """Tell whether an engine names no length, so that it has a share of the budget."""
    return engine.own_seconds is None and engine.examples is None
