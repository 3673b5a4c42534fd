"""Plans of changes, run over bags: two lists of rows with ids, those that go and those that come."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from dynamic_tables.bags.backends import Source
from dynamic_tables.bags.operators import KERNELS, Kernels, Pair, Pairs, inner_joined, key_of, pair_id
from dynamic_tables.maintenance.algebra import Relation, Scan, inputs
from dynamic_tables.maintenance.plans import (
    Changes,
    Keys,
    Linear,
    Met,
    Moment,
    Netted,
    Paired,
    Plan,
    Recomputed,
    Restricted,
    Snapshot,
    SourceChanges,
    Sum,
)
from dynamic_tables.values.cells import row_exact
from dynamic_tables.values.changes import Action, Row, RowId
from dynamic_tables.values.types import Type

# What goes and what comes.
Moved: TypeAlias = tuple[Pairs, Pairs]


class Interval:
    """The sources of one refresh, and what of its plan is computed already."""

    __slots__ = ("memo", "sources")

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self.memo: dict[int, Any] = {}


Run: TypeAlias = Callable[[Interval], Any]
Net: TypeAlias = Callable[[Moved, Callable[[Row], Hashable]], Moved]


def net(moved: Moved, exact: Callable[[Row], Hashable]) -> Moved:
    """Changes without what goes and comes as the same row under the same id.

    Where nothing goes, or nothing comes, nothing is looked at: of changes that only insert, rules make no id
    twice (R-DVS-97).
    """
    gone, come = moved
    if not gone or not come:
        return moved
    left_over: dict[RowId, list[Row]] = defaultdict(list)
    for row_id, row in come:
        left_over[row_id].append(row)
    stays_gone: list[Pair] = []
    for row_id, row in gone:
        rows = left_over.get(row_id)
        place = None if not rows else found_at(row, rows, exact)
        if place is None or rows is None:
            stays_gone.append((row_id, row))
        else:
            del rows[place]
    return stays_gone, [(row_id, row) for row_id, rows in left_over.items() for row in rows]


def found_at(row: Row, rows: list[Row], exact: Callable[[Row], Hashable]) -> int | None:
    """Where a row is among others."""
    wanted = exact(row)
    return next((place for place, other in enumerate(rows) if exact(other) == wanted), None)


class Compiler:
    """Makes functions of the nodes of one plan, each node's and each snapshot's once."""

    def __init__(self, kernels: Kernels = KERNELS, net: Net = net) -> None:
        self.kernels = kernels
        self.net = net
        self.known: dict[Hashable, Run] = {}

    def changes(self, plan: Plan) -> Run:
        """A function that gives a node's value over an interval, computed once for each."""
        node = (id(plan.relation), plan.moment) if isinstance(plan, Snapshot) else id(plan)
        if node not in self.known:
            run = NODES[type(plan)](self, plan)
            self.known[node] = remembered(len(self.known), run)
        return self.known[node]

    def snapshot(self, relation: Relation, moment: Moment) -> Run:
        """A function that gives the rows of a relation at a moment."""
        return self.changes(Snapshot(relation, moment))

    def kernel(self, relation: Relation) -> Any:
        """What the operator computes."""
        return self.kernels[type(relation)](relation)


def remembered(place: int, run: Run) -> Run:
    """A function that is run once for each interval."""

    def once(interval: Interval) -> Any:
        memo = interval.memo
        if place not in memo:
            memo[place] = run(interval)
        return memo[place]

    return once


def run_snapshot(compiler: Compiler, plan: Snapshot) -> Run:
    """The rows of a relation at a moment; those of its inputs are shared."""
    kernel, relation = compiler.kernel(plan.relation), plan.relation
    if isinstance(relation, Scan):
        source, before = relation.source, plan.moment is Moment.BEFORE
        return lambda interval: kernel(
            (interval.sources[source].before if before else interval.sources[source].after).items()
        )
    below = [compiler.snapshot(one, plan.moment) for one in inputs(relation)]
    return lambda interval: kernel(*[one(interval) for one in below])


def run_source_changes(compiler: Compiler, plan: SourceChanges) -> Run:
    """The changes of a source."""
    kernel, source = compiler.kernel(plan.scan), plan.scan.source

    def run(interval: Interval) -> Moved:
        gone: list[Pair] = []
        come: list[Pair] = []
        for change in interval.sources[source].changes:
            (gone if change.action is Action.DELETE else come).append((change.row_id, change.row))
        return kernel(gone), kernel(come)

    return run


def run_linear(compiler: Compiler, plan: Linear) -> Run:
    """An operator over what goes, and over what comes."""
    kernel = compiler.kernel(plan.operator)
    below = [compiler.changes(one) for one in plan.inputs]

    def run(interval: Interval) -> Moved:
        moved = [one(interval) for one in below]
        return kernel(*[gone for gone, _ in moved]), kernel(*[come for _, come in moved])

    return run


