"""A dynamic table is computed by the warehouse that it names, and by no other."""

from sim.refreshes.events import Computing, Executed
from sim.refreshes.model import SECOND_US, RefreshWarehouse, RefreshWorld, Setup, Statement, Writer
from sim.refreshes.run import run


def test_a_table_is_computed_by_its_warehouse_and_an_unknown_one_is_refused() -> None:
    """R-DVS-01."""
    create = "CREATE DYNAMIC TABLE s.{} TARGET_LAG = '1 minute' WAREHOUSE = {} AS SELECT k FROM t"
    texts = ["CREATE TABLE s.t (k INTEGER)", *(create.format(f"of_{name}", name) for name in "abc")]
    setup = Setup(
        world=RefreshWorld(until_us=100 * SECOND_US),
        warehouse=(RefreshWarehouse(name="a"), RefreshWarehouse(name="b")),
        statement=tuple(Statement(sql=text) for text in texts),
        writer=(Writer(table="s.t", every_us=9 * SECOND_US),),
    )
    found = run(setup, seed=0)
    refused = [event.refused for event in found.trace if isinstance(event, Executed) and event.refused]
    assert refused == ["there is no warehouse c; there are a, b"]
    computing = {(event.table, event.warehouse) for event in found.trace if isinstance(event, Computing)}
    assert computing == {("t2", "a"), ("t3", "b")}
