"""The cases of a scenario: one for each combination of the values that it varies."""

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pruning.errors import InputError
from sim.kernel.scenario_schema import ScenarioSchema, Setting, convert_scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario with one combination of the settings that it varies.

    Attributes:
        settings: The settings by the paths of their keys; empty where nothing varies.
        scenario: The scenario with these settings; nothing varies in it.
    """

    settings: Mapping[str, Setting]
    scenario: ScenarioSchema

    @property
    def name(self) -> str:
        """The settings as people read them; each is named by the last part of its path."""
        return settings_text(self.settings)

    def has(self, settings: Mapping[str, Setting]) -> bool:
        """Tell whether the case has all these settings."""
        return settings.items() <= self.settings.items()


def all_cases(scenario: ScenarioSchema) -> list[Case]:
    """Return all cases in the order of the values; the last key varies fastest.

    Raises:
        InputError: a scenario has no such key, a key cannot have such a value, or a query of a case cannot be
            evaluated.
    """
    for path, values in scenario.vary.items():
        if not values:
            raise InputError(f'vary "{path}": there is no value')
    cases = []
    for chosen in itertools.product(*scenario.vary.values()):
        settings = dict(zip(scenario.vary, chosen, strict=True))
        cases.append(Case(settings=settings, scenario=_with_settings(scenario, settings)))
    return cases


def cases_with(scenario: ScenarioSchema, texts: Sequence[str]) -> list[Case]:
    """Return the cases that have each of these settings.

    Args:
        texts: Each is KEY=VALUE: the path of a key that varies, or its end after a dot, and a value in TOML
            notation; strings may be written without quotes.
    Raises:
        InputError: as `all_cases`; or a text matches no varying key, or several, or a value that the key
            lacks.
    """
    kept = all_cases(scenario)
    for text in texts:
        key, _, value = text.partition("=")
        path = _matching_key(scenario, key.strip(), text)
        kept = [case for case in kept if _is_spelling(value.strip(), case.settings[path])]
        if not kept:
            choices = ", ".join(map(setting_text, scenario.vary[path]))
            raise InputError(f"{text}: no case that is left has it; {path} may be {choices}")
    return kept


def _matching_key(scenario: ScenarioSchema, key: str, text: str) -> str:
    """Return the path of the one varying key that ends in this key."""
    meant = [path for path in scenario.vary if f".{path}".endswith(f".{key}")]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(f"{text}: {key} is the end of {' and of '.join(meant)}: give more of it")
    choices = ", ".join(scenario.vary) or "nothing"
    raise InputError(f"{text}: {key or 'that'} does not vary; what does is {choices}")


def _is_spelling(text: str, setting: Setting) -> bool:
    """Tell whether a text is the notation of a setting."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    # The text 1 is the notation neither of true nor of 1.0, although Python calls these equal to 1.
    return text == setting or (type(value) is type(setting) and value == setting)


def settings_text(settings: Mapping[str, Setting]) -> str:
    """Return settings as people read them; each is named by the last part of its path."""
    return ", ".join(f"{path.rpartition('.')[2]} {setting_text(value)}" for path, value in settings.items())


def setting_text(setting: Setting) -> str:
    """Return a setting in TOML notation, but strings without quotes."""
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _with_settings(scenario: ScenarioSchema, settings: Mapping[str, Setting]) -> ScenarioSchema:
    document = {**msgspec.json.decode(msgspec.json.encode(scenario)), "vary": {}}
    for path, value in settings.items():
        _set_key(document, path, value)
    try:
        return convert_scenario(document, type(scenario))
    except InputError as error:
        raise InputError(f"vary: {error}") from error


def _set_key(document: Any, path: str, value: Setting) -> None:
    """Set one key in a table, or in one of several tables, which the path selects by position or name."""
    *parts, last = path.split(".")
    for part in parts:
        if isinstance(document, list):
            there = [table for at, table in enumerate(document) if part in (str(at), table.get("name"))]
        else:
            there = [document[part]] if part in document else []
        if len(there) != 1 or not isinstance(there[0], dict | list):
            raise InputError(f'vary "{path}": a scenario has no {part} there')
        (document,) = there
    if not isinstance(document, dict):
        raise InputError(f'vary "{path}": it names no key')
    document[last] = value
