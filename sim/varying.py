"""The cases of a scenario: one for each combination of the values that it varies."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pruning.errors import InputError
from sim.scenario import Scenario, Setting, checked, sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a scenario is with some settings.

    Attributes:
        settings: By the paths of keys; none where nothing varies.
        scenario: Itself, varying nothing any more.
    """

    settings: Mapping[str, Setting]
    scenario: Scenario

    @property
    def name(self) -> str:
        """The settings, for people; each by the last part of its path."""
        return ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in self.settings.items())

    def has(self, settings: Mapping[str, Setting]) -> bool:
        """Whether these are among its settings."""
        return settings.items() <= self.settings.items()


def cases(given: Scenario) -> list[Case]:
    """All cases, in the order of the values, the last key varying fastest.

    Raises:
        InputError: a key is none that a scenario has, a value is none that it may have, or a query of a case
            cannot be asked.
    """
    for path, values in given.vary.items():
        if not values:
            raise InputError(f'vary "{path}": there is no value')
    found = []
    for chosen in itertools.product(*given.vary.values()):
        settings = dict(zip(given.vary, chosen, strict=True))
        found.append(Case(settings=settings, scenario=_with(given, settings)))
    return found


def _with(given: Scenario, settings: Mapping[str, Setting]) -> Scenario:
    told = {**msgspec.json.decode(msgspec.json.encode(given)), "vary": {}}
    for path, value in settings.items():
        _set(told, path, value)
    try:
        return checked(msgspec.convert(told, Scenario))
    except msgspec.ValidationError as error:
        raise InputError(f"vary: {sentence(error)}") from error


def _set(told: Any, path: str, value: Setting) -> None:
    """Set one key, in a table, or in the one of several tables that has that place, or that name."""
    *parts, last = path.split(".")
    for part in parts:
        if isinstance(told, list):
            there = [one for at, one in enumerate(told) if part in (str(at), one.get("name"))]
        else:
            there = [told[part]] if part in told else []
        if len(there) != 1 or not isinstance(there[0], dict | list):
            raise InputError(f'vary "{path}": a scenario has no {part} there')
        (told,) = there
    if not isinstance(told, dict):
        raise InputError(f'vary "{path}": it names no key')
    told[last] = value
