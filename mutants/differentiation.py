"""Mutants of the rules of dynamic tables: each is one mistake that such rules have had somewhere.

Properties must kill each. Numbers are of the traps of incremental maintenance, listed in
`tests/dynamic_tables/test_maintenance_traps.py`.

"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.bags.changes import net
from dynamic_tables.bags.operators import KERNELS, Kernel, Pairs, RowChanges, explode_kernel, window_kernel
from dynamic_tables.maintenance.algebra import (
    Distinct,
    Explode,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
    Window,
)
from dynamic_tables.maintenance.differentiation import (
    ADJUSTED,
    RULES,
    Rule,
    adjust_group,
    can_adjust,
    changes_from_held,
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
    ChangedPairs,
    Changes,
    DeltaJoin,
    Derivative,
    Keys,
    Linear,
    Moment,
    Recomputation,
    Rows,
    Snapshot,
    Sum,
    WithChanged,
)
from dynamic_tables.maintenance.restriction import (
    PUSHERS,
    Below,
    Ends,
    KeyPushdown,
    Restriction,
    Sides,
    partners_of,
    rows_of_scan,
    sides_of,
)
from dynamic_tables.values.changes import Row
from dynamic_tables.values.expressions import Column, Expression

NOTHING = Sum(())


def of_inner(rule: Callable[[Join], Changes]) -> Rule:
    """Apply a rule to inner joins; others keep theirs."""
    return lambda relation: rule(relation) if relation.kind is JoinKind.INNER else outer_join(relation)


def of_outer(rule: Callable[[Join], Changes]) -> Rule:
    """Apply a rule to outer joins; inner ones keep theirs."""
    return lambda relation: inner_join(relation) if relation.kind is JoinKind.INNER else rule(relation)


def pairs_at(left: Moment, right: Moment) -> Callable[[Join], Changes]:
    """Join each side's changes with the other side at some moment."""

    def rule(relation: Join) -> Changes:
        return Sum(
            (
                DeltaJoin(relation, net_changes(relation.left), Snapshot(relation.right, right)),
                DeltaJoin(relation, Snapshot(relation.left, left), net_changes(relation.right)),
            )
        )

    return rule


def left_changes_alone(relation: Join) -> Changes:
    """Compute dL x R1, as if the right side never changed."""
    return DeltaJoin(relation, net_changes(relation.left), Snapshot(relation.right, Moment.AFTER))


def deletions_after(relation: Join) -> Changes:
    """Join deleted rows with the other side as it is now."""
    plan = inner_join(relation)
    assert isinstance(plan, ChangedPairs)
    return replace(plan, before=plan.after)


def not_consolidated(relation: Join) -> Changes:
    """Join changes in which a row may be deleted and inserted again."""
    left, right = relation.left, relation.right
    return Sum(
        (
            DeltaJoin(relation, Derivative(left), Snapshot(right, Moment.AFTER)),
            DeltaJoin(relation, Snapshot(left, Moment.BEFORE), Derivative(right)),
        )
    )


def with_recomputation(rule: Rule, change: Callable[[Recomputation], Changes]) -> Rule:
    """Change the plan of a rule by affected keys; other plans stay."""

    def run(relation: Any) -> Changes:
        plan = rule(relation)
        return change(plan) if isinstance(plan, Recomputation) else plan

    return run


def without_before(plan: Recomputation) -> Changes:
    """Keep only the insertions."""
    return replace(plan, before=())


def without_after(plan: Recomputation) -> Changes:
    """Keep only the deletions."""
    return replace(plan, after=())


def all_after(plan: Recomputation) -> Changes:
    """Compute the deletions from the rows as they are now."""
    return replace(plan, before=plan.after)


def nulls_dropped(plan: Recomputation) -> Changes:
    """Compare keys by =, which is never true of NULL."""
    return replace(plan, before=null_less(plan.before), after=null_less(plan.after))


def null_less(rows: tuple[Rows, ...]) -> tuple[Rows, ...]:
    """Restrict rows to keys without NULL."""
    return tuple(replace(with_test(rows_), nulls_of=NOTHING) for rows_ in rows)


def with_test(rows: Rows) -> AffectedRows:
    """Return the plan of rows whose keys are tested, as all are that rules give."""
    assert isinstance(rows, AffectedRows)
    return rows


def keys_of_left(plan: Recomputation) -> Changes:
    """Take the affected keys of an outer join from its left side alone."""
    among = with_test(plan.before[0]).among
    left = Keys(among.plans[:1], among.expressions[:1])

    def restrict(rows: tuple[Rows, ...]) -> tuple[Rows, ...]:
        return tuple(replace(with_test(rows_), among=left) for rows_ in rows)

    return replace(plan, before=restrict(plan.before), after=restrict(plan.after))


def of_kept_side(change: Callable[[WithChanged], Rows]) -> Callable[[tuple[Rows, ...]], tuple[Rows, ...]]:
    """Change the rows of the side that a left or right join keeps."""
    return lambda rows: tuple(change(part) if isinstance(part, WithChanged) else part for part in rows)


