"""Broken twins of the rules of dynamic tables: each is one mistake that such rules have had somewhere.

Properties must kill each. Numbers are of the traps of incremental maintenance, listed in
`tests/dynamic_tables/test_maintenance_traps.py`.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.changes import RowChanges, net
from dynamic_tables.bags.operators import KERNELS, Kernel, Pairs, explode_kernel, window_kernel
from dynamic_tables.maintenance.algebra import (
    Distinct,
    Explode,
    Group,
    Join,
    JoinKind,
    Relation,
    UnionAll,
    Window,
)
from dynamic_tables.maintenance.differentiation import (
    RULES,
    Rule,
    inner_join,
    join,
    net_changes,
    outer_join,
    textbook_inner_join,
)
from dynamic_tables.maintenance.differentiation import distinct as distinct_rule
from dynamic_tables.maintenance.differentiation import group as group_rule
from dynamic_tables.maintenance.differentiation import window as window_rule
from dynamic_tables.maintenance.plans import (
    AffectedRows,
    ChangedKeys,
    ChangedPairs,
    Changes,
    DeltaJoin,
    Derivative,
    Linear,
    Moment,
    Recomputation,
    Snapshot,
    Sum,
)
from dynamic_tables.values.changes import Row

NOTHING = Sum(())


def of_inner(rule: Callable[[Join], Changes]) -> Rule:
    """A rule for inner joins; others keep theirs."""
    return lambda relation: rule(relation) if relation.kind is JoinKind.INNER else outer_join(relation)


def of_outer(rule: Callable[[Join], Changes]) -> Rule:
    """A rule for outer joins; inner ones keep theirs."""
    return lambda relation: inner_join(relation) if relation.kind is JoinKind.INNER else rule(relation)


def pairs_at(left: Moment, right: Moment) -> Callable[[Join], Changes]:
    """The inner join with each side's changes against the other side at some moment."""

    def rule(relation: Join) -> Changes:
        return Sum(
            (
                DeltaJoin(relation, net_changes(relation.left), Snapshot(relation.right, right)),
                DeltaJoin(relation, Snapshot(relation.left, left), net_changes(relation.right)),
            )
        )

    return rule


def left_changes_alone(relation: Join) -> Changes:
    """dL x R1, as if the right side never changed."""
    return DeltaJoin(relation, net_changes(relation.left), Snapshot(relation.right, Moment.AFTER))


def deletions_after(relation: Join) -> Changes:
    """The inner join with rows that went paired with what there is."""
    plan = inner_join(relation)
    assert isinstance(plan, ChangedPairs)
    return replace(plan, before=plan.after)


def not_consolidated(relation: Join) -> Changes:
    """The inner join of changes that may hold rows that went and came."""
    left, right = relation.left, relation.right
    return Sum(
        (
            DeltaJoin(relation, Derivative(left), Snapshot(right, Moment.AFTER)),
            DeltaJoin(relation, Snapshot(left, Moment.BEFORE), Derivative(right)),
        )
    )


def recomputed(rule: Rule, change: Callable[[Recomputation], Changes]) -> Rule:
    """A rule by affected keys with something changed; where it gives another plan it stays."""

    def run(relation: Any) -> Changes:
        plan = rule(relation)
        return change(plan) if isinstance(plan, Recomputation) else plan

    return run


def without_before(plan: Recomputation) -> Changes:
    """Only what comes."""
    return replace(plan, before=())


def without_after(plan: Recomputation) -> Changes:
    """Only what goes."""
    return replace(plan, after=())


def all_after(plan: Recomputation) -> Changes:
    """What goes computed from the rows as they are."""
    return replace(plan, before=plan.after)


def nulls_dropped(plan: Recomputation) -> Changes:
    """Keys compared by =, which is never true of NULL."""
    return replace(plan, before=null_less(plan.before), after=null_less(plan.after))


def null_less(rows: tuple[AffectedRows, ...]) -> tuple[AffectedRows, ...]:
    """Restrictions that take no row whose key has a NULL."""
    return tuple(replace(one, nulls_of=NOTHING) for one in rows)


def keys_of_left(plan: Recomputation) -> Changes:
    """The affected keys of an outer join taken from its left side alone."""
    among = plan.before[0].among
    left = ChangedKeys(among.changes[:1], among.expressions[:1])

    def restricted(rows: tuple[AffectedRows, ...]) -> tuple[AffectedRows, ...]:
        return tuple(replace(one, among=left) for one in rows)

    return replace(plan, before=restricted(plan.before), after=restricted(plan.after))


