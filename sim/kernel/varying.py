"""The cases of a scenario: one for each combination of the values that it varies."""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pruning.errors import InputError
from sim.kernel.scenario_schema import Claimed, Setting, converted


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a scenario is with some settings.

    Attributes:
        settings: By the paths of keys; none where nothing varies.
        scenario: Itself, varying nothing any more.
    """

    settings: Mapping[str, Setting]
    scenario: Claimed

    @property
    def name(self) -> str:
        """The settings, for people; each by the last part of its path."""
        return listed(self.settings)

    def has(self, settings: Mapping[str, Setting]) -> bool:
        """Whether these are among its settings."""
        return settings.items() <= self.settings.items()


def cases(given: Claimed) -> list[Case]:
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


def cases_with(given: Claimed, texts: Sequence[str]) -> list[Case]:
    """The cases that have each of these settings.

    Args:
        texts: KEY=VALUE each: the path of a key that varies, or what comes after a dot of it, and a value as
            TOML spells it; a text may go without quotes.
    Raises:
        InputError: as `cases`; or no key that varies is meant, or several are, or it has no such value.
    """
    kept = cases(given)
    for text in texts:
        key, _, told = text.partition("=")
        path = _varied(given, key.strip(), text)
        kept = [case for case in kept if _told(told.strip(), case.settings[path])]
        if not kept:
            known = ", ".join(map(spelled, given.vary[path]))
            raise InputError(f"{text}: no case that is left has it; {path} may be {known}")
    return kept


def _varied(given: Claimed, key: str, text: str) -> str:
    """The path of the key that varies and is meant."""
    meant = [path for path in given.vary if f".{path}".endswith(f".{key}")]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(f"{text}: {key} is the end of {' and of '.join(meant)}: give more of it")
    known = ", ".join(given.vary) or "nothing"
    raise InputError(f"{text}: {key or 'that'} does not vary; what does is {known}")


def _told(text: str, setting: Setting) -> bool:
    """Whether a text spells a value."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    # 1 is no spelling of true, nor of 1.0, though Python calls them equal.
    return text == setting or (type(value) is type(setting) and value == setting)


def listed(settings: Mapping[str, Setting]) -> str:
    """Settings for people, each by the last part of its path."""
    return ", ".join(f"{path.rpartition('.')[2]} {spelled(value)}" for path, value in settings.items())


def spelled(setting: Setting) -> str:
    """A value as TOML spells it, but texts without quotes."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _with(given: Claimed, settings: Mapping[str, Setting]) -> Claimed:
    told = {**msgspec.json.decode(msgspec.json.encode(given)), "vary": {}}
    for path, value in settings.items():
        _set(told, path, value)
    try:
        return converted(told, type(given))
    except InputError as error:
        raise InputError(f"vary: {error}") from error


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
