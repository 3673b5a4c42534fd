"""The curve of an engine's causes over time, as the coordinates of a drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skipproof.stand.campaign.figures import EngineFigures

WIDTH, HEIGHT = 640.0, 180.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 12.0, 10.0, 28.0
TICKS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A tick of an axis: its place in the drawing, and its text."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCurve:
    """A curve that rises by one at each new cause.

    Attributes:
        path: The commands of an SVG path.
        across, up: The ticks of the time axis and of the axis of causes.
        unit: The unit of the time axis.
    """

    path: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    unit: str


def cause_curves(figures: Sequence[EngineFigures]) -> list[CauseCurve]:
    """Return the curve of each engine, all on the same axes."""
    seconds_max = max((engine.seconds for engine in figures), default=0.0)
    causes_max = max((len(engine.causes) for engine in figures), default=0)
    return [_cause_curve(engine, seconds_max or 1.0, causes_max or 1) for engine in figures]


def _cause_curve(engine: EngineFigures, seconds_max: float, causes_max: int) -> CauseCurve:
    """Return the curve of one engine."""
    unit, unit_seconds = next(
        (unit, size)
        for unit, size in (("h", 3_600), ("min", 60), ("s", 1))
        if seconds_max >= 2 * size or size == 1
    )

    def across(seconds: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * seconds / seconds_max, 1)

    def up(causes: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * causes / causes_max, 1)

    path = [f"M{across(0)} {up(0)}"]
    for count, seconds in enumerate(sorted(cause.seconds for cause in engine.causes), start=1):
        path += [f"H{across(seconds)}", f"V{up(count)}"]
    return CauseCurve(
        path=" ".join([*path, f"H{across(engine.seconds)}"]),
        across=tuple(
            Tick(at=across(value * unit_seconds), text=f"{value:g}")
            for value in ticks(seconds_max / unit_seconds)
        ),
        up=tuple(Tick(at=up(value), text=f"{value:g}") for value in ticks(causes_max) if value == int(value)),
        unit=unit,
    )


def ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at most `most`, at equal distances: at most `TICKS_MAX` and 0."""
    power = 10.0 ** math.floor(math.log10(most / TICKS_MAX))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power * TICKS_MAX >= most)
    return [round(step * ordinal, 12) for ordinal in range(int(most / step + 1e-9) + 1)]
