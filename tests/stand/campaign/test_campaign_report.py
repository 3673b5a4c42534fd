"""The page of a campaign has its figures and curves, escaped, and fetches nothing."""

import re
from pathlib import Path

import pytest
from campaign_slices import finished_slice, sliced_finding
from hypothesis import given
from hypothesis import strategies as st
from shown_page import Page

from skipproof.stand.campaign import curves
from skipproof.stand.campaign.curves import cause_curves, ticks
from skipproof.stand.campaign.figures import CampaignChange, EngineFigures, compare_campaigns, engine_figures
from skipproof.stand.campaign.report import render, write_report

NASTY = '</table></svg><script>alert("\'&amp;")</script><img src=http://x.example/> {{ 7 * 7 }}\x00\u202e'


def figures(text: str = "NaN") -> EngineFigures:
    """An engine with two causes, one of which is of these traits."""
    findings = (
        sliced_finding(text, folder=text, area=text, verdict=text, difference=text, blame=text, seconds=30.0),
        sliced_finding("join: rows lost", seconds=45.0),
    )
    first = finished_slice(*findings, again={0: 3}, label=text, engine=text, version=text)
    return engine_figures(text, [first])


def page_text(*engines: EngineFigures, changes: tuple[CampaignChange, ...] = ()) -> str:
    return " ".join(Page(render(engines, changes)).text.split())


def test_each_engine_has_its_figures_and_what_is_left() -> None:
    text = page_text(figures(), engine_figures("idle", []))
    assert "100 examples of 2 engines, 2 causes" in text
    assert "NaN NaN 1 100 60.0 1.7 3 5 2 1 0 2.0 (2.0 to " in text
    assert "idle 0 0 0.0 0 0 0 0 0" in text
    assert "Nothing was judged" in text
    for part in (
        "lower bound of the number of causes",
        "independent draws",
        "say nothing about other faults",
    ):
        assert part in text


def test_no_finding_is_told_from_no_question() -> None:
    assert "No contradiction was found" in page_text(engine_figures("plain", [finished_slice()]))
    assert "Nothing was judged" not in page_text(engine_figures("plain", [finished_slice()]))
    for engines in ((), (engine_figures("plain", [finished_slice(examples=0)]),)):
        text = page_text(*engines)
        assert "Nothing was judged" in text
        assert "No contradiction" not in text


def test_an_earlier_campaign_is_beside_it() -> None:
    now, before = figures("NaN"), figures("NULL")
    before_at_the_label = engine_figures("NaN", [finished_slice(sliced_finding("NULL"), version="0")])
    changes = tuple(compare_campaigns("old", [now], [earlier]) for earlier in (before_at_the_label, before))
    text = page_text(now, changes=changes)
    assert (
        "NaN NaN, beside 0 in old new NaN join: rows lost gone NULL Not met again: mended, or missed" in text
    )
    assert "still there none" in text
    assert "old has no slice of NaN" in text


def test_what_engines_say_is_never_markup() -> None:
    def page(text: str) -> Page:
        engine = figures(text)
        return Page(render([engine], [compare_campaigns(text, [engine], [engine_figures(text, [])])]))

    harmless, nasty = page("x"), page(NASTY)
    assert nasty.tags == harmless.tags
    assert [name for name, _ in nasty.attributes] == [name for name, _ in harmless.attributes]
    assert "{{ 7 * 7 }}\\u{0}\\u{202e}" in nasty.text
    assert all(link.startswith("#") for link in nasty.values_of("href"))
    assert nasty.values_of("src") == []
    assert "default-src 'none'" in nasty.values_of("content")[0]


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    write_report([figures()], [], tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == render([figures()], [])
    assert len(list((tmp_path / "new").iterdir())) == 1


def points(path: str) -> list[tuple[float, float]]:
    """The corners of a path of horizontal and vertical lines."""
    start, *commands = re.findall(r"[MHV][\d. ]+", path)
    x, y = map(float, start[1:].split())
    corners = [(x, y)]
    for command in commands:
        if command[0] == "H":
            x = float(command[1:])
        else:
            y = float(command[1:])
        corners.append((x, y))
    return corners


@given(st.lists(st.floats(0, 60), max_size=12))
def test_a_curve_rises_by_one_at_each_cause_and_ends_with_the_hunt(times: list[float]) -> None:
    findings = (sliced_finding(f"trait {at}", seconds=seconds) for at, seconds in enumerate(times))
    (curve,) = cause_curves([engine_figures("plain", [finished_slice(*findings)])])
    corners = points(curve.path)
    assert corners[0] == (curves.LEFT, curves.HEIGHT - curves.BOTTOM)
    assert corners[-1][0] == curves.WIDTH - curves.RIGHT
    if times:
        assert corners[-1][1] == curves.TOP
    assert len({y for _, y in corners}) == len(times) + 1
    assert corners == sorted(corners, key=lambda corner: (corner[0], -corner[1]))


def test_curves_of_two_engines_have_the_same_axes() -> None:
    short = engine_figures("short", [finished_slice(sliced_finding("NaN"), seconds=30.0)])
    long_curve, short_curve = cause_curves([figures(), short])
    assert long_curve.across == short_curve.across
    assert points(short_curve.path)[-1] == ((curves.LEFT + curves.WIDTH - curves.RIGHT) / 2, 81.0)


@pytest.mark.parametrize(
    ("seconds", "unit", "text"), [(60.0, "s", "60"), (600.0, "min", "10"), (36_000.0, "h", "10")]
)
def test_the_time_has_a_unit_that_fits(seconds: float, unit: str, text: str) -> None:
    (curve,) = cause_curves([engine_figures("plain", [finished_slice(seconds=seconds)])])
    assert (curve.unit, curve.across[-1].text) == (unit, text)


@given(st.floats(0.01, 1e6))
def test_ticks_are_few_and_reach_far(most: float) -> None:
    values = ticks(most)
    assert values[0] == 0
    assert 2 < len(values) <= curves.TICKS_MAX + 1
    assert most / 2 < values[-1] <= most * (1 + 1e-6)
