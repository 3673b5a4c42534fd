"""What was measured of each case of a scenario, and of cases held against each other, beside what was due."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sim.kernel.expecting import Measured, number, out_of_bounds, ratios
from sim.kernel.scenario_schema import Bounds, Claimed, Setting
from sim.kernel.varying import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measure of several runs, or the ratio of two, for people.

    Attributes:
        expected: In words.
        met: Whether it is so; None where nothing is expected.
    """

    measure: str
    least: str
    median: str
    most: str
    expected: str
    met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The measures of one case; its name is empty where nothing varies."""

    case: str
    rows: tuple[Row, ...]


def summaries(given: Claimed, runs: Sequence[Measured], *, judged: bool) -> list[Summary]:
    """What was measured, case by case, but for what was nowhere and is not expected.

    Args:
        judged: Whether expectations are asked of these runs.
    """
    by_case: dict[str, list[Measured]] = {}
    for run in runs:
        by_case.setdefault(run.case.name, []).append(run)
    due = _due(given, runs) if judged else []
    return [Summary(case=name, rows=tuple(_rows(name, of, due))) for name, of in by_case.items()]


def compared(given: Claimed, runs: Sequence[Measured]) -> Iterator[Row]:
    """The ratios that are expected."""
    for due in given.compare:
        found = sorted(ratio for _, _, ratio in ratios(due, runs))
        if not found:
            continue
        where = f" where {listed(due.where)}" if due.where else ""
        kept = (due.min is None or found[0] >= due.min) and (due.max is None or found[-1] <= due.max)
        least, median, most = _ends(found)
        yield Row(
            measure=f"{due.measure} of {listed(due.of)} to {listed(due.to)}{where}",
            least=least,
            median=median,
            most=most,
            expected=_told(due.min, due.max, None),
            met=kept,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """Bounds of a measure of some runs, and the cases that do not keep to them: all if one has no name."""

    measure: str
    bounds: Bounds
    settings: Mapping[str, Setting]
    missed: frozenset[str]


def _due(given: Claimed, runs: Sequence[Measured]) -> list[_Due]:
    parts = [({}, given.expect), *((part.settings, part.expect) for part in given.where)]
    return [
        _Due(
            measure=measure,
            bounds=bounds,
            settings=settings,
            missed=frozenset(
                one.case
                for one in out_of_bounds({measure: bounds}, [run for run in runs if run.case.has(settings)])
            ),
        )
        for settings, expect in parts
        for measure, bounds in expect.items()
    ]


def _rows(case: str, runs: Sequence[Measured], due: Sequence[_Due]) -> Iterator[Row]:
    asked = [one for one in due if runs[0].case.has(one.settings)]
    for measure in sorted({*(measure for run in runs for measure in run.measures)}):
        values = sorted(run.measures.get(measure, 0) for run in runs)
        of_it = [one for one in asked if one.measure == measure]
        if not values[-1] and not of_it:
            continue
        least, median, most = _ends(values)
        yield Row(
            measure=measure,
            least=least,
            median=median,
            most=most,
            expected="; ".join(_told(one.bounds.min, one.bounds.max, one.bounds.some) for one in of_it),
            met=not any({case, ""} & one.missed for one in of_it) if of_it else None,
        )


def _ends(values: Sequence[float]) -> tuple[str, str, str]:
    return number(values[0]), number(values[len(values) // 2]), number(values[-1])


def _told(least: float | None, most: float | None, some: float | None) -> str:
    ends = ((least, "or more"), (most, "or less"), (some, "in some seed"))
    return ", ".join(f"{number(end)} {what}" for end, what in ends if end is not None)
