"""A measure along one setting that a scenario varies: a line for each combination of the other settings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.kernel.scenario_schema import Setting
from sim.kernel.varying import setting_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The least, median and greatest value of a measure in several runs."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureCurves:
    """The lines of a measure over the values of one setting.

    Attributes:
        key: The path of the setting.
        values: The values of the setting; numbers are sorted.
        lines: The measures by the text of the other settings; one for each value, None where there is none.
    """

    key: str
    values: tuple[Setting, ...]
    lines: Mapping[str, tuple[Spread | None, ...]]

    @property
    def is_numeric(self) -> bool:
        """True if the values are numbers, so that an axis can show their distances."""
        return _are_numbers(self.values)


def curves_along_setting(measured_runs: Sequence[tuple[Mapping[str, Setting], float]]) -> MeasureCurves:
    """Return the measures of runs along the setting that has most values.

    A setting that varies and whose values are numbers is preferred.
    """
    values = _setting_values([settings for settings, _ in measured_runs])
    key = max(values, key=lambda path: (len(values[path]) > 1, _are_numbers(values[path]), len(values[path])))
    line = sorted(values[key], key=float) if _are_numbers(values[key]) else values[key]
    measured: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for settings, value in measured_runs:
        name = _settings_text(settings, [path for path in values if path != key and len(values[path]) > 1])
        measured[name][line.index(settings[key])].append(value)
    return MeasureCurves(
        key=key,
        values=tuple(line),
        lines={
            name: tuple(_spread(at[place]) if place in at else None for place in range(len(line)))
            for name, at in measured.items()
        },
    )


def values_by_settings(
    measured_runs: Sequence[tuple[Mapping[str, Setting], float]],
) -> dict[str, list[float]]:
    """Return the measures by the text of the settings that vary."""
    values = _setting_values([settings for settings, _ in measured_runs])
    by_name: dict[str, list[float]] = defaultdict(list)
    for settings, value in measured_runs:
        by_name[_settings_text(settings, [path for path in values if len(values[path]) > 1])].append(value)
    return dict(by_name)


def _setting_values(runs_settings: Sequence[Mapping[str, Setting]]) -> dict[str, list[Setting]]:
    """Return the distinct values of each setting, in their first order."""
    values: dict[str, list[Setting]] = defaultdict(list)
    for settings in runs_settings:
        for path, value in settings.items():
            if value not in values[path]:
                values[path].append(value)
    return values


def _settings_text(settings: Mapping[str, Setting], paths: Sequence[str]) -> str:
    """Return some settings as text; the name of a setting is left out if its value is a text."""
    return ", ".join(
        setting if isinstance(setting, str) else f"{path.rpartition('.')[2]} {setting_text(setting)}"
        for path, setting in settings.items()
        if path in paths
    )


def _spread(values: Sequence[float]) -> Spread:
    """Return the least, median and greatest of some values."""
    ordered = sorted(values)
    return Spread(least=ordered[0], median=ordered[(len(ordered) - 1) // 2], most=ordered[-1])


def _are_numbers(values: Sequence[Setting]) -> bool:
    """Tell whether all values are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
