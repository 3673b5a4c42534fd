"""One rule for each operator: the changes of its result, given the changes of its inputs.

A rule rewrites the derivative of one operator into a plan over the derivatives of its inputs;
`differentiate` applies rules until no derivative is left ([D] 5.5). Each deleted row was in the operator's
result before the interval, each inserted row is in the result after it, and no id is deleted or inserted
twice; so computing the changes fails only where full evaluation at one of the ends does. Some rows may be
deleted and inserted unchanged: netting removes these from the result and from the inputs of joins, which
would multiply them (trap 48).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

from dynamic_tables.maintenance.algebra import (
    ConstantRows,
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
    inputs,
)
from dynamic_tables.maintenance.plans import (
    AdjustedGroups,
    AffectedRows,
    ChangedPairs,
    Changes,
    DeltaJoin,
    Derivative,
    GroupAdjustment,
    Keys,
    Linear,
    Moment,
    NetChanges,
    NoChanges,
    PartialSnapshot,
    Plan,
    Recomputation,
    Rows,
    Snapshot,
    SourceChanges,
    Sum,
    UnadjustedInput,
    WithChanged,
    derivatives,
    parts,
)
from dynamic_tables.maintenance.restriction import KEY_PUSHDOWN, KeyPushdown, Restriction
from dynamic_tables.values.errors import DerivativeLeft, Refused
from dynamic_tables.values.expressions import Column, Expression
from dynamic_tables.values.types import Kind

Rule: TypeAlias = Callable[[Any], Changes]
Rules: TypeAlias = Mapping[type[Relation], Rule]


def scan(relation: Scan) -> Changes:
    """Return the changes of the source itself."""
    return SourceChanges(relation)


def constant_rows(relation: ConstantRows) -> Changes:
    """Return no changes: the rows are those of the query."""
    return NoChanges(relation)


def linear(relation: Filter | Project | UnionAll | Explode) -> Changes:
    """Apply the operator to each changed row; the result has that row's action.

    Proof     (1) The result is the sum of what each row of the input gives, so its change is the sum over the
                  deleted and inserted rows.
              (2) Ids of results depend on the ids of rows, and on nothing else in the input.
    """
    return Linear(relation, tuple(map(Derivative, inputs(relation))))


def join(relation: Join) -> Changes:
    """Apply the rule for the kind of join."""
    if relation.kind is JoinKind.INNER:
        return inner_join(relation)
    return outer_join(relation) if relation.kind is JoinKind.FULL else one_sided_join(relation)


def inner_join(relation: Join) -> Changes:
    """Return the pairs of L0 x R0 with a deleted row, and the pairs of L1 x R1 with an inserted row.

    Proof     (1) A pair without a changed row is in both products and changes nothing. Any other old pair has
                  a deleted row, every other new pair an inserted row; inputs are netted, so these differ.
              (2) A pair of two changed rows is taken once (trap 10), also when both sides are one table (11).
              (3) Each pair existed before or exists after: nothing is computed of rows that never coexisted,
                  so nothing fails that full evaluation at either moment does not (R-DVS-33).
              (4) A changed row is paired only with rows of its key, in which no part is NULL.
    """
    left, right = net_changes(relation.left), net_changes(relation.right)
    of_left, of_right = Keys((left,), (relation.left_keys,)), Keys((right,), (relation.right_keys,))

    def at(moment: Moment) -> tuple[Rows, Rows]:
        return (
            partners(Snapshot(relation.left, moment), relation.left_keys, of_right),
            partners(Snapshot(relation.right, moment), relation.right_keys, of_left),
        )

    return ChangedPairs(relation, left, right, at(Moment.BEFORE), at(Moment.AFTER))


def partners(rows: Snapshot, expressions: tuple[Expression, ...], among: Keys) -> Rows:
    """Return the rows of one side of a join with the keys of the other side's changes; all without keys."""
    return Restriction(expressions, among, nulls_match=False).of_rows(rows) if expressions else rows


