"""Traps of incremental maintenance that others have met: what sets each off, and where it was seen.

Numbers are those of `mutants/differentiation.py`; missing ones are of refreshes and schedules.
"""

from decimal import Decimal

import pytest
from maintaining import TABLES, deltas, evaluated, maintained, query, whole

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.intervals import Interval
from dynamic_tables.maintenance.algebra import Group
from dynamic_tables.maintenance.differentiation import RULES, differentiate
from dynamic_tables.maintenance.plans import Moment, derivatives, scan_reads
from dynamic_tables.storage.netting import difference
from dynamic_tables.values.changes import Action, Change
from dynamic_tables.values.errors import DivisionByZero, Refused
from dynamic_tables.values.key_texts import key_id
from dynamic_tables.values.types import FLOAT
from mutants.differentiation import TEXTBOOK
from strategies.dynamic.contents import IntervalChanges

NAN = float("nan")


def test_trap_1_a_row_with_a_null_is_deleted() -> None:
    """A NULL column in a view row: the delete does not match and the row doubles. pgsql-ivm#31."""
    text = "SELECT k, x FROM l WHERE k > 0"
    assert maintained(text, {"l": {"1": (1, None)}}, {"l": {"1": (1, "a")}}, {"l": {}}) == []


def test_trap_2_a_null_group_is_one_group() -> None:
    """A NULL group key gives two rows for one group. pgsql-ivm#31, HIVE-24775."""
    text = "SELECT k, count(*) c FROM l GROUP BY k"
    first = {"l": {"1": (None, "a")}}
    assert maintained(text, first, {"l": {"1": (None, "a"), "2": (None, "b")}}) == [(None, 2)]


def test_trap_3_a_null_key_is_not_inserted_again() -> None:
    """A merge on = inserts a NULL key at each refresh. PostHog PR#75601: 224 rows for 14."""
    text = "SELECT DISTINCT k FROM l"
    steps = [{"l": {str(i): (None, "a") for i in range(n)}} for n in (1, 2, 3, 2)]
    assert maintained(text, *steps) == [(None,)]
    assert deltas(text, *steps) == [(), (), ()]


@pytest.mark.parametrize("kind", ["LEFT", "FULL"])
def test_trap_4_the_last_match_goes_then_another_comes(kind: str) -> None:
    """Left and full join: last match deleted, then an insertion on the other side. risingwave#2420."""
    text = f"SELECT l.x, r.y FROM l {kind} JOIN r ON l.k = r.k"
    left = {"1": (1, "a")}
    steps = [{"l": left, "r": {"1": (1, "p")}}, {"l": left}, {"l": left, "r": {"2": (1, "q")}}]
    assert maintained(text, *steps[:2]) == [("a", None)]
    assert maintained(text, *steps) == [("a", "q")]


def test_trap_5_null_keys_of_both_sides_of_a_full_join_stay_apart() -> None:
    """Equal (NULL, NULL) rows from both sides: ids collide. risingwave#8059, #8084."""
    text = "SELECT l.x, r.y FROM l FULL JOIN r ON l.k = r.k"
    both = {"l": {"1": (None, None)}, "r": {"1": (None, None)}}
    assert maintained(text, {}, both) == [(None, None), (None, None)]
    assert maintained(text, both, {"r": both["r"]}) == [(None, None)]


def test_trap_6_an_outer_join_keeps_duplicates() -> None:
    """An outer join by difference of sets loses equal rows. Materialize#2724, feldera#3154."""
    text = "SELECT l.x, r.y FROM l LEFT JOIN r ON l.k = r.k"
    twice = {"l": {"1": (1, "a"), "2": (1, "a")}}
    assert maintained(text, {}, twice) == [("a", None), ("a", None)]
    assert maintained(text, twice, {**twice, "r": {"1": (1, "p"), "2": (1, "p")}}) == [("a", "p")] * 4


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_trap_7_null_join_keys_never_match(kind: str) -> None:
    """NULL join keys matched each other. Materialize#26352."""
    text = f"SELECT l.x, r.y FROM l {kind} JOIN r ON l.k = r.k"
    rows = maintained(text, {}, {"l": {"1": (None, "a")}, "r": {"1": (None, "p")}})
    assert ("a", "p") not in rows
    assert len(rows) == {"INNER": 0, "LEFT": 1, "RIGHT": 1, "FULL": 2}[kind]


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_trap_8_a_chain_of_outer_joins_reads_each_table_once_for_each_join(count: int) -> None:
    """k outer joins as inner join and anti-joins read 2^k times. risingwave#17450, [D] 5.5.1 (R-DVS-94).

    Each table is read for the keys of each join that it is below, and at one moment alone.
    """
    chain = "".join(f" LEFT JOIN r r{i} ON l.k = r{i}.k" for i in range(count))
    relation = query(f"SELECT l.x, {', '.join(f'r{i}.y y{i}' for i in range(count))} FROM l{chain}").relation
    reads = scan_reads(differentiate(relation))
    assert len(reads) == sum(range(2, count + 2))
    assert {moment for _, moment in reads} == {Moment.BEFORE}


