"""Compilation of plans of changes into functions over bags: lists of deleted and inserted rows with ids."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from dynamic_tables.bags.adjustments import compile_adjustment
from dynamic_tables.bags.intervals import Interval, WantedKeys
from dynamic_tables.bags.operators import (
    KERNELS,
    Kernels,
    Pair,
    Pairs,
    RowChanges,
    inner_matcher,
    key_function,
    pair_id,
)
from dynamic_tables.maintenance.algebra import Relation, Scan, inputs
from dynamic_tables.maintenance.plans import (
    AdjustedGroups,
    AffectedRows,
    ChangedPairs,
    Changes,
    DeltaJoin,
    GroupAdjustment,
    InsertedRows,
    Keys,
    Linear,
    Moment,
    NetChanges,
    NoChanges,
    PartialSnapshot,
    Plan,
    Recomputation,
    Rows,
    RowsAfter,
    Snapshot,
    SourceChanges,
    Sum,
    UnadjustedInput,
    WithChanged,
)
from dynamic_tables.values.cells import row_exact_key
from dynamic_tables.values.changes import Action, Row, RowId
from dynamic_tables.values.expressions import Expression, remap_columns
from dynamic_tables.values.types import Type

Run: TypeAlias = Callable[[Interval], Any]
NetFunction: TypeAlias = Callable[[RowChanges, Callable[[Row], Hashable]], RowChanges]


def net(changes: RowChanges, exact: Callable[[Row], Hashable]) -> RowChanges:
    """Return the changes without rows that are deleted and inserted unchanged under the same id.

    Changes that only delete or only insert are returned as they are: in changes that only insert, the rules
    make no id twice (R-DVS-97).
    """
    deleted, inserted = changes
    if not deleted or not inserted:
        return changes
    unmatched: dict[RowId, list[Row]] = defaultdict(list)
    for row_id, row in inserted:
        unmatched[row_id].append(row)
    still_deleted: list[Pair] = []
    for row_id, row in deleted:
        rows = unmatched.get(row_id)
        place = None if not rows else position_of(row, rows, exact)
        if place is None or rows is None:
            still_deleted.append((row_id, row))
        else:
            del rows[place]
    return still_deleted, [(row_id, row) for row_id, rows in unmatched.items() for row in rows]


def position_of(row: Row, rows: list[Row], exact: Callable[[Row], Hashable]) -> int | None:
    """Return the position of an identical row in a list; None if there is none."""
    wanted = exact(row)
    return next((place for place, other in enumerate(rows) if exact(other) == wanted), None)


class Compiler:
    """Compiles the nodes of one plan, each node and each snapshot once."""

    def __init__(self, kernels: Kernels = KERNELS, net: NetFunction = net) -> None:
        self.kernels = kernels
        self.net = net
        self.functions: dict[Hashable, Run] = {}

    def changes(self, plan: Plan) -> Run:
        """Return a function that gives a node's value over an interval, computed once for each."""
        node = (id(plan.relation), plan.moment) if isinstance(plan, Snapshot) else id(plan)
        if node not in self.functions:
            run = NODES[type(plan)](self, plan)
            self.functions[node] = run_once(len(self.functions), run)
        return self.functions[node]

    def snapshot(self, relation: Relation, moment: Moment) -> Run:
        """Return a function that gives the rows of a relation at a moment."""
        return self.changes(Snapshot(relation, moment))

    def kernel(self, relation: Relation) -> Any:
        """Return the computation of a relation's operator."""
        return self.kernels[type(relation)](relation)


def run_once(place: int, run: Run) -> Run:
    """Return a function that computes once for each interval and keeps the result at `place` of its memo."""

    def once(interval: Interval) -> Any:
        memo = interval.memo
        if place not in memo:
            memo[place] = run(interval)
        return memo[place]

    return once


def compile_snapshot(compiler: Compiler, plan: Snapshot) -> Run:
    """Compile a relation at a moment; the snapshots of its inputs are shared with other nodes."""
    kernel, relation = compiler.kernel(plan.relation), plan.relation
    if isinstance(relation, Scan):
        return lambda interval: kernel(interval.rows(relation, plan.moment))
    below = [compiler.snapshot(child, plan.moment) for child in inputs(relation)]
    return lambda interval: kernel(*[compute(interval) for compute in below])


def compile_source_changes(compiler: Compiler, plan: SourceChanges) -> Run:
    """Compile the changes of a source."""
    kernel, scan = compiler.kernel(plan.scan), plan.scan

    def run(interval: Interval) -> RowChanges:
        deleted: list[Pair] = []
        inserted: list[Pair] = []
        for change in interval.changes(scan):
            (deleted if change.action is Action.DELETE else inserted).append((change.row_id, change.row))
        return kernel(deleted), kernel(inserted)

    return run


def compile_no_changes(compiler: Compiler, plan: NoChanges) -> Run:
    """Compile the changes of what never changes."""
    return lambda interval: ((), ())


