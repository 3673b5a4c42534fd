"""Whether runs show what a scenario claims: bounds of measures, in all cases or some, and ratios of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sim.kernel.scenario_schema import Agreement, Bounds, Claimed, Comparison
from sim.kernel.varying import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measures of one run, by name.

    Attributes:
        results: What came of what it was given, by that.
    """

    case: Case
    seed: int
    measures: Mapping[str, float]
    results: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missed:
    """An expectation that is not met.

    Attributes:
        case: In which; empty where nothing varies, or where it is of several.
        seed: None where it is of several.
    """

    measure: str
    what: str
    seed: int | None
    case: str = ""


def missed(given: Claimed, runs: Sequence[Measured]) -> list[Missed]:
    """The expectations that runs do not meet."""
    found = list(out_of_bounds(given.expect, runs))
    for part in given.where:
        found += out_of_bounds(part.expect, [run for run in runs if run.case.has(part.settings)])
    for comparison in given.compare:
        found += _out_of_proportion(comparison, runs)
    for agreement in given.agree:
        found += _in_disagreement(agreement, runs)
    return found


def out_of_bounds(expected: Mapping[str, Bounds], runs: Sequence[Measured]) -> Iterator[Missed]:
    """The bounds of measures that runs do not keep to."""
    for name, bounds in expected.items():
        for run in runs:
            value = run.measures.get(name, 0)
            for what in _beyond(value, bounds.min, bounds.max):
                yield Missed(name, what, run.seed, run.case.name)
        most = max((run.measures.get(name, 0) for run in runs), default=0)
        if bounds.some is not None and most < bounds.some:
            due = f"{number(most)} at most, and {number(bounds.some)} in no seed"
            yield Missed(name, f"{due}: the claim was not put to the test", None)
        if not runs:
            yield Missed(name, "no run has these settings: the claim was not put to the test", None)


def ratios(due: Comparison, runs: Sequence[Measured]) -> Iterator[tuple[Measured, Measured, float]]:
    """Each run of the one kind, the run that has the other settings and is the same else, and their ratio."""
    by_settings = {(run.seed, *sorted(run.case.settings.items())): run for run in runs}
    for run in runs:
        if not (run.case.has(due.of) and run.case.has(due.where)):
            continue
        other = by_settings.get((run.seed, *sorted({**run.case.settings, **due.to}.items())))
        if other is None or other is run:
            continue
        base = other.measures.get(due.measure, 0)
        yield run, other, run.measures.get(due.measure, 0) / base if base else float("inf")


def _out_of_proportion(due: Comparison, runs: Sequence[Measured]) -> Iterator[Missed]:
    compared = list(ratios(due, runs))
    for run, other, ratio in compared:
        for what in _beyond(ratio, due.min, due.max):
            yield Missed(due.measure, f"{what}, times that of {other.case.name}", run.seed, run.case.name)
    if not compared:
        yield Missed(due.measure, "no two runs to compare: the claim was not put to the test", None)


def _in_disagreement(due: Agreement, runs: Sequence[Measured]) -> Iterator[Missed]:
    alike: dict[tuple[object, ...], list[Measured]] = {}
    for run in runs:
        rest = sorted((path, value) for path, value in run.case.settings.items() if path != due.across)
        if due.across in run.case.settings:
            alike.setdefault((run.seed, *rest), []).append(run)
    pairs = [pair for group in alike.values() for pair in combinations(group, 2)]
    for one, other in pairs:
        shared = one.results.keys() & other.results.keys()
        differing = sorted(given for given in shared if one.results[given] != other.results[given])
        if differing:
            more = f", nor is {len(differing) - 1} more" if differing[1:] else ""
            what = f"{differing[0]} is not that of {other.case.name}{more}"
            yield Missed("results", what, one.seed, one.case.name)
        elif len(shared) < due.min:
            what = f"{len(shared)} are shared with {other.case.name}, not {due.min} or more"
            yield Missed("results", f"{what}: the claim was not put to the test", one.seed, one.case.name)
    if not pairs:
        yield Missed("results", "no two runs to compare: the claim was not put to the test", None)


def _beyond(value: float, least: float | None, most: float | None) -> Iterator[str]:
    if least is not None and value < least:
        yield f"{number(value)}, not {number(least)} or more"
    if most is not None and value > most:
        yield f"{number(value)}, not {number(most)} or less"


def number(value: float) -> str:
    """A measure for people."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.6g}"