def test_trap_9_a_null_filter_above_an_outer_join_sees_unmatched_rows() -> None:
    """IS NULL above an outer join, taken for a filter of one table. risingwave#24790, Materialize#7049."""
    text = "SELECT l.x FROM l LEFT JOIN r ON l.k = r.k WHERE r.y IS NULL"
    left = {"1": (1, "a"), "2": (2, "b")}
    steps = [{"l": left, "r": {"1": (1, "p")}}, {"l": left, "r": {"1": (2, None)}}]
    assert maintained(text, *steps[:1]) == [("b",)]
    assert maintained(text, *steps) == [("a",), ("b",)]


def test_trap_10_both_sides_of_a_join_change_at_once() -> None:
    """dL x R1 + L1 x dR counts the new pair twice. pg-trickle PR#24, PR#549."""
    text = "SELECT l.x, r.y FROM l JOIN r ON l.k = r.k"
    steps = [{"l": {"1": (1, "a")}, "r": {"1": (1, "p")}}, {"l": {"2": (1, "b")}, "r": {"2": (1, "q")}}]
    assert maintained(text, {}, *steps) == [("b", "q")]


def test_trap_11_a_self_join_changes_in_both_roles() -> None:
    """A self-join, of which both roles change. pgsql-ivm#5, PR#28."""
    text = "SELECT a.x, b.x y FROM l a JOIN l b ON a.k = b.k"
    steps = [{"l": {"1": (1, "a")}}, {"l": {"1": (1, "c"), "2": (1, "b")}}]
    assert maintained(text, *steps) == [("b", "b"), ("b", "c"), ("c", "b"), ("c", "c")]


def test_trap_12_three_tables_change_in_one_interval() -> None:
    """Several tables updated in one transaction. pgsql-ivm PR#87."""
    text = "SELECT x, y, z FROM l JOIN r ON l.k = r.k JOIN s ON r.k = s.k"
    steps = [{name: {"1": (1, f"{name}{i}")} for name in "lrs"} for i in range(3)]
    assert maintained(text, *steps) == [("l2", "r2", "s2")]


def test_trap_13_one_table_twice_under_a_union() -> None:
    """The same table twice under UNION ALL: ids collide. turso#5734."""
    text = "SELECT x FROM l UNION ALL SELECT x FROM l"
    assert maintained(text, {}, {"l": {"1": (1, "a")}}) == [("a",), ("a",)]


def test_trap_14_a_group_is_emptied_and_revived() -> None:
    """A group emptied, then revived. turso#8531."""
    text = "SELECT k, count(*) c, sum(n) s FROM n GROUP BY k"
    row = {"n": {"1": (1, 5, "")}}
    assert maintained(text, row, {}) == []
    assert maintained(text, row, {}, {"n": {"2": (1, 7, "")}}) == [(1, 1, 7)]


def test_trap_15_a_row_is_deleted_and_inserted_again_under_its_key() -> None:
    """Delete and re-insert of one key in one interval. turso PR#3601, risingwave PR#27040."""
    text = "SELECT k, x FROM l"
    (delta,) = deltas(text, {"l": {"1": (1, "a")}}, {"l": {"1": (1, "b")}})
    assert delta == (Change(Action.DELETE, "1", (1, "a")), Change(Action.INSERT, "1", (1, "b")))


def test_trap_16_a_row_is_inserted_and_updated_within_the_interval() -> None:
    """Inserted and updated within the interval: OLD was processed before NEW. pg_ivm PR#162."""
    text = "SELECT k, sum(n) s FROM n GROUP BY k"
    assert maintained(text, {}, {"n": {"1": (1, 2, "")}}) == [(1, 2)]


