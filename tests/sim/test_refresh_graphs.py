"""The graph of dynamic tables, and the names under which tables are shown."""

from refresh_plays import BASE, S, identities, play, table, with_trace

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.lags import DOWNSTREAM
from dynamic_tables.scheduling.states import Condition
from sim.refreshes.events import (
    LagJudged,
)
from sim.refreshes.graphs import GraphNode, graph, trim_graph
from sim.refreshes.naming import display_names


def test_the_graph_is_that_of_the_end() -> None:
    done = play(
        BASE,
        "CREATE TABLE s.u (k INTEGER)",
        "CREATE VIEW s.w AS SELECT k FROM t",
        table("d", "DOWNSTREAM", "SELECT k FROM w"),
        table("e", "'1 minute'", "SELECT d.k FROM d JOIN u ON d.k = u.k"),
        (155, "ALTER DYNAMIC TABLE s.e SUSPEND"),
        (160, "DROP TABLE s.u"),
    )
    ids = identities(done)
    late = LagJudged(
        at_us=200 * S, table=ids["e"], condition="SUSPENDED", lag_us=80 * S, target_us=60 * S, because="x",
        unexplained=False,
    )  # fmt: skip
    done = with_trace(done, late)
    whole = graph(done)
    assert {node.name: node for node in whole.nodes.values()} == {
        "t": GraphNode(name="t", kind=EntityKind.TABLE),
        "w": GraphNode(name="w", kind=EntityKind.VIEW),
        "d": GraphNode(
            name="d",
            kind=EntityKind.DYNAMIC_TABLE,
            mode=Mode.INCREMENTAL,
            lag=DOWNSTREAM,
            condition=Condition.UNSCHEDULED,
        ),
        "e": GraphNode(
            name="e",
            kind=EntityKind.DYNAMIC_TABLE,
            mode=Mode.INCREMENTAL,
            lag=60 * S,
            condition=Condition.SUSPENDED,
            late=True,
        ),
    }
    assert whole.reads == ((ids["t"], ids["w"]), (ids["w"], ids["d"]), (ids["d"], ids["e"]))
    assert whole.missing == (("s.u", ids["e"]),)


def test_a_part_of_a_graph_has_all_that_it_reads_and_first_what_does_not_rest() -> None:
    done = play(
        BASE,
        "CREATE TABLE s.u (k INTEGER)",
        table("a", "'1 minute'", "SELECT k FROM u"),
        table("b", "'1 minute'", "SELECT k FROM t"),
        table("c", "'1 minute'", "SELECT k FROM b"),
        (155, "ALTER DYNAMIC TABLE s.c SUSPEND"),
    )
    whole = graph(done)
    assert trim_graph(whole, nodes_max=6) == whole
    part = trim_graph(whole, nodes_max=4)
    assert {node.name for node in part.nodes.values()} == {"t", "b", "c", "u"}
    assert len(part.reads) == 2
    assert {node.name for node in trim_graph(whole, nodes_max=3).nodes.values()} == {"t", "b", "c"}


def test_tables_are_called_by_their_last_names() -> None:
    """Schemas are told if there are several, identities of those that are gone if a name was given again."""
    done = play(
        BASE,
        "CREATE OR REPLACE TABLE s.t (k INTEGER)",
        "CREATE TABLE s.u (k INTEGER)",
        "ALTER TABLE s.u RENAME TO s.x",
    )
    assert list(display_names(done).values()) == ["t (t1)", "t", "x"]
    assert sorted(display_names(play(BASE, (5, "CREATE SCHEMA z CLONE s"))).values()) == ["s.t", "z.t"]