def compile_linear(compiler: Compiler, plan: Linear) -> Run:
    """Compile an operator that is applied to deleted rows and to inserted rows separately."""
    kernel = compiler.kernel(plan.operator)
    below = [compiler.changes(input_plan) for input_plan in plan.inputs]

    def run(interval: Interval) -> RowChanges:
        changes = [compute(interval) for compute in below]
        return kernel(*[deleted for deleted, _ in changes]), kernel(*[inserted for _, inserted in changes])

    return run


def compile_delta_join(compiler: Compiler, plan: DeltaJoin) -> Run:
    """Compile the join of changed rows with the other side, which is read only if rows changed."""
    match = inner_matcher(plan.operator)

    def pairs(left: Pairs, right: Pairs) -> Pairs:
        return [(pair_id(left_id, right_id), row) for left_id, right_id, row in match(left, right)]

    left, right = compiler.changes(plan.left), compiler.changes(plan.right)
    if isinstance(plan.left, Snapshot):

        def run(interval: Interval) -> RowChanges:
            deleted, inserted = right(interval)
            return (
                pairs(left(interval), deleted) if deleted else (),
                pairs(left(interval), inserted) if inserted else (),
            )
    else:

        def run(interval: Interval) -> RowChanges:
            deleted, inserted = left(interval)
            return (
                pairs(deleted, right(interval)) if deleted else (),
                pairs(inserted, right(interval)) if inserted else (),
            )

    return run


def compile_changed_pairs(compiler: Compiler, plan: ChangedPairs) -> Run:
    """Compile the pairs that contain a changed row, at each moment; unchanged inputs read no other side."""
    match = inner_matcher(plan.operator)
    left, right = compiler.changes(plan.left), compiler.changes(plan.right)
    sides = [
        (compiler.changes(left_plan), compiler.changes(right_plan))
        for left_plan, right_plan in (plan.before, plan.after)
    ]

    def run(interval: Interval) -> RowChanges:
        results: list[Pairs] = []
        both = zip(left(interval), right(interval), sides, strict=True)
        for left_changed, right_changed, (left_rows, right_rows) in both:
            pairs: list[Pair] = []
            if left_changed:
                met = match(left_changed, right_rows(interval))
                pairs += [(pair_id(left_id, right_id), row) for left_id, right_id, row in met]
            if right_changed:
                taken = {row_id for row_id, _ in left_changed}
                others = [pair for pair in left_rows(interval) if pair[0] not in taken]
                met = match(others, right_changed)
                pairs += [(pair_id(left_id, right_id), row) for left_id, right_id, row in met]
            results.append(pairs)
        return results[0], results[1]

    return run


def compile_sum(compiler: Compiler, plan: Sum) -> Run:
    """Compile the concatenation of changes."""
    below = [compiler.changes(input_plan) for input_plan in plan.inputs]

    def run(interval: Interval) -> RowChanges:
        changes = [compute(interval) for compute in below]
        return (
            [pair for deleted, _ in changes for pair in deleted],
            [pair for _, inserted in changes for pair in inserted],
        )

    return run


def compile_recomputation(compiler: Compiler, plan: Recomputation) -> Run:
    """Compile the operator's result before, deleted, and after, inserted, for affected rows only."""
    kernel = compiler.kernel(plan.operator)
    before = [compiler.changes(rows_plan) for rows_plan in plan.before]
    after = [compiler.changes(rows_plan) for rows_plan in plan.after]

    def run(interval: Interval) -> RowChanges:
        was, now = [compute(interval) for compute in before], [compute(interval) for compute in after]
        return kernel(*was) if any(was) else (), kernel(*now) if any(now) else ()

    return run


def compile_partial_snapshot(compiler: Compiler, plan: PartialSnapshot) -> Run:
    """Compile an operator's result over some rows of its inputs."""
    kernel, below = compiler.kernel(plan.operator), [compiler.changes(rows) for rows in plan.inputs]
    return lambda interval: kernel(*[compute(interval) for compute in below])


def compile_rows_after(compiler: Compiler, plan: RowsAfter) -> Run:
    """Compile some rows of a source as they are after the interval."""
    rows, changes, inserted = (compiler.changes(part) for part in (plan.before, plan.changes, plan.inserted))

    def run(interval: Interval) -> Pairs:
        deleted, _ = changes(interval)
        gone = {row_id for row_id, _ in deleted}
        return [*(pair for pair in rows(interval) if pair[0] not in gone), *inserted(interval)]

    return run


def compile_inserted_rows(compiler: Compiler, plan: InsertedRows) -> Run:
    """Compile the rows that changes insert."""
    changes = compiler.changes(plan.changes)
    return lambda interval: changes(interval)[1]


def compile_with_changed(compiler: Compiler, plan: WithChanged) -> Run:
    """Compile rows at one moment together with the changed rows of that moment."""
    rows, changes = compiler.changes(plan.rows), compiler.changes(plan.changes)
    end = 0 if plan.moment is Moment.BEFORE else 1

    def run(interval: Interval) -> Pairs:
        changed = changes(interval)[end]
        taken = {row_id for row_id, _ in changed}
        return [*(pair for pair in rows(interval) if pair[0] not in taken), *changed]

    return run


