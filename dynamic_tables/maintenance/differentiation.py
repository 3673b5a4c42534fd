"""One rule for each operator: how the changes of its result follow from the changes of its inputs.

A rule rewrites the derivative of one operator into a plan over the derivatives of its inputs, and
`differentiate` applies rules until no derivative is left ([D] 5.5). Each row that goes was in the operator's
result before the interval, each that comes is in it after, and no id goes or comes twice; so changes fail
only where full evaluation at one of the ends does. Some rows may go and come as they were: netting takes
these out of the result, and out of what joins multiply (trap 48).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

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
    inputs,
)
from dynamic_tables.maintenance.plans import (
    Changes,
    Derivative,
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
    derivatives,
    parts,
)
from dynamic_tables.values.errors import DerivativeLeft, Refused
from dynamic_tables.values.expressions import Column, Expression

Rule: TypeAlias = Callable[[Any], Changes]
Rules: TypeAlias = Mapping[type[Relation], Rule]


def scan(relation: Scan) -> Changes:
    """The source's own changes."""
    return SourceChanges(relation)


def linear(relation: Filter | Project | UnionAll | Explode) -> Changes:
    """Row by row: what the operator makes of a changed row, with that row's action.

    Proof     (1) The result is the sum over the input's rows of what each gives, so its change is that of the
                  rows that went and came.
              (2) Ids of results are made from ids of rows, and not from what else there is.
    """
    return Linear(relation, tuple(map(Derivative, inputs(relation))))


def join(relation: Join) -> Changes:
    """The rule of its kind."""
    return inner_join(relation) if relation.kind is JoinKind.INNER else outer_join(relation)


def inner_join(relation: Join) -> Changes:
    """The pairs of L0 x R0 with a row that went, and those of L1 x R1 with a row that came.

    Proof     (1) A pair with no changed row is in both products and changes nothing. Any other that was has a
                  row that went, one that is has a row that came; inputs are netted, so these differ.
              (2) A pair of two changed rows is taken once (trap 10), also when both sides are one table (11).
              (3) Each pair was, or is: nothing is computed from rows that never met, so nothing fails that
                  full evaluation at either moment does not (R-DVS-33).
    """
    left, right = relation.left, relation.right
    return Met(
        relation,
        netted(left),
        netted(right),
        (Snapshot(left, Moment.BEFORE), Snapshot(right, Moment.BEFORE)),
        (Snapshot(left, Moment.AFTER), Snapshot(right, Moment.AFTER)),
    )


def textbook_inner_join(relation: Join) -> Changes:
    """dL x R1 + L0 x dR, for comparison: it reads less, but may fail where the query does not.

    Proof     (1) L1 x R1 - L0 x R0 = (L1 - L0) x R1 + L0 x (R1 - R0): no pair is counted twice, though both
                  sides change (trap 10), also when both are one table (trap 11).
              (2) An id of a pair is of its two ids, so equal pairs have equal ids and net out.
    Unsound   as to errors: a row that went is paired with rows that came, and these pairs, which never were,
              pass through the condition and the expressions above before they net out.
    """
    left, right = relation.left, relation.right
    return Sum(
        (
            Paired(relation, netted(left), Snapshot(right, Moment.AFTER)),
            Paired(relation, Snapshot(left, Moment.BEFORE), netted(right)),
        )
    )


def outer_join(relation: Join) -> Changes:
    """The join of the rows with a changed key, before and after.

    Each side is read once at each moment, however many outer joins are chained (trap 8).

    Proof     (1) Whether a row has a partner depends on the rows of the other side with its key, so only keys
                  that occur in changes of either side matter (trap 4).
              (2) A row whose key has a NULL never has a partner: only its own change matters (traps 5, 7).
    """
    left, right = netted(relation.left), netted(relation.right)
    keys = Keys((left, right), (relation.left_keys, relation.right_keys))

    def at(moment: Moment) -> tuple[Restricted, ...]:
        return (
            Restricted(Snapshot(relation.left, moment), relation.left_keys, keys, left),
            Restricted(Snapshot(relation.right, moment), relation.right_keys, keys, right),
        )

    return Recomputed(relation, at(Moment.BEFORE), at(Moment.AFTER))


