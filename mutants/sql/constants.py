"""Mutants of constant rows, each as a backend."""

from collections.abc import Mapping

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.operators import KERNELS, Kernel
from dynamic_tables.maintenance.algebra import ConstantRows, UnionAll
from dynamic_tables.maintenance.differentiation import RULES
from dynamic_tables.maintenance.plans import Changes, Moment, Recomputation, Snapshot


def with_one_id(relation: ConstantRows) -> Kernel:
    """Give all rows one id."""
    return lambda: [("v", row) for row in relation.rows]


def inserted_again(relation: ConstantRows) -> Changes:
    """Take constant rows for rows that are inserted in each interval."""
    return Recomputation(UnionAll((relation,)), (), (Snapshot(relation, Moment.AFTER),))


MUTANTS: Mapping[str, BagBackend] = {
    "all rows have one id": BagBackend(kernels={**KERNELS, ConstantRows: with_one_id}),
    "rows are inserted again": BagBackend(rules={**RULES, ConstantRows: inserted_again}),
}
