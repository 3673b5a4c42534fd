"""The keys of affected rows are looked for at the scans that they come from."""

import pytest
from maintaining import deltas, query, whole

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import Scan
from dynamic_tables.maintenance.differentiation import differentiate
from dynamic_tables.maintenance.plans import AffectedRows, Snapshot, nodes
from dynamic_tables.storage.netting import difference
from dynamic_tables.values.errors import DivisionByZero
from mutants.differentiation import KEYS_BELOW_FILTERS
from strategies.dynamic.contents import IntervalChanges

JOINED = "SELECT {} FROM l JOIN r ON l.k = r.k"
WHOLE = "SELECT l.x, COUNT(*) n FROM l, r WHERE l.k > r.k GROUP BY l.x"
REACHING = {
    "a join below a group": f"{JOINED.format('r.y, COUNT(*) n')} GROUP BY r.y",
    "a key with columns of both sides": f"{JOINED.format('l.x, r.y, COUNT(*) n')} GROUP BY l.x, r.y",
    "two joins": f"{JOINED.format('s.z, COUNT(*) n')} JOIN s ON r.k = s.k GROUP BY s.z",
    "an outer join, by its kept side": (
        "SELECT l.x, COUNT(r.y) n FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.x"
    ),
    "a filter": "SELECT x, COUNT(*) n FROM l WHERE k > 0 GROUP BY x",
    "a computed key": "SELECT k + 1 AS up, COUNT(*) n FROM l GROUP BY up",
    "a union": "SELECT DISTINCT x FROM (SELECT x FROM l UNION ALL SELECT y FROM r)",
    "a group below a group": (
        "SELECT k, MAX(n) m FROM (SELECT k, x, COUNT(*) n FROM l GROUP BY k, x) GROUP BY k"
    ),
    "a window, by its partition": (
        "SELECT DISTINCT k, n FROM (SELECT k, COUNT(*) OVER (PARTITION BY k) n FROM l)"
    ),
    "a window below a join": (
        "SELECT w.k, n, y FROM (SELECT k, COUNT(*) OVER (PARTITION BY k) n FROM l) w JOIN r ON w.k = r.k"
    ),
}
NOT_REACHING = {
    "a join by an inequality": WHOLE,
    "an outer join, by its other side": (
        "SELECT r.y, COUNT(*) n FROM l LEFT JOIN r ON l.k = r.k GROUP BY r.y"
    ),
    "a window, by a column that is no partition": (
        "SELECT x, SUM(n) s FROM (SELECT x, COUNT(*) OVER (PARTITION BY k) n FROM l) GROUP BY x"
    ),
    "a computed key above a filter": "SELECT 6 / k AS part, COUNT(*) n FROM l WHERE k > 0 GROUP BY part",
}


def are_all_scans_restricted(text: str) -> bool:
    """Tell whether a definition's changes are computed from no table as a whole."""
    plans = list(nodes(differentiate(query(text).relation)))
    restricted = {id(plan.rows) for plan in plans if isinstance(plan, AffectedRows)}
    snapshots = [plan for plan in plans if isinstance(plan, Snapshot)]
    return all(isinstance(plan.relation, Scan) and id(plan) in restricted for plan in snapshots)


@pytest.mark.parametrize("name", REACHING)
def test_keys_are_looked_for_at_each_scan_below(name: str) -> None:
    assert are_all_scans_restricted(REACHING[name])


@pytest.mark.parametrize("name", NOT_REACHING)
def test_keys_stay_above_operators_that_need_other_rows(name: str) -> None:
    assert not are_all_scans_restricted(NOT_REACHING[name])


def test_a_key_that_fails_for_rows_that_a_filter_drops_stays_above_it() -> None:
    """DIFF-1 can fail: a division by zero that no full evaluation computes."""
    text = NOT_REACHING["a computed key above a filter"]
    before = {"1": (0, "zero"), "2": (2, "two")}
    after = {**before, "3": (3, "three")}
    assert len(deltas(text, {"l": before}, {"l": after})[0]) == 1
    old, new = whole({"l": before}), whole({"l": after})
    sources = {name: IntervalChanges(old[name], new[name], difference(old[name], new[name])) for name in old}
    assert BagBackend().changes(query(text), sources)
    with pytest.raises(DivisionByZero):
        KEYS_BELOW_FILTERS.changes(query(text), sources)
