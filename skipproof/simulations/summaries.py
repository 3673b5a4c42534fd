"""Summaries of measures, by case and as ratios of cases, beside the scenario's expectations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sim.kernel.expecting import RunMeasures, number, out_of_bounds, ratios
from sim.kernel.scenario_schema import Bounds, ScenarioSchema, Setting
from sim.kernel.varying import settings_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A measure of several runs, or the ratio of two measures, as text.

    Attributes:
        expected: The expectation in words, empty if there is none.
        met: Whether the expectation is met; None if there is none.
    """

    measure: str
    least: str
    median: str
    most: str
    expected: str
    met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The measures of one case; the name of the case is empty if the scenario varies nothing."""

    case: str
    rows: tuple[Row, ...]


def case_summaries(
    scenario: ScenarioSchema, runs: Sequence[RunMeasures], *, with_expectations: bool
) -> list[Summary]:
    """Return the measures of each case, without those that are 0 in all runs and not expected.

    Args:
        with_expectations: Whether the runs are compared with the scenario's expectations.
    """
    by_case: dict[str, list[RunMeasures]] = {}
    for run in runs:
        by_case.setdefault(run.case.name, []).append(run)
    expected = _expected_bounds(scenario, runs) if with_expectations else []
    return [
        Summary(case=name, rows=tuple(_rows(name, case_runs, expected)))
        for name, case_runs in by_case.items()
    ]


def ratio_rows(scenario: ScenarioSchema, runs: Sequence[RunMeasures]) -> Iterator[Row]:
    """Yield the ratios of measures that the scenario expects."""
    for bounds in scenario.compare:
        values = sorted(ratio for _, _, ratio in ratios(bounds, runs))
        if not values:
            continue
        where = f" where {settings_text(bounds.where)}" if bounds.where else ""
        kept = (bounds.min is None or values[0] >= bounds.min) and (
            bounds.max is None or values[-1] <= bounds.max
        )
        least, median, most = _least_median_most(values)
        yield Row(
            measure=f"{bounds.measure} of {settings_text(bounds.of)} to {settings_text(bounds.to)}{where}",
            least=least,
            median=median,
            most=most,
            expected=_bounds_text(bounds.min, bounds.max, None),
            met=kept,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExpectedBounds:
    """The expected bounds of a measure, for the cases with some settings.

    Attributes:
        missed: The names of the cases outside of the bounds; an empty name stands for all cases.
    """

    measure: str
    bounds: Bounds
    settings: Mapping[str, Setting]
    missed: frozenset[str]


def _expected_bounds(scenario: ScenarioSchema, runs: Sequence[RunMeasures]) -> list[_ExpectedBounds]:
    """Return the bounds that a scenario expects, and the cases that miss them."""
    parts = [({}, scenario.expect), *((part.settings, part.expect) for part in scenario.where)]
    return [
        _ExpectedBounds(
            measure=measure,
            bounds=bounds,
            settings=settings,
            missed=frozenset(
                outlier.case
                for outlier in out_of_bounds(
                    {measure: bounds}, [run for run in runs if run.case.has(settings)]
                )
            ),
        )
        for settings, expect in parts
        for measure, bounds in expect.items()
    ]


def _rows(case: str, runs: Sequence[RunMeasures], expected: Sequence[_ExpectedBounds]) -> Iterator[Row]:
    """Yield a row for each measure of one case."""
    of_case = [bound for bound in expected if runs[0].case.has(bound.settings)]
    for measure in sorted({*(measure for run in runs for measure in run.measures)}):
        values = sorted(run.measures.get(measure, 0) for run in runs)
        of_it = [bound for bound in of_case if bound.measure == measure]
        if not values[-1] and not of_it:
            continue
        least, median, most = _least_median_most(values)
        yield Row(
            measure=measure,
            least=least,
            median=median,
            most=most,
            expected="; ".join(
                _bounds_text(bound.bounds.min, bound.bounds.max, bound.bounds.some) for bound in of_it
            ),
            met=not any({case, ""} & bound.missed for bound in of_it) if of_it else None,
        )


def _least_median_most(values: Sequence[float]) -> tuple[str, str, str]:
    """Return the least, median and greatest of sorted values as text."""
    return number(values[0]), number(values[len(values) // 2]), number(values[-1])


def _bounds_text(least: float | None, most: float | None, some: float | None) -> str:
    """Return expected bounds in words."""
    ends = ((least, "or more"), (most, "or less"), (some, "in some seed"))
    return ", ".join(f"{number(end)} {what}" for end, what in ends if end is not None)
