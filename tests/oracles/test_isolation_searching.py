"""Searches side by side find what one search after the other finds, and a limit is never an absence."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.isolation import searching
from oracles.isolation.searching import (
    PathSearches,
    decide_reachability,
    find_shortest,
    shortest_path,
    sparse,
)

Pairs = Sequence[tuple[int, int]]

NODES = 7


def pairs(*, min_size: int = 0) -> st.SearchStrategy[list[tuple[int, int]]]:
    node = st.integers(0, NODES - 1)
    return st.lists(
        st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), min_size=min_size, max_size=14
    )


def ways(arcs: Pairs, searches: Pairs, ranks: Sequence[Sequence[int]] = ()) -> PathSearches:
    ends = np.array(arcs, np.int64).reshape(-1, 2)
    wanted = np.array(searches, np.int64).reshape(-1, 2)
    return PathSearches(
        arcs=sparse(NODES, ends[:, 0], ends[:, 1]),
        starts=wanted[:, 0],
        ends=wanted[:, 1],
        ranks=np.array(ranks, np.int64).reshape(len(ranks), NODES),
    )


def lengths(arcs: Pairs, searches: Pairs) -> list[int | None]:
    """The length of a shortest path of each search, by another library."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_edges_from(arcs)
    return [
        nx.shortest_path_length(graph, start, end) if nx.has_path(graph, start, end) else None
        for start, end in searches
    ]


@given(arcs=pairs(), searches=pairs())
def test_the_shortest_of_many_ways_is_found(arcs: Pairs, searches: Pairs) -> None:
    found, expected = find_shortest(ways(arcs, searches)), lengths(arcs, searches)
    assert found.complete
    known = [length for length in expected if length is not None]
    if found.search is None:
        assert not known
    else:
        assert expected[found.search] == min(known)
        start, end = searches[found.search]
        path = shortest_path(ways(arcs, searches).arcs, start, end)
        assert (path[0], path[-1], len(path) - 1) == (start, end, min(known))


@given(arcs=pairs(), searches=pairs())
def test_each_of_many_searches_is_decided(arcs: Pairs, searches: Pairs) -> None:
    decided, expected = decide_reachability(ways(arcs, searches)), lengths(arcs, searches)
    assert not decided.unknown.any()
    assert decided.reachable.tolist() == [length is not None for length in expected]


@given(arcs=pairs(), searches=pairs())
def test_ranks_rule_out_only_what_there_is_not(arcs: Pairs, searches: Pairs) -> None:
    ordered = [(min(pair), max(pair)) for pair in arcs]
    ranked, expected = ways(ordered, searches, [range(NODES)]), lengths(ordered, searches)
    assert decide_reachability(ranked).reachable.tolist() == [length is not None for length in expected]
    assert find_shortest(ranked).search == find_shortest(ways(ordered, searches)).search


@given(arcs=pairs(min_size=1), searches=pairs(min_size=1), limit=st.integers(0, 6))
def test_a_limit_is_never_an_absence(arcs: Pairs, searches: Pairs, limit: int) -> None:
    expected = lengths(arcs, searches)
    few = find_shortest(ways(arcs, searches), steps_max=limit)
    if few.search is None and few.complete:
        assert expected == [None] * len(searches)
    decided = decide_reachability(ways(arcs, searches), steps_each=limit)
    for length, found, unknown in zip(expected, decided.reachable, decided.unknown, strict=True):
        assert not (found and unknown)
        assert unknown or found == (length is not None)


@pytest.mark.parametrize(("chunk", "pairs_max"), [(1, 100), (2, 100), (3, 100), (5, 1), (5, 6), (5, 9)])
def test_searches_of_several_chunks_agree(
    chunk: int, pairs_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where chunks are halved, because they hold too much."""
    arcs = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (2, 6)]
    searches = [(0, 6), (6, 0), (1, 5), (3, 6), (1, 6)]
    monkeypatch.setattr(searching, "CHUNK", chunk)
    monkeypatch.setattr(searching, "PAIRS_MAX", pairs_max)
    assert find_shortest(ways(arcs, searches)).search == 4
    assert decide_reachability(ways(arcs, searches)).reachable.tolist() == [True, False, True, True, True]


def test_searches_that_there_is_no_time_for_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "CHUNK", 1)
    decided = decide_reachability(ways([(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 0)]), steps_all=1)
    assert decided.reachable.tolist() == [True, False, False]
    assert decided.unknown.tolist() == [False, True, True]
