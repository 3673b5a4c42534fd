"""A relation that reads fewer columns gives the same rows under the same ids."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import scans
from dynamic_tables.maintenance.narrowing import narrow, narrow_relation
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.errors import UserError
from strategies.dynamic.cases import drawn_case


@given(random=st.randoms(use_true_random=False))
def test_leaving_out_columns_never_changes_the_others(random: Random) -> None:
    """DIFF-3. For each query and each choice of its columns, rows and ids stay."""
    case = drawn_case(random, 3)
    whole = case.query.relation
    needed = frozenset(place for place in range(len(whole.fields)) if random.random() < 0.5)
    fewer, places = narrow(whole, needed)
    backend = BagBackend()
    try:
        expected = backend.full(case.query, case.contents)
    except UserError:  # what is left out may be what failed
        return
    found = backend.full(Query(fewer), case.contents)
    assert {field.name for place, field in enumerate(whole.fields) if place in needed} <= {
        field.name for field in fewer.fields
    }
    chosen = sorted(needed)
    assert {row_id: exact_key(tuple(row[place] for place in chosen)) for row_id, row in expected.items()} == {
        row_id: exact_key(tuple(row[places[place]] for place in chosen)) for row_id, row in found.items()
    }


def test_narrowing_reaches_scans_that_read_less() -> None:
    relations = [drawn_case(Random(seed), 3).query.relation for seed in range(100)]
    less = [
        relation
        for relation in relations
        if sum(len(scan.fields) for scan in scans(narrow_relation(relation)))
        < sum(len(scan.fields) for scan in scans(relation))
    ]
    assert len(less) > 20


def test_a_narrowed_relation_keeps_its_columns() -> None:
    for seed in range(100):
        relation = drawn_case(Random(seed), 3).query.relation
        assert narrow_relation(relation).fields == relation.fields