def compile_keys(compiler: Compiler, plan: Keys) -> Run:
    """Compile the set of keys of rows, or of all deleted and inserted rows."""
    below = [
        (compiler.changes(part), isinstance(part, Rows), key_function(expressions))
        for part, expressions in zip(plan.plans, plan.expressions, strict=True)
    ]

    def run(interval: Interval) -> frozenset[Hashable]:
        keys: set[Hashable] = set()
        for compute, at_one_moment, key in below:
            result = compute(interval)
            for rows in (result,) if at_one_moment else result:
                keys.update(key(row) for _, row in rows)
        return frozenset(keys)

    return run


def compile_affected_rows(compiler: Compiler, plan: AffectedRows) -> Run:
    """Compile the rows whose key changed; if no key did, nothing is read."""
    read, expressions, finish = compile_reading(compiler, plan)
    key, key_of_change = key_function(expressions), key_function(plan.expressions)
    among = compiler.changes(plan.among)
    changes = None if plan.nulls_of is None else compiler.changes(plan.nulls_of)

    def run(interval: Interval) -> Pairs:
        keys, itself = among(interval), frozenset[RowId]()
        if changes is not None:
            keys = frozenset(value for value in keys if None not in value)
            both = changes(interval)
            itself = frozenset(
                row_id for pairs in both for row_id, row in pairs if None in key_of_change(row)
            )
        if not keys and not itself:
            return finish([])
        rows = read(interval, WantedKeys(expressions, keys, itself))
        if not itself:
            return finish([pair for pair in rows if key(pair[1]) in keys])
        affected = [
            pair for pair in rows if (value := key(pair[1])) in keys or (None in value and pair[0] in itself)
        ]
        return finish(affected)

    return run


def compile_reading(
    compiler: Compiler, plan: AffectedRows
) -> tuple[Callable[[Interval, WantedKeys], Pairs], tuple[Expression, ...], Callable[[Pairs], Pairs]]:
    """Return functions that give rows and the columns of those that are kept, and the key of a row.

    Of a scan, the rows are those of the source, so that columns are picked from few of them.
    """
    rows = plan.rows
    if not isinstance(rows, Snapshot) or not isinstance(rows.relation, Scan):
        compute = compiler.changes(rows)
        return lambda interval, wanted: compute(interval), plan.expressions, lambda pairs: pairs
    scan, moment, expressions = rows.relation, rows.moment, plan.expressions
    if scan.positions is not None:
        places = dict(enumerate(scan.positions))
        expressions = tuple(remap_columns(expression, places) for expression in expressions)
    return lambda interval, wanted: interval.rows(scan, moment, wanted), expressions, compiler.kernel(scan)


def compile_group_adjustment(compiler: Compiler, plan: GroupAdjustment) -> Run:
    """Compile the adjustment of groups, computed once for both of its parts."""
    changes, adjust = compiler.changes(plan.changes), compile_adjustment(plan.operator, plan.places)
    return lambda interval: adjust(interval, changes(interval))


def compile_adjusted_groups(compiler: Compiler, plan: AdjustedGroups) -> Run:
    """Compile the changes of adjusted groups."""
    adjustment = compiler.changes(plan.adjustment)
    return lambda interval: adjustment(interval)[0]


def compile_unadjusted_input(compiler: Compiler, plan: UnadjustedInput) -> Run:
    """Compile the changes of the input of other groups."""
    adjustment = compiler.changes(plan.adjustment)
    return lambda interval: adjustment(interval)[1]


def compile_net_changes(compiler: Compiler, plan: NetChanges) -> Run:
    """Compile the netting of changes."""
    types: list[Type] = [field.type for field in plan.relation.fields]
    below, exact, netting = compiler.changes(plan.changes), row_exact_key(types), compiler.net
    return lambda interval: netting(below(interval), exact)


NODES: Mapping[type[Plan], Callable[[Compiler, Any], Run]] = {
    Snapshot: compile_snapshot,
    PartialSnapshot: compile_partial_snapshot,
    InsertedRows: compile_inserted_rows,
    RowsAfter: compile_rows_after,
    WithChanged: compile_with_changed,
    SourceChanges: compile_source_changes,
    NoChanges: compile_no_changes,
    Linear: compile_linear,
    DeltaJoin: compile_delta_join,
    ChangedPairs: compile_changed_pairs,
    Sum: compile_sum,
    Recomputation: compile_recomputation,
    Keys: compile_keys,
    AffectedRows: compile_affected_rows,
    GroupAdjustment: compile_group_adjustment,
    AdjustedGroups: compile_adjusted_groups,
    UnadjustedInput: compile_unadjusted_input,
    NetChanges: compile_net_changes,
}


def compile_changes(
    plan: Changes, kernels: Kernels = KERNELS, net: NetFunction = net
) -> Callable[[Interval], RowChanges]:
    """Return a function that gives the deleted and the inserted rows over an interval."""
    return Compiler(kernels, net).changes(plan)
