"""Check runs against the expectations of a scenario: bounds of measures, ratios, and agreement of results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sim.kernel.scenario_schema import Agreement, Bounds, Comparison, ScenarioSchema
from sim.kernel.varying import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasures:
    """The measures of first run, by name.

    Attributes:
        results: A digest of each result, by the inputs that it was computed from.
    """

    case: Case
    seed: int
    measures: Mapping[str, float]
    results: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MissedExpectation:
    """An expectation that is not met.

    Attributes:
        case: The name of the case; empty where nothing varies, or where several cases are meant.
        seed: None where several seeds are meant.
    """

    measure: str
    what: str
    seed: int | None
    case: str = ""


def missed_expectations(scenario: ScenarioSchema, runs: Sequence[RunMeasures]) -> list[MissedExpectation]:
    """Return the expectations that runs do not meet."""
    missed = list(out_of_bounds(scenario.expect, runs))
    for part in scenario.where:
        missed += out_of_bounds(part.expect, [run for run in runs if run.case.has(part.settings)])
    for comparison in scenario.compare:
        missed += _out_of_proportion(comparison, runs)
    for agreement in scenario.agree:
        missed += _disagreements(agreement, runs)
    return missed


def out_of_bounds(expected: Mapping[str, Bounds], runs: Sequence[RunMeasures]) -> Iterator[MissedExpectation]:
    """Yield the bounds that measures of runs do not keep."""
    for name, bounds in expected.items():
        for run in runs:
            value = run.measures.get(name, 0)
            for what in _beyond(value, bounds.min, bounds.max):
                yield MissedExpectation(name, what, run.seed, run.case.name)
        most = max((run.measures.get(name, 0) for run in runs), default=0)
        if bounds.some is not None and most < bounds.some:
            most_reached = f"{number(most)} at most, and {number(bounds.some)} in no seed"
            yield MissedExpectation(name, f"{most_reached}: the claim was not put to the test", None)
        if not runs:
            yield MissedExpectation(
                name, "no run has these settings: the claim was not put to the test", None
            )


def ratios(
    comparison: Comparison, runs: Sequence[RunMeasures]
) -> Iterator[tuple[RunMeasures, RunMeasures, float]]:
    """Yield each run of the first settings, the run of the other settings that is equal otherwise, and their
    ratio.
    """
    by_settings = {(run.seed, *sorted(run.case.settings.items())): run for run in runs}
    for run in runs:
        if not (run.case.has(comparison.of) and run.case.has(comparison.where)):
            continue
        other = by_settings.get((run.seed, *sorted({**run.case.settings, **comparison.to}.items())))
        if other is None or other is run:
            continue
        base = other.measures.get(comparison.measure, 0)
        yield run, other, run.measures.get(comparison.measure, 0) / base if base else float("inf")


def _out_of_proportion(comparison: Comparison, runs: Sequence[RunMeasures]) -> Iterator[MissedExpectation]:
    compared = list(ratios(comparison, runs))
    for run, other, ratio in compared:
        for what in _beyond(ratio, comparison.min, comparison.max):
            yield MissedExpectation(
                comparison.measure, f"{what}, times that of {other.case.name}", run.seed, run.case.name
            )
    if not compared:
        yield MissedExpectation(
            comparison.measure, "no two runs to compare: the claim was not put to the test", None
        )


def _disagreements(agreement: Agreement, runs: Sequence[RunMeasures]) -> Iterator[MissedExpectation]:
    alike: dict[tuple[object, ...], list[RunMeasures]] = {}
    for run in runs:
        rest = sorted((path, value) for path, value in run.case.settings.items() if path != agreement.across)
        if agreement.across in run.case.settings:
            alike.setdefault((run.seed, *rest), []).append(run)
    pairs = [pair for group in alike.values() for pair in combinations(group, 2)]
    for first, other in pairs:
        shared = first.results.keys() & other.results.keys()
        differing = sorted(inputs for inputs in shared if first.results[inputs] != other.results[inputs])
        if differing:
            more = f", nor is {len(differing) - 1} more" if differing[1:] else ""
            what = f"{differing[0]} is not that of {other.case.name}{more}"
            yield MissedExpectation("results", what, first.seed, first.case.name)
        elif len(shared) < agreement.min:
            what = f"{len(shared)} are shared with {other.case.name}, not {agreement.min} or more"
            yield MissedExpectation(
                "results", f"{what}: the claim was not put to the test", first.seed, first.case.name
            )
    if not pairs:
        yield MissedExpectation("results", "no two runs to compare: the claim was not put to the test", None)


def _beyond(value: float, least: float | None, most: float | None) -> Iterator[str]:
    if least is not None and value < least:
        yield f"{number(value)}, not {number(least)} or more"
    if most is not None and value > most:
        yield f"{number(value)}, not {number(most)} or less"


def number(value: float) -> str:
    """Return a measure as people read it."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"