@pytest.mark.parametrize(("extreme", "left"), [("min", 5), ("max", 3)])
def test_trap_17_the_extreme_of_a_group_is_deleted(extreme: str, left: int) -> None:
    """MIN and MAX of the deleted extreme. pgsql-ivm PR#19, tidb#66780."""
    text = f"SELECT k, {extreme}(n) e FROM n GROUP BY k"
    gone = {"min": "1", "max": "2"}[extreme]
    rows = {"1": (1, 3, ""), "2": (1, 5, "")}
    assert maintained(text, {"n": rows}, {"n": {i: row for i, row in rows.items() if i != gone}}) == [
        (1, left)
    ]


def test_trap_18_distinct_aggregates_are_not_added_up() -> None:
    """Aggregates of DISTINCT added up; counts not removed at 0. StarRocks PR#73003, risingwave PR#21329."""
    text = "SELECT k, count(DISTINCT n) c, sum(DISTINCT n) s FROM n GROUP BY k"
    rows = {"1": (1, 5, ""), "2": (1, 5, ""), "3": (1, 7, "")}
    assert maintained(text, {"n": {"1": (1, 5, "")}}, {"n": rows}) == [(1, 2, 12)]
    assert maintained(text, {"n": rows}, {"n": {"1": (1, 5, "")}}, {"n": {"1": (1, None, "")}}) == [
        (1, 0, None)
    ]


def test_trap_19_an_average_of_decimals_stays_exact() -> None:
    """AVG over DECIMAL was 0 after the first increment. StarRocks PR#73012."""
    text = "SELECT k, avg(d) a FROM d GROUP BY k"
    steps = [
        {"d": {"1": (1, Decimal("0.10"))}},
        {"d": {"1": (1, Decimal("0.10")), "2": (1, Decimal("0.21"))}},
    ]
    assert maintained(text, *steps) == [(1, Decimal("0.15500000"))]


def test_trap_20_a_sum_of_only_nulls_is_null() -> None:
    """SUM of only NULLs is NULL, not 0; COUNT of a column is 0. feldera#2250, Materialize PR#7052."""
    text = "SELECT k, sum(n) s, count(n) c, count(*) a, min(n) m FROM n GROUP BY k"
    assert maintained(text, {"n": {"1": (1, 4, "")}}, {"n": {"1": (1, None, "")}}) == [(1, None, 0, 1, None)]


def test_trap_21_retracting_floats_leaves_no_drift() -> None:
    """Retraction drifts, and NaN and infinity stick. Materialize#19592."""
    text = "SELECT k, sum(f) s FROM f GROUP BY k"
    small, large = {"1": (1, 0.1), "2": (1, 0.2)}, {"3": (1, 1e16), "4": (1, NAN), "5": (1, float("inf"))}
    assert maintained(text, {"f": small}, {"f": {**large, **small}}, {"f": small}) == [(1, 0.1 + 0.2)]


def test_trap_21_a_sum_of_floats_depends_on_no_order() -> None:
    """The same rows in another order, as incremental maintenance meets them. Materialize PR#8492."""
    text = "SELECT k, sum(f) s FROM f GROUP BY k"
    cells = [1e308, 1e308, -1e308, 0.1, -1e16, 1e16]
    there = {"f": {str(i): (1, cell) for i, cell in enumerate(cells)}}
    back = {"f": dict(reversed(there["f"].items()))}
    assert evaluated(text, there) == evaluated(text, back)


def test_trap_22_zeros_and_nans_are_one_group_each() -> None:
    """-0.0, 0.0 and NaN as bytes of group keys and row ids. Our own."""
    text = "SELECT f, count(*) c FROM f GROUP BY f"
    rows = {"1": (1, 0.0), "2": (1, -0.0), "3": (1, NAN), "4": (1, float("nan"))}
    found = maintained(text, {"f": {"2": rows["2"]}}, {"f": rows}, {"f": dict(reversed(rows.items()))})
    assert [(repr(key), count) for key, count in found] == [("0.0", 2), ("nan", 2)]
    assert key_id((0.0,), (FLOAT,)) == key_id((-0.0,), (FLOAT,)) != key_id((NAN,), (FLOAT,))


def test_trap_23_ties_are_broken_the_same_way_each_time() -> None:
    """Ties in a window's ORDER BY. risingwave#12282, #13461, feldera#3934."""
    text = "SELECT k, n, row_number() OVER (PARTITION BY k ORDER BY n) p FROM n"
    rows = {"1": (1, 5, ""), "2": (1, 5, ""), "3": (1, 5, "")}
    (nothing, some) = deltas(
        text, {"n": rows}, {"n": dict(reversed(rows.items()))}, {"n": {"2": rows["2"], "3": rows["3"]}}
    )
    assert nothing == ()
    assert {change.row_id for change in some} == {"1", "2", "3"}