def distinct(relation: Distinct) -> Changes:
    """Whether rows that changed occurred before and occur now."""
    whole = tuple(Column(place, field.type) for place, field in enumerate(relation.fields))
    return by_changed_keys(relation, relation.child, whole)


def group(relation: Group) -> Changes:
    """The groups of changed rows, before and after; one that is empty now has no row (trap 14)."""
    if not relation.keys:
        raise Refused("an aggregate without GROUP BY", "cannot be maintained incrementally")
    return by_changed_keys(relation, relation.child, relation.keys)


def window(relation: Window) -> Changes:
    """The partitions of changed rows, before and after: both, of a row that moved between two (trap 25)."""
    if not relation.partition:
        raise Refused("a window function without PARTITION BY", "cannot be maintained incrementally")
    return by_changed_keys(relation, relation.child, relation.partition)


def by_changed_keys(relation: Relation, child: Relation, expressions: tuple[Expression, ...]) -> Changes:
    """What an operator gives for the rows with a changed key, before and after (R-DVS-95).

    Proof     (1) The result for a key depends only on the rows with this key.
              (2) Rows with a key that no change has are the same at both moments.
    """
    keys = Keys((Derivative(child),), (expressions,))
    return Recomputed(
        relation,
        (Restricted(Snapshot(child, Moment.BEFORE), expressions, keys),),
        (Restricted(Snapshot(child, Moment.AFTER), expressions, keys),),
    )


def netted(relation: Relation) -> Changes:
    """The net changes of a relation."""
    return Netted(Derivative(relation), relation)


RULES: Rules = {
    Scan: scan,
    Filter: linear,
    Project: linear,
    UnionAll: linear,
    Join: join,
    Explode: linear,
    Distinct: distinct,
    Group: group,
    Window: window,
}


def differentiate(relation: Relation, rules: Rules = RULES) -> Changes:
    """The plan of a relation's net changes.

    Raises:
        Refused: An operator cannot be maintained incrementally.
        DerivativeLeft: No rule rewrites some operator (R-DVS-93).
    """
    plan = Rewriting(rules).finished(netted(relation))
    left = derivatives(plan)
    if left:
        raise DerivativeLeft(f"the derivative of {type(left[0]).__name__} is left: no rule rewrites it")
    assert isinstance(plan, Netted)
    return plan


class Rewriting:
    """The rewriting of one plan; the derivative of one relation is rewritten once, and shared."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.known: dict[int, Plan] = {}
        # What `known` is about has to stay, or another node could take its identity.
        self.kept: list[object] = []

    def finished(self, plan: Plan) -> Any:
        """A plan with its derivatives rewritten as far as there are rules."""
        node: object = plan.relation if isinstance(plan, Derivative) else plan
        if id(node) not in self.known:
            self.kept.append(node)
            self.known[id(node)] = self.rewritten(plan)
        return self.known[id(node)]

    def rewritten(self, plan: Plan) -> Plan:
        """One step down."""
        if isinstance(plan, Derivative):
            rule = self.rules.get(type(plan.relation))
            return plan if rule is None else self.finished(rule(plan.relation))
        below = tuple(self.finished(part) for part in parts(plan))
        match plan:
            case Linear() | Sum():
                return replace(plan, inputs=below)
            case Paired():
                return replace(plan, left=below[0], right=below[1])
            case Met():
                return replace(plan, left=below[0], right=below[1])
            case Recomputed():
                count = len(plan.before)
                return replace(plan, before=below[:count], after=below[count:])
            case Netted():
                return replace(plan, changes=below[0])
            case Restricted():
                return replace(plan, among=below[1], nulls_of=below[2] if len(below) == 3 else None)
            case Keys():
                return replace(plan, changes=below)
        return plan
