"""Curves along what a scenario varies show each run, on axes that fit its values."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.scenario_schema import Setting
from skipproof.simulations.along import MeasureCurves, Spread, curves_along_setting, values_by_settings
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.latency import latency_picture
from skipproof.simulations.shares import pruned_picture

NODES, KEEPING = "world.warehouse.nodes", "world.metadata.keeping"


def test_the_key_with_most_numbers_is_the_axis_and_others_name_the_lines() -> None:
    found = curves_along_setting(
        [
            ({KEEPING: keeping, NODES: nodes, "table.t.blocks": 7}, nodes * weight + seed)
            for keeping, weight in (("footers", 100.0), ("columnar", 10.0))
            for nodes in (16, 1, 4)
            for seed in (1, 0, 5)
        ]
    )
    assert found.key == NODES
    assert found.values == (1, 4, 16)
    assert found.lines == {
        "footers": tuple(
            Spread(least=100.0 * nodes, median=100.0 * nodes + 1, most=100.0 * nodes + 5)
            for nodes in (1, 4, 16)
        ),
        "columnar": tuple(
            Spread(least=10.0 * nodes, median=10.0 * nodes + 1, most=10.0 * nodes + 5) for nodes in (1, 4, 16)
        ),
    }


def test_what_was_not_run_is_missing_and_one_line_has_no_name() -> None:
    found = curves_along_setting([({KEEPING: "footers"}, 3.0), ({KEEPING: "columnar"}, 1.0)])
    assert not found.is_numeric
    assert found.values == ("footers", "columnar")
    assert list(found.lines) == [""]
    partial = curves_along_setting([({NODES: 1, KEEPING: "a"}, 3.0), ({NODES: 2, KEEPING: "b"}, 1.0)])
    assert [line.count(None) for line in partial.lines.values()] == [1, 1]


def test_cases_are_told_apart_by_what_differs() -> None:
    found = [
        ({"a.nodes": nodes, KEEPING: keeping, "table.t.blocks": 7}, float(nodes))
        for keeping in ("footers", "columnar")
        for nodes in (1, 2, 1)
    ]
    assert values_by_settings(found) == {
        "nodes 1, footers": [1.0, 1.0],
        "nodes 2, footers": [2.0],
        "nodes 1, columnar": [1.0, 1.0],
        "nodes 2, columnar": [2.0],
    }


@given(
    st.lists(
        st.tuples(
            st.fixed_dictionaries(
                {NODES: st.sampled_from([1, 2, 3.5]), KEEPING: st.sampled_from(["x", True, 2])}
            ),
            st.floats(0, 1e9),
        ),
        min_size=1,
    )
)
def test_no_run_is_lost(found: list[tuple[dict[str, Setting], float]]) -> None:
    """The least and the most of all lines are those of all runs."""
    lines = curves_along_setting(found).lines
    spreads = [spread for line in lines.values() for spread in line if spread]
    assert min(spread.least for spread in spreads) == min(value for _, value in found)
    assert max(spread.most for spread in spreads) == max(value for _, value in found)
    assert all(spread.least <= spread.median <= spread.most for spread in spreads)


def picture(values: tuple[Setting, ...], *lines: tuple[float, ...]) -> str:
    """Return the SVG of lines over one setting, without other settings that vary."""
    found = MeasureCurves(
        key=NODES,
        values=values,
        lines={
            f"order {at} <b>$x$": tuple(Spread(least=y, median=y, most=2 * y) for y in line)
            for at, line in enumerate(lines)
        },
    )
    return curves_picture(found, Axis(label="latency (ms)"), name="x", title="Latency").svg


def test_an_axis_multiplies_where_values_span_more_than_two_decades() -> None:
    """With numbers as people write them, each ten times the one before."""
    near, far = picture((1, 2, 50), (1.0, 2.0, 3.0)), picture((1, 2, 5_000), (1.0, 2.0, 3_000.0))
    assert [">1,000<" in svg for svg in (near, far)] == [False, True]
    assert far.count(">10<") == 2
    assert ">20<" in near
    assert "mathdefault" not in far


def test_text_of_a_scenario_is_escaped_and_cut() -> None:
    svg = picture(("<script>" + "y" * 99, "\x1b"), (1.0, 2.0), (3.0, 4.0))
    assert "<script" not in svg
    assert "<b>" not in svg
    assert "\x1b" not in svg
    assert "y" * 60 not in svg
    assert "order 1" in svg


def test_values_too_long_for_an_axis_have_letters_there() -> None:
    found = curves_along_setting([({KEEPING: "SELECT * FROM t"}, 3.0), ({KEEPING: "SELECT *"}, 1.0)])
    drawn = curves_picture(found, Axis(label="latency (ms)"), name="x", title="Latency")
    assert drawn.caption.startswith("A: SELECT * FROM t. B: SELECT *. ")
    assert ">A<" in drawn.svg
    short = replace(found, values=("columnar", "footers"))
    drawn = curves_picture(short, Axis(label="latency (ms)"), name="x", title="Latency")
    assert "A: " not in drawn.caption
    assert ">footers<" in drawn.svg


def test_curves_of_one_run_of_none_and_of_many_are_drawn() -> None:
    assert latency_picture({"q0": []}, runs=3) is None
    one = latency_picture({"q0": [5]}, runs=1)
    assert one is not None
    assert "q0: 5 µs" in one.caption
    wide = latency_picture({"q0": [10_000_000, 1], "q1": range(1, 101)}, runs=2)
    assert wide is not None
    assert "q0: median 1 µs, 1 µs to 10 s" in wide.caption
    assert "q1: median 50 µs, 95 % within 95 µs" in wide.caption
    assert "q1" in wide.svg


def test_the_pruned_share_is_told_of_each_run() -> None:
    runs = [{"blocks": 10.0, "filter_pruned_at_compile": float(pruned)} for pruned in (9, 1, 5)]
    picture = pruned_picture(runs, left_out=2)
    assert "from 10 % to 90 %, half of the runs 50 % or more" in picture.svg
    assert "filter, at compile time" in picture.svg
    assert "2 runs in which a query has no end are left out" in picture.caption