def textbook_inner_join(relation: Join) -> Changes:
    """Return dL x R1 + L0 x dR, for comparison: it reads less, but may fail where the query does not.

    Proof     (1) L1 x R1 - L0 x R0 = (L1 - L0) x R1 + L0 x (R1 - R0): no pair is counted twice, though both
                  sides change (trap 10), also when both are one table (trap 11).
              (2) The id of a pair consists of its two ids, so equal pairs have equal ids and net out.
    Unsound   as to errors: a deleted row is paired with inserted rows, and these pairs, which never existed,
              pass through the condition and the expressions above before they net out.
    """
    left, right = relation.left, relation.right
    return Sum(
        (
            DeltaJoin(relation, net_changes(left), Snapshot(right, Moment.AFTER)),
            DeltaJoin(relation, Snapshot(left, Moment.BEFORE), net_changes(right)),
        )
    )


def outer_join(relation: Join) -> Changes:
    """Recompute an outer join of the rows with a changed key, before and after.

    Each side is read once at each moment, however many outer joins are nested (trap 8).

    Proof     (1) Whether a row has a partner depends on the rows of the other side with its key, so only keys
                  that occur in changes of either side matter (trap 4).
              (2) A row whose key has a NULL never has a partner: only its own change matters (traps 5, 7).
    """
    left, right = net_changes(relation.left), net_changes(relation.right)
    keys = Keys((left, right), (relation.left_keys, relation.right_keys))

    def at(moment: Moment) -> tuple[AffectedRows, ...]:
        return (
            AffectedRows(Snapshot(relation.left, moment), relation.left_keys, keys, left),
            AffectedRows(Snapshot(relation.right, moment), relation.right_keys, keys, right),
        )

    return Recomputation(relation, at(Moment.BEFORE), at(Moment.AFTER))


def one_sided_join(relation: Join) -> Changes:
    """Recompute the join of the changed rows of the kept side, and of its rows with a key that changed.

    Proof     (1) What a row of the kept side gives depends on that row and on the rows of the other side with
                  its key: on nothing else of its own side, unlike in a full join.
              (2) So it matters only if it changed itself, or if a row of the other side with its key did; of
                  the other side, only rows with the keys of these matter.
              (3) A row whose key has a NULL has no partner: only its own change matters (traps 5, 7), and
                  rows of the other side with such a key never matter.
    """
    left, right = net_changes(relation.left), net_changes(relation.right)
    both = Keys((left, right), (relation.left_keys, relation.right_keys))
    keeps_left = relation.kind is JoinKind.LEFT
    of_left = Keys((left,), (relation.left_keys,))
    of_right = Keys((right,), (relation.right_keys,))

    def at(moment: Moment) -> tuple[Rows, ...]:
        left_rows = Restriction(relation.left_keys, of_right if keeps_left else both, nulls_match=False)
        right_rows = Restriction(relation.right_keys, both if keeps_left else of_left, nulls_match=False)
        sides: list[Rows] = [
            left_rows.of_rows(Snapshot(relation.left, moment)),
            right_rows.of_rows(Snapshot(relation.right, moment)),
        ]
        kept = 0 if keeps_left else 1
        sides[kept] = WithChanged(sides[kept], left if keeps_left else right, moment)
        return tuple(sides)

    return Recomputation(relation, at(Moment.BEFORE), at(Moment.AFTER))


def distinct(relation: Distinct) -> Changes:
    """Recompute which changed rows occurred before and which occur after."""
    whole = tuple(Column(place, field.type) for place, field in enumerate(relation.fields))
    return recompute_changed_keys(relation, relation.child, whole)


def group(relation: Group) -> Changes:
    """Recompute the groups of changed rows, before and after; an empty group has no row (trap 14)."""
    if not relation.keys:
        raise Refused("an aggregate without GROUP BY", "cannot be maintained incrementally")
    return recompute_changed_keys(relation, relation.child, relation.keys)


