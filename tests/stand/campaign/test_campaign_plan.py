"""The file of a campaign: each mistake has a sentence that names the file and the key."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutants.stand.campaigns import TURNS
from pruning.errors import InputError
from skipproof.stand.campaign.plan import parse_plan, read_plan

ENGINE = '[[engine]]\nname = "duckdb"\n'
#        text, and what the sentence says after the file's name
BAD = {
    "no TOML": ("results = ", "it is no TOML: Invalid value"),
    "no engine": ('results = "r"', "Object missing required field `engine`"),
    "an empty list of engines": ("engine = []", "length >= 1 - at `engine`"),
    "an engine without a name": ("[[engine]]\nseconds = 1", "missing required field `name` - at `engine[0]`"),
    "an unknown key": ("seed = 1\n" + ENGINE, "there is an unknown field `seed`"),
    "an unknown key of an engine": (ENGINE + "hour = 1", "there is an unknown field `hour` - at `engine[0]`"),
    "a text for a number": (ENGINE + 'seconds = "60"', "got `str` - at `engine[0].seconds`"),
    "a number for a text": ("results = 1\n" + ENGINE, "got `int` - at `results`"),
    "a boolean for a number": ("slice_seconds = true\n" + ENGINE, "got `bool` - at `slice_seconds`"),
    "no time": (ENGINE + "seconds = 0", "> 0.0 - at `engine[0].seconds`"),
    "infinite time": ("budget_seconds = inf\n" + ENGINE, "- at `budget_seconds`"),
    "no number": ("budget_seconds = nan\n" + ENGINE, "- at `budget_seconds`"),
    "a seed below zero": ("seeds = [-1]\n" + ENGINE, ">= 0 - at `seeds[0]`"),
    "no seed": ("seeds = []\n" + ENGINE, "length >= 1 - at `seeds`"),
    "no pin": (ENGINE + "pins = []", "length >= 1 - at `engine[0].pins`"),
    "a class that there is not": (
        'areas = ["filters"]\nbudget_seconds = 1\n' + ENGINE,
        "`areas` has 'filters': it is one of filter, limit",
    ),
    "a class of an engine that there is not": (
        ENGINE + 'seconds = 1\nareas = ["sort"]',
        "`engine[0].areas` has 'sort': it is one of",
    ),
    "two lengths": (ENGINE + "seconds = 1\nhours = 1", "`engine[0]` has `seconds` and `hours`: give one of"),
    "two interpreters": (
        ENGINE + 'seconds = 1\npython = "/p"\npins = ["duckdb"]',
        "`engine[0]` has `python` and `pins`: give one of them",
    ),
    "two engines of one label": (
        "budget_seconds = 1\n" + ENGINE + ENGINE,
        "`engine`: 2 engines have the label 'duckdb': give each a `label` of its own",
    ),
    "a label that is no folder": (
        ENGINE + 'seconds = 1\nlabel = "../x"',
        "`engine[0].label` names a folder, of letters, digits and `._+-`: '../x' is none",
    ),
    "no length and no budget": (
        ENGINE,
        "`engine[0]` has no `seconds`, `hours` or `examples`, and there is no `budget_seconds` to divide",
    ),
    "a budget that is too small": (
        "budget_seconds = 60\n" + ENGINE + "hours = 1",
        "`budget_seconds` is 60, and the engines that name their time take 3600 of it",
    ),
    "a budget of which nothing is left": (
        "budget_seconds = 60\n" + ENGINE + 'seconds = 60\n[[engine]]\nname = "arrow"',
        "take 60 of it: none is left for `engine[1]`",
    ),
}


@pytest.mark.parametrize("mistake", BAD)
def test_each_mistake_has_a_sentence(mistake: str, tmp_path) -> None:
    text, sentence = BAD[mistake]
    path = tmp_path / "nightly.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_plan(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.toml: it cannot be read: "):
        read_plan(tmp_path / "nowhere.toml")


def lengths(text: str) -> dict[str, Any]:
    return dict(parse_plan(text).lengths_seconds())


def check_shares() -> None:
    """A budget of 100 s, of which one engine takes 40; two share the rest; one is counted in examples."""
    others = "".join(f'[[engine]]\nname = "duckdb"\nlabel = "{label}"\n' for label in "ab")
    text = "budget_seconds = 100\n" + ENGINE + "seconds = 40\n" + others
    counted = '[[engine]]\nname = "arrow"\nexamples = 9\n'
    assert lengths(text + counted) == {"duckdb": 40.0, "a": 30.0, "b": 30.0, "arrow": None}
    with pytest.raises(InputError):
        parse_plan("budget_seconds = 39\n" + ENGINE + "seconds = 40\n")


def test_engines_that_name_no_time_share_what_is_left_of_the_budget() -> None:
    check_shares()


@given(own=st.lists(st.integers(1, 1_000), max_size=4), sharing=st.integers(1, 5), left=st.integers(1, 1_000))
def test_the_budget_is_divided_whole(own: list[int], sharing: int, left: int) -> None:
    engines = [f"seconds = {seconds}" for seconds in own] + [""] * sharing
    tables = [f'[[engine]]\nname = "e"\nlabel = "e{at}"\n{line}\n' for at, line in enumerate(engines)]
    shares = lengths(f"budget_seconds = {sum(own) + left}\n" + "".join(tables))
    assert sum(shares.values()) == pytest.approx(sum(own) + left)
    assert min(shares.values()) > 0


@pytest.mark.parametrize("name", ["each engine has the whole budget", "any budget will do"])
def test_a_wrong_division_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*TURNS[name])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_shares()


def test_an_hour_is_3600_seconds_and_a_pin_is_in_the_label() -> None:
    pinned = '[[engine]]\nname = "duckdb-tables"\npins = ["duckdb==1.5.2"]\nhours = 0.5\n'
    assert lengths(ENGINE + 'pins = ["duckdb==1.1.0"]\nhours = 1\n' + pinned) == {
        "duckdb-1.1.0": 3_600.0,
        "duckdb-tables-duckdb-1.5.2": 1_800.0,
    }


def test_classes_of_an_engine_come_before_those_of_the_campaign() -> None:
    plan = parse_plan('areas = ["filter"]\n' + ENGINE + 'seconds = 1\nareas = ["topk"]\n')
    assert plan.areas_of(plan.engine[0]) == ("topk",)
    other = parse_plan('areas = ["filter"]\n' + ENGINE + "seconds = 1\n")
    assert other.areas_of(other.engine[0]) == ("filter",)


def test_a_campaign_stays_the_same_if_its_length_or_its_places_change() -> None:
    plan = parse_plan('results = "a"\nenvironments = "e"\n' + ENGINE + "seconds = 1\n")
    longer = parse_plan('results = "b"\ncorpora = "c"\nbudget_seconds = 9999\n' + ENGINE + "hours = 1\n")
    assert plan.identity() == longer.identity()
    for change in ("seeds = [1]", "slice_seconds = 1", 'areas = ["topk"]'):
        assert parse_plan(f"{change}\n{ENGINE}seconds = 1\n").identity() != plan.identity()
