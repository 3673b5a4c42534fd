"""Slices take turns, each as long as the plan allows and with a seed of its own."""

import msgspec
import pytest
from campaign_slices import finished_slice

from mutants.stand.campaigns import TURNS
from skipproof.stand.campaign import running
from skipproof.stand.campaign.plan import parse_plan
from skipproof.stand.campaign.slices import Slice
from skipproof.stand.hunt.hunting import Limits


def limits(text: str, *slices: Slice) -> Limits | None:
    plan = parse_plan(f'[[engine]]\nname = "plain"\n{text}')
    return running.remaining_limits(plan, plan.engine[0], slices)


def limits_of_examples(examples: int, *slices: Slice) -> Limits | None:
    plan = parse_plan(f'slice_examples = 150\n[[engine]]\nname = "plain"\nexamples = {examples}')
    return running.remaining_limits(plan, plan.engine[0], slices)


def check_limits() -> None:
    """A slice has taken 66 s, 60 of them for hunting, and had 100 examples."""
    whole_slice = Limits(seconds=60.0, findings=running.FINDINGS_MAX)
    assert limits("seconds = 90") == whole_slice
    assert limits("seconds = 90", finished_slice()) == Limits(seconds=24.0, findings=running.FINDINGS_MAX)
    assert limits("seconds = 66", finished_slice()) is None
    assert limits("seconds = 65", finished_slice()) is None
    counted = limits_of_examples(220, finished_slice())
    assert counted == Limits(seconds=60.0, examples=120, findings=running.FINDINGS_MAX)
    counted = limits_of_examples(300, finished_slice())
    assert counted == Limits(seconds=60.0, examples=150, findings=running.FINDINGS_MAX)
    assert limits_of_examples(100, finished_slice()) is None


def check_an_engine_that_answers_nothing_is_done() -> None:
    """Not if the keyboard has interrupted it, nor if it is counted in seconds."""
    nothing = finished_slice(examples=0)
    assert limits_of_examples(100, nothing) is None
    assert limits_of_examples(100, msgspec.structs.replace(nothing, interrupted=True)) is not None
    assert limits("seconds = 90", nothing) is not None


def check_turns() -> None:
    slices = {"a": [finished_slice()], "b": [], "c": []}
    assert running.next_turn("abc", slices) == "b"
    assert running.next_turn("ac", slices) == "c"
    assert running.next_turn("a", slices) == "a"
    assert running.next_turn("", slices) is None


def check_seeds() -> None:
    """Two seeds of a campaign take turns; no slice has the seed of another slice, or campaign."""
    seeds = [running.slice_seed((4, 5), ordinal) for ordinal in range(6)]
    others = [running.slice_seed((6,), ordinal) for ordinal in range(6)]
    assert len({*seeds, *others}) == 12
    assert seeds[:2] == [running.slice_seed((4,), 0), running.slice_seed((5,), 0)]


CHECKS = {
    "the last slice is whole": check_limits,
    "shrinking costs no time": check_limits,
    "an engine that answers nothing goes on": check_an_engine_that_answers_nothing_is_done,
    "one engine after the other": check_turns,
    "seeds that follow each other share slices": check_seeds,
    "the first seed alone": check_seeds,
}


@pytest.mark.parametrize("check", dict.fromkeys(CHECKS.values()))
def test_slices_are_as_planned(check) -> None:
    check()


@pytest.mark.parametrize("name", CHECKS)
def test_a_wrong_turn_is_found_out(name, monkeypatch) -> None:
    monkeypatch.setattr(*TURNS[name])
    with pytest.raises(AssertionError):
        CHECKS[name]()