def test_trap_24_neighbours_of_a_changed_row_change_too() -> None:
    """LAG and LEAD across changed neighbours. feldera#1665."""
    over = "OVER (PARTITION BY k ORDER BY n)"
    text = f"SELECT n, lag(n) {over} p, lead(n) {over} q FROM n"
    steps = [{"1": (1, 1, ""), "3": (1, 3, "")}, {"1": (1, 1, ""), "2": (1, 2, ""), "3": (1, 3, "")}]
    assert maintained(text, *({"n": rows} for rows in steps)) == [(1, None, 2), (2, 1, 3), (3, 2, None)]


def test_trap_25_a_row_moves_to_another_partition() -> None:
    """R-DVS-95. A row moves: both partitions are computed again. risingwave PR#11587, LakeSoul PR#914."""
    text = "SELECT k, n, count(*) OVER (PARTITION BY k) c FROM n"
    before = {"1": (1, 1, ""), "2": (1, 2, ""), "3": (2, 3, "")}
    after = {**before, "2": (2, 2, "")}
    assert maintained(text, {"n": before}, {"n": after}) == [(1, 1, 1), (2, 2, 2), (2, 3, 2)]


def test_trap_26_a_rank_is_filtered_after_it_is_computed() -> None:
    """A filter of a rank pushed below the window. risingwave PR#24527."""
    text = """SELECT k, n FROM (SELECT k, n, rank() OVER (PARTITION BY k ORDER BY n DESC) p FROM n)
              WHERE p = 1 AND n < 9"""
    assert maintained(text, {"n": {"1": (1, 5, "")}}, {"n": {"1": (1, 5, ""), "2": (1, 9, "")}}) == []


@pytest.mark.parametrize("call", ["random()", "uuid_string()", "current_user()"])
def test_trap_27_volatile_functions_are_refused_by_name(call: str) -> None:
    """Non-deterministic and context functions in the select list. trino#28696 (R-DVS-29)."""
    with pytest.raises(Refused, match=f"(?i){call[:6]}.*volatile"):
        query(f"SELECT k, {call} v FROM l")


def test_trap_28_now_in_a_filter_is_refused_by_name() -> None:
    """Rows leave by now() without a change of a source, so that NO_DATA is wrong. risingwave#7543."""
    with pytest.raises(Refused, match=r"CURRENT_TIMESTAMP.* is volatile"):
        query("SELECT day FROM m WHERE at > current_timestamp()")


def test_trap_36_one_of_equal_rows_is_deleted() -> None:
    """Deletes from a table without a unique column. HIVE-28050."""
    text = "SELECT k, x FROM l"
    assert maintained(text, {"l": {"1": (1, "a"), "2": (1, "a")}}, {"l": {"2": (1, "a")}}) == [(1, "a")]


def test_trap_38_elements_of_one_list_are_told_apart_and_may_move() -> None:
    """Several outputs of one input share its id; a list is put in another order. risingwave#10495."""
    text = "SELECT k, f.index i, f.value v FROM e, LATERAL FLATTEN(input => items) f"
    steps = [{"e": {"1": (1, items, None)}} for items in ((7, 7, 8), (8, 7), (), None, (7,))]
    assert maintained(text, *steps[:2]) == [(1, 0, 8), (1, 1, 7)]
    assert maintained(text, *steps) == [(1, 0, 7)]


def test_trap_39_an_ungrouped_aggregate_has_one_row_always() -> None:
    """An aggregate without GROUP BY has one row, also of nothing; changes refuse it. pg_ivm."""
    text = "SELECT count(*) c, sum(k) s FROM l"
    assert evaluated(text, {}) == [(0, None)]
    assert query(text).obstacle == "an aggregate without GROUP BY"
    with pytest.raises(Refused, match="an aggregate without GROUP BY cannot be maintained incrementally"):
        BagBackend().changes(query(text), {})


def test_trap_40_what_goes_twice_is_not_hidden_by_netting() -> None:
    """Negative multiplicities. Materialize#18645: counting keeps a fault visible to validations."""
    backend = BagBackend()
    gone = [("1", (1,)), ("1", (1,))]
    assert backend.net((gone, [("1", (1,))]), lambda row: row) == ([("1", (1,))], [])


def test_trap_48_a_join_above_a_join_counts_what_went_and_came() -> None:
    """An unconsolidated delta in a join keyed by row id. Our own: 15 wrong of 100,000, found by fuzzing."""
    text = "SELECT l.x, r.y, s.z FROM l JOIN r ON l.k = r.k LEFT JOIN s ON r.k = s.k"
    steps = [{name: {"1": (1, f"{name}{i}"), "2": (1, "")} for name in "lrs"} for i in range(2)]
    assert len(maintained(text, *steps)) == 8


