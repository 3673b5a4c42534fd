"""A campaign adds up its slices by causes, and compares them with earlier ones."""

import pytest
from campaign_slices import finished_slice, sliced_finding

from mutants.stand.campaigns import COMPARISON, COUNTS
from skipproof.stand.campaign.figures import compare_campaigns, engine_figures

NAN = ("NaN", "equality", "filter: rows lost", "floating")
# The same cause in another question.
NAN_AGAIN = ("NaN", "floating", "limit: rows lost", "ordering")
PLAIN = ("equality", "filter: rows lost", "integer")


def two_slices():
    """Three findings of two causes; the last slice has duplicates of the first finding and of its own."""
    first = finished_slice(
        sliced_finding(*NAN, folder="00000-01-a", seconds=12.0, examples=20),
        sliced_finding(*PLAIN, folder="00000-02-b", seconds=30.0, examples=50),
        again={0: 2},
    )
    second = finished_slice(
        sliced_finding(*NAN_AGAIN, folder="00001-01-c", seconds=1.0, examples=2),
        ordinal=1,
        again={0: 5, 2: 1},
    )
    return [first, second]


def check_causes() -> None:
    figures = engine_figures("plain", two_slices())
    nan, plain = figures.causes
    assert nan.cause == {"NaN", "floating"}
    assert [finding.folder for finding in nan.findings] == ["00000-01-a", "00001-01-c"]
    assert (nan.failures, plain.failures) == (3 + 5 + 2, 1)
    assert (nan.seconds, nan.examples, plain.seconds) == (12.0, 20, 30.0)
    assert (figures.richness.failures, figures.richness.causes, figures.richness.once) == (11, 2, 1)


def test_failures_are_counted_by_causes_over_all_slices() -> None:
    check_causes()


@pytest.mark.parametrize("mutant", COUNTS.values(), ids=COUNTS)
def test_wrong_counts_are_found_out(mutant, monkeypatch) -> None:
    monkeypatch.setattr(*mutant)
    with pytest.raises((AssertionError, ValueError)):
        check_causes()


def test_a_cause_of_a_later_slice_comes_after_the_hunting_of_earlier_ones() -> None:
    slices = [finished_slice(), finished_slice(sliced_finding(*NAN, seconds=7.0, examples=3), ordinal=1)]
    (cause,) = engine_figures("plain", slices).causes
    assert (cause.seconds, cause.examples) == (67.0, 103)


def test_figures_add_up() -> None:
    figures = engine_figures("plain", two_slices()).to_dict()
    del figures["causes"], figures["richness"]
    assert figures == {
        "label": "plain",
        "engine": "plain",
        "version": "1",
        "slices": 2,
        "examples": 200,
        "seconds": 120.0,
        "seconds_total": 132.0,
        "examples_per_second": 1.7,
        "refused": 6,
        "unjudged": 0,
        "findings": 3,
        "interrupted": False,
    }


def test_an_engine_without_slices_has_figures() -> None:
    figures = engine_figures("plain", [])
    assert (figures.version, figures.examples, figures.causes) == ("", 0, ())
    assert figures.examples_per_second == 0


def figures_of(label: str, *all_traits: tuple[str, ...], version: str = "1"):
    findings = (sliced_finding(*traits) for traits in all_traits)
    return engine_figures(label, [finished_slice(*findings, label=label, version=version)])


def check_comparison() -> None:
    now = [figures_of("a", NAN, PLAIN, version="2"), figures_of("b")]
    before = [figures_of("a", NAN_AGAIN, ("join: rows lost",)), figures_of("c", PLAIN)]
    change = compare_campaigns("last night", now, before)
    assert change.to_dict() == {
        "earlier": "last night",
        "engines": [
            {
                "label": "a",
                "version": "2",
                "earlier_version": "1",
                "new": [sorted(PLAIN)],
                "gone": [["join: rows lost"]],
                "still": [["NaN", "floating"]],
            }
        ],
        "lacking": ["b"],
    }


def test_causes_are_new_gone_or_still_there() -> None:
    check_comparison()


@pytest.mark.parametrize("mutant", COMPARISON.values(), ids=COMPARISON)
def test_a_wrong_comparison_is_found_out(mutant, monkeypatch) -> None:
    monkeypatch.setattr(*mutant)
    with pytest.raises(AssertionError):
        check_comparison()


def test_an_engine_that_had_no_slice_is_not_compared() -> None:
    """Else all its causes would be new."""
    change = compare_campaigns("r", [figures_of("a", NAN)], [engine_figures("a", [])])
    assert (change.engines, change.lacking) == ((), ("a",))