def window(relation: Window) -> Changes:
    """Recompute the partitions of changed rows, before and after; a row that moved has two (trap 25)."""
    if not relation.partition:
        raise Refused("a window function without PARTITION BY", "cannot be maintained incrementally")
    return recompute_changed_keys(relation, relation.child, relation.partition)


# Aggregates whose value after an interval follows from that before it, of cells that are added exactly.
ADJUSTED = frozenset({"count", "count_if", "sum"})


def can_adjust(relation: Group) -> bool:
    """Tell whether all aggregates of a group are counts or sums that can be adjusted by changes."""
    return bool(relation.keys) and all(
        aggregate.function in ADJUSTED and not aggregate.distinct and aggregate.type.kind is not Kind.FLOAT
        for aggregate in relation.aggregates
    )


def adjust_group(relation: Group, places: tuple[int, ...]) -> Changes:
    """Add the changes of the input to the held rows of groups; recompute groups that this cannot tell.

    Proof     (1) A count and a sum of exact numbers over the rows after is that over the rows before, less
                  that over the deleted rows, plus that over the inserted ones. Doubles are rounded: they are
                  left to `group`.
              (2) A group that lost rows may be empty, and a sum that lost cells may be of none, which is
                  NULL: where no count tells, the group is recomputed, as by `group`.

    Args:
        relation: A group that can be adjusted.
        places: The position of each of its columns in the rows of the maintained result.
    """
    adjustment = GroupAdjustment(relation, net_changes(relation.child), places)
    unsure = Keys((UnadjustedInput(adjustment),), (relation.keys,))
    return Sum((AdjustedGroups(adjustment), recompute_keys(relation, relation.child, relation.keys, unsure)))


def changes_from_held(relation: Relation) -> Changes:
    """Return the changes of a relation whose result is held; where that helps nothing, as if it were not."""
    match relation:
        case Group() if can_adjust(relation):
            return adjust_group(relation, tuple(range(len(relation.fields))))
        case Project(child=Group() as below) if can_adjust(below):
            held = {column.index: place for place, column in enumerate(relation.columns) if is_column(column)}
            if len(held) == len(below.fields):
                places = tuple(held[place] for place in range(len(below.fields)))
                return Linear(relation, (adjust_group(below, places),))
    return Derivative(relation)


def is_column(expression: Expression) -> TypeGuard[Column]:
    """Tell whether an expression is a column."""
    return isinstance(expression, Column)


def recompute_changed_keys(
    relation: Relation, child: Relation, expressions: tuple[Expression, ...]
) -> Changes:
    """Recompute an operator for the rows with a changed key."""
    return recompute_keys(relation, child, expressions, Keys((Derivative(child),), (expressions,)))


def recompute_keys(
    relation: Relation, child: Relation, expressions: tuple[Expression, ...], keys: Keys
) -> Changes:
    """Recompute an operator for the rows with certain keys, before and after (R-DVS-95).

    Proof     (1) The result for a key depends only on the rows with this key.
              (2) Rows whose key is in no change are the same at both moments.
    """
    return Recomputation(
        relation,
        (AffectedRows(Snapshot(child, Moment.BEFORE), expressions, keys),),
        (AffectedRows(Snapshot(child, Moment.AFTER), expressions, keys),),
    )


def net_changes(relation: Relation) -> Changes:
    """Return the net changes of a relation."""
    return NetChanges(Derivative(relation), relation)


RULES: Rules = {
    Scan: scan,
    ConstantRows: constant_rows,
    Filter: linear,
    Project: linear,
    UnionAll: linear,
    Join: join,
    Explode: linear,
    Distinct: distinct,
    Group: group,
    Window: window,
}


