"""How a measure goes along what a scenario varies: a line for each combination of the other settings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.kernel.scenario_schema import Setting
from sim.kernel.varying import spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A measure of several runs."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Along:
    """Lines over the values of one key.

    Attributes:
        key: Its path.
        values: Those that it has, numbers in their order.
        lines: By the other settings; for each value, None where nothing was measured.
    """

    key: str
    values: tuple[Setting, ...]
    lines: Mapping[str, tuple[Spread | None, ...]]

    @property
    def numeric(self) -> bool:
        """Whether values have distances."""
        return _numeric(self.values)


def along(found: Sequence[tuple[Mapping[str, Setting], float]]) -> Along:
    """What was measured of runs with settings, along the key that has most values.

    Of keys that vary, those whose values are numbers come before others.
    """
    values = _values([settings for settings, _ in found])
    key = max(values, key=lambda path: (len(values[path]) > 1, _numeric(values[path]), len(values[path])))
    line = sorted(values[key], key=float) if _numeric(values[key]) else values[key]
    measured: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for settings, value in found:
        name = _told(settings, [path for path in values if path != key and len(values[path]) > 1])
        measured[name][line.index(settings[key])].append(value)
    return Along(
        key=key,
        values=tuple(line),
        lines={
            name: tuple(_spread(at[place]) if place in at else None for place in range(len(line)))
            for name, at in measured.items()
        },
    )


def apart(found: Sequence[tuple[Mapping[str, Setting], float]]) -> dict[str, list[float]]:
    """What was measured, by what tells the settings apart."""
    values = _values([settings for settings, _ in found])
    by_name: dict[str, list[float]] = defaultdict(list)
    for settings, value in found:
        by_name[_told(settings, [path for path in values if len(values[path]) > 1])].append(value)
    return dict(by_name)


def _values(found: Sequence[Mapping[str, Setting]]) -> dict[str, list[Setting]]:
    """Those of each key, in the order in which they come."""
    values: dict[str, list[Setting]] = defaultdict(list)
    for settings in found:
        for path, value in settings.items():
            if value not in values[path]:
                values[path].append(value)
    return values


def _told(settings: Mapping[str, Setting], paths: Sequence[str]) -> str:
    """Some settings for people; a text says by itself what it is."""
    return ", ".join(
        setting if isinstance(setting, str) else f"{path.rpartition('.')[2]} {spelled(setting)}"
        for path, setting in settings.items()
        if path in paths
    )


def _spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)
    return Spread(least=ordered[0], median=ordered[(len(ordered) - 1) // 2], most=ordered[-1])


def _numeric(values: Sequence[Setting]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