def run_paired(compiler: Compiler, plan: Paired) -> Run:
    """Pairs of a change and a row; where nothing changed the other side is not read."""
    match = inner_joined(plan.operator)

    def pairs(left: Pairs, right: Pairs) -> Pairs:
        return [(pair_id(one, other), row) for one, other, row in match(left, right)]

    left, right = compiler.changes(plan.left), compiler.changes(plan.right)
    if isinstance(plan.left, Snapshot):

        def run(interval: Interval) -> Moved:
            gone, come = right(interval)
            return (
                pairs(left(interval), gone) if gone else (),
                pairs(left(interval), come) if come else (),
            )
    else:

        def run(interval: Interval) -> Moved:
            gone, come = left(interval)
            return (
                pairs(gone, right(interval)) if gone else (),
                pairs(come, right(interval)) if come else (),
            )

    return run


def run_met(compiler: Compiler, plan: Met) -> Run:
    """Pairs with a changed row, at each moment; where no row changed the other side is not read."""
    match = inner_joined(plan.operator)
    left, right = compiler.changes(plan.left), compiler.changes(plan.right)
    sides = [(compiler.changes(one), compiler.changes(other)) for one, other in (plan.before, plan.after)]

    def run(interval: Interval) -> Moved:
        found: list[Pairs] = []
        both = zip(left(interval), right(interval), sides, strict=True)
        for left_changed, right_changed, (left_rows, right_rows) in both:
            pairs: list[Pair] = []
            if left_changed:
                met = match(left_changed, right_rows(interval))
                pairs += [(pair_id(one, other), row) for one, other, row in met]
            if right_changed:
                taken = {row_id for row_id, _ in left_changed}
                others = [pair for pair in left_rows(interval) if pair[0] not in taken]
                met = match(others, right_changed)
                pairs += [(pair_id(one, other), row) for one, other, row in met]
            found.append(pairs)
        return found[0], found[1]

    return run


def run_sum(compiler: Compiler, plan: Sum) -> Run:
    """All changes."""
    below = [compiler.changes(one) for one in plan.inputs]

    def run(interval: Interval) -> Moved:
        moved = [one(interval) for one in below]
        return (
            [pair for gone, _ in moved for pair in gone],
            [pair for _, come in moved for pair in come],
        )

    return run


def run_recomputed(compiler: Compiler, plan: Recomputed) -> Run:
    """The operator before, deleted, and after, inserted; nothing where nothing is affected."""
    kernel = compiler.kernel(plan.operator)
    before = [compiler.changes(one) for one in plan.before]
    after = [compiler.changes(one) for one in plan.after]

    def run(interval: Interval) -> Moved:
        was, now = [one(interval) for one in before], [one(interval) for one in after]
        return kernel(*was) if any(was) else (), kernel(*now) if any(now) else ()

    return run


def run_keys(compiler: Compiler, plan: Keys) -> Run:
    """The keys of all changed rows."""
    below = [
        (compiler.changes(one), key_of(expressions))
        for one, expressions in zip(plan.changes, plan.expressions, strict=True)
    ]

    def run(interval: Interval) -> frozenset[Hashable]:
        return frozenset(key(row) for one, key in below for moved in one(interval) for _, row in moved)

    return run


def run_restricted(compiler: Compiler, plan: Restricted) -> Run:
    """The affected rows; where no key is, nothing is read."""
    rows, among, key = compiler.changes(plan.rows), compiler.changes(plan.among), key_of(plan.expressions)
    if plan.nulls_of is None:

        def run(interval: Interval) -> Pairs:
            keys = among(interval)
            return [pair for pair in rows(interval) if key(pair[1]) in keys] if keys else ()

        return run
    changes = compiler.changes(plan.nulls_of)

    def run_without_nulls(interval: Interval) -> Pairs:
        keys = among(interval)
        if not keys:
            return ()
        itself = {row_id for moved in changes(interval) for row_id, _ in moved}
        found: list[Pair] = []
        for pair in rows(interval):
            value = key(pair[1])
            if pair[0] in itself if None in value else value in keys:
                found.append(pair)
        return found

    return run_without_nulls


def run_netted(compiler: Compiler, plan: Netted) -> Run:
    """Net changes."""
    types: list[Type] = [field.type for field in plan.relation.fields]
    below, exact, netting = compiler.changes(plan.changes), row_exact(types), compiler.net
    return lambda interval: netting(below(interval), exact)


NODES: Mapping[type[Plan], Callable[[Compiler, Any], Run]] = {
    Snapshot: run_snapshot,
    SourceChanges: run_source_changes,
    Linear: run_linear,
    Paired: run_paired,
    Met: run_met,
    Sum: run_sum,
    Recomputed: run_recomputed,
    Keys: run_keys,
    Restricted: run_restricted,
    Netted: run_netted,
}


def compiled_changes(
    plan: Changes, kernels: Kernels = KERNELS, net: Net = net
) -> Callable[[Interval], Moved]:
    """A function that gives what goes and what comes over an interval."""
    return Compiler(kernels, net).changes(plan)