def at_both_moments(
    plan: Recomputation, change: Callable[[tuple[Rows, ...]], tuple[Rows, ...]]
) -> Recomputation:
    """Change the rows before and those after."""
    return replace(plan, before=change(plan.before), after=change(plan.after))


def kept_changes_dropped(plan: Recomputation) -> Changes:
    """Take the rows of the kept side that have the key of a change of the other, and not its own changes."""
    return at_both_moments(plan, of_kept_side(lambda part: part.rows))


def kept_changes_alone(plan: Recomputation) -> Changes:
    """Take of the kept side the rows that changed themselves, and no others."""

    def change(part: WithChanged) -> Rows:
        empty = Keys((), ())
        return replace(part, rows=replace(with_test(part.rows), among=empty))

    return at_both_moments(plan, of_kept_side(change))


def partners_of_kept_changes(plan: Recomputation) -> Changes:
    """Take of the other side the rows with the key of a change of the kept side, and no others."""
    kept = next((place for place, part in enumerate(plan.before) if isinstance(part, WithChanged)), None)
    if kept is None:
        return plan

    def change(rows: tuple[Rows, ...]) -> tuple[Rows, ...]:
        other = with_test(rows[1 - kept])
        among = Keys(other.among.plans[kept : kept + 1], other.among.expressions[kept : kept + 1])
        pair = [rows[kept], rows[kept]]
        pair[1 - kept] = replace(other, among=among)
        return tuple(pair)

    return at_both_moments(plan, change)


def linear(relation: Distinct | Group) -> Changes:
    """Apply the operator to the changed rows alone."""
    return Linear(relation, (Derivative(relation.child),))


def without_branch(relation: UnionAll) -> Kernel:
    """Union rows without new ids."""
    return lambda *branches: [pair for rows in branches for pair in rows]


def without_ordinal(relation: Explode) -> Kernel:
    """Explode rows that keep the id of the row they come from."""
    kernel = explode_kernel(relation)
    return lambda rows: [(row_id.partition(":")[2], row) for row_id, row in kernel(rows)]


def ties_as_they_come(relation: Window) -> Kernel:
    """Leave ties of a window in the order in which rows happen to come."""
    kernel = window_kernel(relation)

    def run(rows: Pairs) -> Pairs:
        ids = [row_id for row_id, _ in rows]
        numbered = [(f"{place:06}", row) for place, (_, row) in enumerate(rows)]
        return [(ids[int(place)], row) for place, row in kernel(numbered)]

    return run