def test_trap_49_a_row_that_came_and_went_is_no_change() -> None:
    """A skipped interval in which a row was inserted and deleted. Our own."""
    text = "SELECT k, count(*) c FROM l GROUP BY k"
    assert deltas(text, {"l": {"1": (1, "a")}}, {"l": {"1": (1, "a")}}) == [()]


def test_trap_50_an_update_of_unused_columns_changes_nothing() -> None:
    """An update of only unused columns nets out. Our own."""
    steps = [{"n": {"1": (1, 5, word)}} for word in ("a", "b")]
    for text in ("SELECT k, n FROM n", "SELECT a.k, b.n FROM n a JOIN n b ON a.k = b.k"):
        assert deltas(text, *steps) == [()]
    backend = BagBackend()
    change = IntervalChanges(whole(steps[0])["N"], whole(steps[1])["N"], deltas("SELECT * FROM n", *steps)[0])
    assert backend.changes(query("SELECT k, sum(n) s FROM n GROUP BY k"), {"N": change}) == ()


def test_trap_51_a_full_result_has_the_ids_that_changes_have() -> None:
    """Ids of REINITIALIZE differ, and the next merge deletes rows that do not exist. Our own (R-DVS-98)."""
    text = """SELECT g.k, g.c, f.value v FROM (SELECT k, count(*) c FROM l GROUP BY k) g
              FULL JOIN e ON g.k = e.k, LATERAL FLATTEN(input => items, outer => true) f"""
    steps = [{"l": {"1": (1, "a")}, "e": {"1": (n, (1, 2), None)}} for n in (1, 2, 1)]
    assert len(maintained(text, *steps)) == 2


def test_trap_52_texts_that_join_to_one_text_are_two_groups() -> None:
    """Ids made by putting texts together: "a|b" and "c", "a" and "b|c". Our own."""
    text = "SELECT a, b, count(*) c FROM t GROUP BY a, b"
    rows = {
        "1": ("a|b", "c"),
        "2": ("a", "b|c"),
        "3": ("s1:a", ""),
        "4": ("", "s1:a"),
        "5": (None, "~"),
        "6": ("~", None),
    }
    assert len(maintained(text, {}, {"t": rows})) == 6


def test_trap_52_ids_of_pairs_do_not_run_together() -> None:
    """Row 1 with row 10, and row 11 with row 0. Our own."""
    text = "SELECT l.x, r.y FROM l JOIN r ON l.k = r.k"
    both = {"l": {"1": (1, "a"), "11": (1, "b")}, "r": {"10": (1, "c"), "0": (1, "d")}}
    assert len(maintained(text, {}, both)) == 4


def test_rows_that_never_met_are_not_computed_with() -> None:
    """dL x R1 pairs a row that went with one that came, and may divide by zero. Our own, found by fuzzing."""
    asked = query("SELECT l.k / r.k v FROM l JOIN r ON l.x = r.y")
    before = whole({"l": {"1": (2, "a")}})
    after = whole({"l": {"1": (2, "b")}, "r": {"1": (0, "a"), "2": (1, "b")}})
    sources = {
        one: IntervalChanges(before[one], after[one], difference(before[one], after[one])) for one in before
    }
    with pytest.raises(DivisionByZero):
        TEXTBOOK.changes(asked, sources)
    (change,) = BagBackend().changes(asked, sources)
    assert change.row == (Decimal("2.000000"),)


def test_an_operator_without_a_rule_is_told() -> None:
    """R-DVS-93: no derivative is left, or an error names it."""
    relation = query("SELECT k, count(*) c FROM l GROUP BY k").relation
    assert derivatives(differentiate(relation)) == ()
    with pytest.raises(AssertionError, match="the derivative of Group is left"):
        differentiate(relation, {operator: rule for operator, rule in RULES.items() if operator is not Group})


def test_where_nothing_changed_nothing_is_read() -> None:
    """Empty changes ask for no snapshot of a source."""
    backend, text = BagBackend(), "SELECT l.x, count(*) c FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.x"

    class Unread:
        changes = ()

        @property
        def before(self) -> None:
            raise AssertionError("read")

        after = before

    assert backend.compile_query(query(text)).changes(Interval({"L": Unread(), "R": Unread()})) == ([], [])
    assert {table.identity for table in TABLES.values()} >= {"L", "R"}