def linear(relation: Distinct | Group) -> Changes:
    """The operator over the changed rows alone."""
    return Linear(relation, (Derivative(relation.child),))


def without_branch(relation: UnionAll) -> Kernel:
    """A union whose rows keep their ids."""
    return lambda *branches: [pair for rows in branches for pair in rows]


def without_ordinal(relation: Explode) -> Kernel:
    """An explode whose rows keep the id of the row they are of."""
    kernel = explode_kernel(relation)
    return lambda rows: [(row_id.partition(":")[2], row) for row_id, row in kernel(rows)]


def ties_as_they_come(relation: Window) -> Kernel:
    """A window whose ties are in the order in which rows happen to be."""
    kernel = window_kernel(relation)

    def run(rows: Pairs) -> Pairs:
        ids = [row_id for row_id, _ in rows]
        numbered = [(f"{place:06}", row) for place, (_, row) in enumerate(rows)]
        return [(ids[int(place)], row) for place, row in kernel(numbered)]

    return run


def not_netted(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Changes as they are."""
    return moved


def netted_by_id(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Changes without those of ids that go and come, whatever they hold: updates are lost."""
    gone, come = moved
    both = {row_id for row_id, _ in gone} & {row_id for row_id, _ in come}
    left = [[pair for pair in pairs if pair[0] not in both] for pairs in moved]
    return left[0], left[1]


def netted_as_maps(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Changes of which there is one of each id and action: the last, where a join made several."""
    gone, come = map(dict, moved)
    return net((gone.items(), come.items()), exact)


def with_rule(operator: type[Relation], rule: Rule) -> BagBackend:
    """A backend with one other rule."""
    return BagBackend(rules={**RULES, operator: rule})


def with_kernel(operator: type[Relation], kernel: Callable[[Any], Kernel]) -> BagBackend:
    """A backend with one other kernel, in full evaluation and in changes."""
    return BagBackend(kernels={**KERNELS, operator: kernel})


# The textbook's rule: right, but for failures over pairs of rows that never met.
TEXTBOOK = with_rule(Join, of_inner(textbook_inner_join))
BEFORE, AFTER = Moment.BEFORE, Moment.AFTER
TWINS: Mapping[str, BagBackend] = {
    "join of changes with both sides as they were (10)": with_rule(Join, of_inner(pairs_at(BEFORE, BEFORE))),
    "join of changes with both sides as they are (10)": with_rule(Join, of_inner(pairs_at(AFTER, AFTER))),
    "join that forgets one side's changes (11)": with_rule(Join, of_inner(left_changes_alone)),
    "join whose deletions are of pairs as they are": with_rule(Join, of_inner(deletions_after)),
    "outer join whose unmatched rows are forgotten (4)": with_rule(Join, inner_join),
    "outer join with the left side's keys alone (4)": with_rule(Join, recomputed(join, keys_of_left)),
    "outer join whose NULL keys are forgotten (5)": with_rule(Join, recomputed(join, nulls_dropped)),
    "outer join without its deletions": with_rule(Join, recomputed(join, without_before)),
    "group whose NULL key is dropped (2)": with_rule(Group, recomputed(group_rule, nulls_dropped)),
    "group without its deletions": with_rule(Group, recomputed(group_rule, without_before)),
    "group over changed rows alone (17)": with_rule(Group, linear),
    "group read after the interval alone": with_rule(Group, recomputed(group_rule, all_after)),
    "distinct without counts": with_rule(Distinct, linear),
    "distinct whose rows with a NULL are dropped (3)": with_rule(
        Distinct, recomputed(distinct_rule, nulls_dropped)
    ),
    "window without its deletions": with_rule(Window, recomputed(window_rule, without_before)),
    "window without its insertions": with_rule(Window, recomputed(window_rule, without_after)),
    "window whose NULL partition is dropped": with_rule(Window, recomputed(window_rule, nulls_dropped)),
    "window whose ties are as rows come (23)": with_kernel(Window, ties_as_they_come),
    "union without branches in ids (13)": with_kernel(UnionAll, without_branch),
    "explode without ordinals in ids (38)": with_kernel(Explode, without_ordinal),
    "changes that are not netted": BagBackend(net=not_netted),
    "changes that are netted by id alone": BagBackend(net=netted_by_id),
    "join of unconsolidated inputs, of which one row an id and action is kept (48)": BagBackend(
        rules={**RULES, Join: of_inner(not_consolidated)}, net=netted_as_maps
    ),
}