def not_netted(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Return the changes as they are."""
    return moved


def netted_by_id(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Drop changes whose ids are deleted and inserted, whatever the rows: updates are lost."""
    gone, come = moved
    both = {row_id for row_id, _ in gone} & {row_id for row_id, _ in come}
    left = [[pair for pair in pairs if pair[0] not in both] for pairs in moved]
    return left[0], left[1]


def netted_as_maps(moved: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Keep one change for each id and action: the last, where a join made several."""
    gone, come = map(dict, moved)
    return net((gone.items(), come.items()), exact)


def both_sides(relation: Join, restriction: Restriction) -> Sides:
    """Restrict both sides of a join of any kind."""
    return sides_of(replace(relation, kind=JoinKind.INNER), restriction)


def any_column(relation: Window, part: Expression) -> Expression | None:
    """Take any column of a window's input for one by which it is partitioned."""
    return part if isinstance(part, Column) and part.index < len(relation.child.fields) else None


def any_expression(relation: Filter, part: Expression) -> Expression:
    """Compute a key also for rows that a filter leaves out."""
    return part


def as_before(relation: Scan, restrictions: Sequence[Restriction]) -> Ends:
    """Take the rows of a source before the interval for those after it."""
    before, _ = rows_of_scan(relation, restrictions)
    return before, before


def partners_before(
    ends: Ends, keys: tuple[Expression, ...], expressions: tuple[Expression, ...]
) -> tuple[Restriction, ...]:
    """Look for the partners of the rows before the interval alone."""
    return partners_of((ends[0], ends[0]), keys, expressions)


def adjusted_doubles(relation: Relation) -> Changes:
    """Add doubles to rounded sums, and count cells that are there already."""
    if not isinstance(relation, Group) or not {part.function for part in relation.aggregates} <= ADJUSTED:
        return Derivative(relation)
    return adjust_group(relation, tuple(range(len(relation.fields))))


def unsure_groups_dropped(relation: Relation) -> Changes:
    """Forget groups whose rows do not follow from their held rows."""
    plan = changes_from_held(relation)
    return plan.inputs[0] if isinstance(plan, Sum) else plan


def columns_in_their_order(relation: Relation) -> Changes:
    """Take the columns of a projection of a group for those of the group."""
    if not isinstance(relation, Project) or not isinstance(relation.child, Group):
        return changes_from_held(relation)
    if not can_adjust(relation.child) or len(relation.columns) < len(relation.child.fields):
        return changes_from_held(relation)
    return Linear(relation, (adjust_group(relation.child, tuple(range(len(relation.columns)))),))


def with_pusher(operator: type[Relation], below: Below) -> BagBackend:
    """Return a backend that looks for the keys of affected rows below one operator in another way."""
    return BagBackend(pushdown=KeyPushdown({**PUSHERS, operator: below}))


def with_rule(operator: type[Relation], rule: Rule) -> BagBackend:
    """Return a backend with one other rule, which it applies whether or not the result is at hand."""
    return BagBackend(rules={**RULES, operator: rule}, held=Derivative)


def with_kernel(operator: type[Relation], kernel: Callable[[Any], Kernel]) -> BagBackend:
    """Return a backend with one other kernel, in full evaluation and in changes."""
    return BagBackend(kernels={**KERNELS, operator: kernel})


# The textbook's rule: right, except for failures over pairs of rows that never met.
TEXTBOOK = with_rule(Join, of_inner(textbook_inner_join))
# Keys below a filter, which may fail for rows that it drops; few queries have such a key.
KEYS_BELOW_FILTERS = with_pusher(Filter, any_expression)
BEFORE, AFTER = Moment.BEFORE, Moment.AFTER
MUTANTS: Mapping[str, BagBackend] = {
    "join of changes with both sides as they were (10)": with_rule(Join, of_inner(pairs_at(BEFORE, BEFORE))),
    "join of changes with both sides as they are (10)": with_rule(Join, of_inner(pairs_at(AFTER, AFTER))),
    "join that forgets one side's changes (11)": with_rule(Join, of_inner(left_changes_alone)),
    "join whose deletions are of pairs as they are": with_rule(Join, of_inner(deletions_after)),
    "outer join whose unmatched rows are forgotten (4)": with_rule(Join, inner_join),
    "outer join with the left side's keys alone (4)": with_rule(
        Join, with_recomputation(of_outer(outer_join), keys_of_left)
    ),
    "outer join whose NULL keys are forgotten (5)": with_rule(
        Join, with_recomputation(of_outer(outer_join), nulls_dropped)
    ),
    "left join that forgets the changes of its kept side": with_rule(
        Join, with_recomputation(join, kept_changes_dropped)
    ),
    "left join that forgets the changes of its other side": with_rule(
        Join, with_recomputation(join, kept_changes_alone)
    ),
    "left join with partners of the kept side's changes alone": with_rule(
        Join, with_recomputation(join, partners_of_kept_changes)
    ),
    "outer join without its deletions": with_rule(Join, with_recomputation(join, without_before)),
    "group whose NULL key is dropped (2)": with_rule(Group, with_recomputation(group_rule, nulls_dropped)),
    "group without its deletions": with_rule(Group, with_recomputation(group_rule, without_before)),
    "group over changed rows alone (17)": with_rule(Group, linear),
    "group read after the interval alone": with_rule(Group, with_recomputation(group_rule, all_after)),
    "distinct without counts": with_rule(Distinct, linear),
    "distinct whose rows with a NULL are dropped (3)": with_rule(
        Distinct, with_recomputation(distinct_rule, nulls_dropped)
    ),
    "window without its deletions": with_rule(Window, with_recomputation(window_rule, without_before)),
    "window without its insertions": with_rule(Window, with_recomputation(window_rule, without_after)),
    "window whose NULL partition is dropped": with_rule(
        Window, with_recomputation(window_rule, nulls_dropped)
    ),
    "window whose ties are as rows come (23)": with_kernel(Window, ties_as_they_come),
    "union without branches in ids (13)": with_kernel(UnionAll, without_branch),
    "explode without ordinals in ids (38)": with_kernel(Explode, without_ordinal),
    "keys below a window by a column that is no partition": with_pusher(Window, any_column),
    "rows of a scan before the interval for those after": BagBackend(pushdown=KeyPushdown(scan=as_before)),
    "partners of the rows before the interval alone": BagBackend(
        pushdown=KeyPushdown(partners=partners_before)
    ),
    "keys below both sides of an outer join": BagBackend(pushdown=KeyPushdown(sides=both_sides)),
    "changes that are not netted": BagBackend(net=not_netted),
    "changes that are netted by id alone": BagBackend(net=netted_by_id),
    "join of unconsolidated inputs, of which one row an id and action is kept (48)": BagBackend(
        rules={**RULES, Join: of_inner(not_consolidated)}, net=netted_as_maps
    ),
}

# Mutants of the rule for results that are held.
HELD_MUTANTS: Mapping[str, BagBackend] = {
    "doubles and distinct cells are adjusted": BagBackend(held=adjusted_doubles),
    "groups that are not sure are forgotten": BagBackend(held=unsure_groups_dropped),
    "columns are not looked for": BagBackend(held=columns_in_their_order),
}
