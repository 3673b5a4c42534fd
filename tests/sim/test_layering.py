"""Graphs in layers: each edge goes on, through no node, and few cross."""

from graphlib import CycleError
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.refreshes.layering import depths, layered_layout


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """Graphs without cycles. Shrinks to no nodes."""
    nodes = [f"n{number}" for number in range(draw(st.integers(0, 9)))]
    pairs = [(source, reader) for at, reader in enumerate(nodes) for source in nodes[:at]]
    return nodes, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def test_depths_are_those_of_the_longest_way() -> None:
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]
    assert depths("abcd", edges) == {"a": 0, "b": 1, "c": 2, "d": 0}


def test_what_has_no_first_is_refused() -> None:
    with pytest.raises(CycleError):
        depths("ab", [("a", "b"), ("b", "a")])


def test_an_edge_over_a_layer_takes_a_place_there() -> None:
    found = layered_layout("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    assert found.routes == (("a", "b"), ("b", "c"), ("a", (2, 1), "c"))
    assert found.layers == (("a",), ("b", (2, 1)), ("c",))


def test_edges_are_untangled() -> None:
    """As given, each of the edges crosses the two others."""
    found = layered_layout(["a", "b", "c", "x", "y", "z"], [("a", "z"), ("b", "y"), ("c", "x")])
    assert found.layers[1] in ((*"zyx",), (*"xyz",))
    assert found.crossings == 0


def test_what_has_to_cross_crosses_once() -> None:
    found = layered_layout("abxy", [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    assert found.crossings == 1


@given(graphs())
def test_each_edge_goes_on_layer_by_layer_and_each_stop_stands_once(
    given_graph: tuple[list[str], list[tuple[str, str]]],
) -> None:
    nodes, edges = given_graph
    found = layered_layout(nodes, edges)
    at = {stop: number for number, layer in enumerate(found.layers) for stop in layer}
    assert len(at) == sum(map(len, found.layers))
    assert {stop for stop in at if isinstance(stop, str)} == set(nodes)
    assert [(route[0], route[-1]) for route in found.routes] == edges
    for route in found.routes:
        assert all(at[after] == at[before] + 1 for before, after in pairwise(route))
        assert not any(isinstance(stop, str) for stop in route[1:-1])
