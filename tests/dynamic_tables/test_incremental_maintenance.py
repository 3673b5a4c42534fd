"""Changes applied to a result give what full evaluation gives afterwards, row ids included."""

from collections import Counter
from decimal import Decimal
from itertools import chain
from random import Random

import duckdb
import pytest
from as_duckdb import NotRendered, answer, same_bag
from hypothesis import event, given
from hypothesis import strategies as st
from maintaining import deltas, maintained, query, whole

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import KERNELS
from dynamic_tables.maintenance.algebra import Join, JoinKind, Opaque, Relation, UnionAll, subrelations
from dynamic_tables.maintenance.differentiation import RULES
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.key_texts import HASH_DIGITS, PREFIX_LENGTH
from strategies.dynamic.cases import drawn_case, interval_outcomes

DEPTH = 3
# Queries, each over up to eight intervals; a few fail over their rows before any.
SEEDS = 250
SEEDS_DEEP = 110_000


@given(random=st.randoms(use_true_random=False))
def test_changes_always_agree_with_full_evaluation(random: Random) -> None:
    """DIFF-1. For each query and interval: full before, changed, is full after (R-DVS-02, 91, 98)."""
    case = drawn_case(random, DEPTH)
    event(type(case.query.relation).__name__)
    for outcome in interval_outcomes(random, case, BagBackend()):
        assert outcome.finding is None, f"{outcome}\n{case.query.relation}"


def test_changes_agree_with_full_evaluation_in_many_seeded_cases(deep: bool) -> None:
    """DIFF-1 again, without Hypothesis' cost: in a deep run over 100,000 queries."""
    backend, queries, intervals = BagBackend(), 0, 0
    for seed in range(SEEDS_DEEP if deep else SEEDS):
        random, before = Random(seed), intervals
        for outcome in interval_outcomes(random, drawn_case(random, DEPTH), backend):
            assert outcome.finding is None, f"seed {seed}: {outcome}"
            intervals += 1
        queries += intervals > before
    assert queries >= (100_000 if deep else 220)
    assert intervals >= 7 * queries


def test_full_evaluation_agrees_with_duckdb(deep: bool) -> None:
    """DIFF-2. Incremental and full evaluation share operators; DuckDB shares nothing with either."""
    backend, agreed, connection = BagBackend(), Counter[str](), duckdb.connect()
    for seed in range(4_000 if deep else 250):
        case = drawn_case(Random(seed), DEPTH if seed % 2 else 1)
        try:
            theirs = answer(connection, case.query.relation, case.tables, case.contents)
        except NotRendered:
            continue
        ours = list(backend.full(case.query, case.contents).values())
        assert same_bag(ours, theirs), f"seed {seed}: {case.query.relation}\n{case.contents}"
        agreed.update({type(node).__name__ for node in subrelations(case.query.relation)})
    assert min(agreed[operator.__name__] for operator in KERNELS) >= 3


def test_the_key_of_equal_variants_depends_on_no_order_of_rows() -> None:
    """0 and 0.00 are one key; which of them stood for it was the one that came first. Found by fuzzing."""
    text = "SELECT DISTINCT f.value v FROM e, LATERAL FLATTEN(input => items) f"
    mixed = (-0.0, 1.5, Decimal("1.50"))
    zeros = {"1": (1, (0,), None), "2": (1, (Decimal("0.00"),), None), "3": (1, mixed, None)}
    steps = [{"e": zeros}, {"e": {"3": zeros["3"], "2": zeros["2"]}}, {"e": {"2": zeros["2"]}}]
    assert deltas(text, *steps[:2]) == [()]
    assert [repr(row) for row in maintained(text, *steps)] == ["(0,)"]


def drawn(seed: int) -> Relation:
    return drawn_case(Random(seed), DEPTH).query.relation


def test_cases_reach_each_operator_below_and_above_each_other() -> None:
    pairs = {
        (type(above).__name__, type(below).__name__)
        for seed in range(600)
        for above in subrelations(drawn(seed))
        for below in subrelations(above)
        if below is not above
    }
    names = {operator.__name__ for operator in RULES} - {"Scan", "ConstantRows"}
    assert {(above, below) for above in names for below in {*names, "ConstantRows"}} <= pairs


@pytest.mark.parametrize("kind", JoinKind)
def test_cases_reach_joins_of_one_relation_with_itself(kind: JoinKind) -> None:
    joins = (node for seed in range(600) for node in subrelations(drawn(seed)) if isinstance(node, Join))
    assert any(join.left is join.right and join.kind is kind for join in joins)


def test_cases_reach_a_union_of_one_relation_with_itself() -> None:
    unions = (node for seed in range(200) for node in subrelations(drawn(seed)) if isinstance(node, UnionAll))
    assert any(union.inputs[0] is union.inputs[1] for union in unions)


def test_every_operator_has_a_kernel_and_a_rule() -> None:
    """R-DVS-21, R-DVS-93. What INCREMENTAL accepts can be computed, and its changes too."""
    # An opaque query is computed by its engine alone, in full.
    assert set(KERNELS) == set(RULES) == set(Relation.__args__) - {Opaque}


def test_a_long_key_is_told_by_a_prefix_and_a_hash() -> None:
    """R-DVS-96. Keys that begin alike have ids that begin alike, of one length, and are two groups."""
    texts = ("a" * 200, "a" * 199 + "b", "b" * 300)
    rows = {str(number): (1, text) for number, text in enumerate(texts)}
    found = BagBackend().full(query("SELECT DISTINCT x FROM l"), whole({"l": rows}))
    ids = {text: row_id for row_id, (text,) in found.items()}
    assert len(ids) == len(set(ids.values())) == len(texts)
    assert {len(row_id) for row_id in ids.values()} == {len("h:") + PREFIX_LENGTH + HASH_DIGITS}
    prefixes = [ids[text][: len("h:") + PREFIX_LENGTH] for text in texts]
    assert prefixes[0] == prefixes[1]
    assert prefixes[1] != prefixes[2]


def test_what_is_compiled_goes_with_its_query() -> None:
    backend = BagBackend()
    case = drawn_case(Random(1), 1)
    backend.full(case.query, case.contents)
    assert list(backend.compiled_queries) == [case.query]
    del case
    assert list(chain(backend.compiled_queries)) == []


def test_a_query_equals_itself_alone() -> None:
    relation = drawn(2)
    assert Query(relation) != Query(relation)
    assert Query(relation).fingerprint == Query(relation).fingerprint