def differentiate(
    relation: Relation,
    rules: Rules = RULES,
    pushdown: KeyPushdown = KEY_PUSHDOWN,
    *,
    held: Callable[[Relation], Changes] = Derivative,
) -> Changes:
    """Return the plan of a relation's net changes.

    Args:
        relation: The relation.
        rules: The rules of the operators.
        pushdown: Looks for the keys of affected rows below the operators that these rows come from.
        held: The rule of the whole relation; `changes_from_held` if its result is at hand.

    Raises:
        Refused: An operator cannot be maintained incrementally.
        DerivativeLeft: There is no rule for some operator (R-DVS-93).
    """
    plan = Rewriting(rules, pushdown).rewrite(NetChanges(held(relation), relation))
    left = derivatives(plan)
    if left:
        raise DerivativeLeft(f"the derivative of {type(left[0]).__name__} is left: no rule rewrites it")
    assert isinstance(plan, NetChanges)
    return plan


class Rewriting:
    """The rewriting of one plan; the derivative of each relation is rewritten once and shared."""

    def __init__(self, rules: Rules, pushdown: KeyPushdown) -> None:
        self.rules = rules
        self.pushdown = pushdown
        self.plans_by_id: dict[int, Plan] = {}
        # Keep the rewritten nodes alive: otherwise a new node could get the `id` of a freed one.
        self.rewritten_nodes: list[object] = []

    def rewrite(self, plan: Plan) -> Any:
        """Rewrite a plan's derivatives for as long as there are rules for them."""
        node: object = plan.relation if isinstance(plan, Derivative) else plan
        if id(node) not in self.plans_by_id:
            self.rewritten_nodes.append(node)
            self.plans_by_id[id(node)] = self.rewrite_node(plan)
        return self.plans_by_id[id(node)]

    def rewrite_node(self, plan: Plan) -> Plan:
        """Rewrite one node and its inputs."""
        if isinstance(plan, Derivative):
            rule = self.rules.get(type(plan.relation))
            return plan if rule is None else self.rewrite(rule(plan.relation))
        below = tuple(self.rewrite(part) for part in parts(plan))
        match plan:
            case Linear() | Sum():
                return replace(plan, inputs=below)
            case PartialSnapshot():
                return replace(plan, inputs=below)
            case DeltaJoin():
                return replace(plan, left=below[0], right=below[1])
            case ChangedPairs():
                rows = self.restrict(below[2:])
                return replace(plan, left=below[0], right=below[1], before=rows[:2], after=rows[2:])
            case Recomputation():
                rows, count = self.restrict(below), len(plan.before)
                return replace(plan, before=rows[:count], after=rows[count:])
            case NetChanges() | GroupAdjustment():
                return replace(plan, changes=below[0])
            case AdjustedGroups() | UnadjustedInput():
                return replace(plan, adjustment=below[0])
            case WithChanged():
                return replace(plan, rows=below[0], changes=below[1])
            case AffectedRows():
                nulls_of = below[2] if len(below) == 3 else None
                return replace(plan, rows=below[0], among=below[1], nulls_of=nulls_of)
            case Keys():
                return replace(plan, plans=below)
        return plan

    def restrict(self, plans: Sequence[Any]) -> tuple[Any, ...]:
        """Look for the keys of rows below the operators that they come from, for one relation at once."""
        alike: dict[Hashable, list[AffectedRows]] = {}
        tests = [plan.rows if isinstance(plan, WithChanged) else plan for plan in plans]
        for plan in tests:
            if isinstance(plan, AffectedRows):
                relation = plan.rows.relation if isinstance(plan.rows, Snapshot) else None
                alike.setdefault((id(relation), plan.expressions, id(plan.among)), []).append(plan)
        restricted = {
            id(plan): restricted
            for rows in alike.values()
            for plan, restricted in zip(rows, self.pushdown.affected_rows(rows), strict=True)
        }
        rows = [restricted.get(id(plan), plan) for plan in tests]
        return tuple(
            replace(plan, rows=below) if isinstance(plan, WithChanged) else below
            for plan, below in zip(plans, rows, strict=True)
        )
