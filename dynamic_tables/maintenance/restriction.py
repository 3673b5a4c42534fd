"""The rows of a relation that have certain keys, computed from as few rows of its inputs as possible.

A key is looked for where its columns come from: below joins, filters, projections and other operators, down
to scans. The other side of a join is restricted to the join keys of the rows that are left on the first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

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
    AffectedRows,
    InsertedRows,
    Keys,
    Moment,
    PartialSnapshot,
    Rows,
    RowsAfter,
    Snapshot,
    SourceChanges,
    Sum,
)
from dynamic_tables.values.expressions import Column, Expression, remap_columns, substitute_columns

# The kinds of joins in which each row of the result has a row of that side.
LEFT_RESTRICTED = frozenset({JoinKind.INNER, JoinKind.LEFT})
RIGHT_RESTRICTED = frozenset({JoinKind.INNER, JoinKind.RIGHT})


@dataclass(frozen=True, slots=True)
class Restriction:
    """The keys that rows must have.

    Attributes:
        expressions: The key of a row.
        among: The keys, in the same order.
        nulls_match: True if NULL equals NULL; else a row whose key has a NULL is not taken.
    """

    expressions: tuple[Expression, ...]
    among: Keys
    nulls_match: bool = True

    def part(self, places: Sequence[int], expressions: tuple[Expression, ...]) -> "Restriction":
        """Return the restriction to some parts of the keys, over other rows, by these expressions."""
        return Restriction(expressions, self.among.part(places), self.nulls_match)

    def of_rows(self, rows: Rows) -> AffectedRows:
        """Return the rows that meet the restriction."""
        return AffectedRows(rows, self.expressions, self.among, None if self.nulls_match else Sum(()))


Restrictions: TypeAlias = tuple[Restriction, ...]
# Rows before and after the interval.
Ends: TypeAlias = tuple[Rows, Rows]
# Gives, for one part of a key, the expression by which an input of the operator has it; None if none has.
Below: TypeAlias = Callable[[Any, Expression], Expression | None]
Pushers: TypeAlias = Mapping[type[Relation], Below]


def below_row_wise(relation: Filter | Distinct, part: Expression) -> Expression | None:
    """Return a column, which the input has too.

    Other expressions stay above: they might fail for rows that the operator leaves out.
    """
    return part if isinstance(part, Column) else None


def below_project(relation: Project, part: Expression) -> Expression:
    """Return the expression over the columns of the input, of whose rows the projection drops none."""
    return substitute_columns(part, relation.columns)


def below_union(relation: UnionAll, part: Expression) -> Expression:
    """Return the expression itself: each input has the same columns."""
    return part


def below_explode(relation: Explode, part: Expression) -> Expression | None:
    """Return a column of the input."""
    return part if isinstance(part, Column) and part.index < len(relation.child.fields) else None


def below_group(relation: Group, part: Expression) -> Expression | None:
    """Return the expression of a grouping key: all rows of a group have its key."""
    if isinstance(part, Column) and part.index < len(relation.keys):
        return relation.keys[part.index]
    return None


def below_window(relation: Window, part: Expression) -> Expression | None:
    """Return a column by which rows are partitioned: all rows of a partition have its value."""
    return part if part in relation.partition and isinstance(part, Column) else None


def below_constants(relation: ConstantRows, part: Expression) -> None:
    """Return nothing: constant rows have no input."""


PUSHERS: Pushers = {
    ConstantRows: below_constants,
    Filter: below_row_wise,
    Distinct: below_row_wise,
    Project: below_project,
    UnionAll: below_union,
    Explode: below_explode,
    Group: below_group,
    Window: below_window,
}
# Gives the restrictions of the left and of the right input of a join that follow from one of its result.
Sides: TypeAlias = tuple[Restriction | None, Restriction | None]


def sides_of(relation: Join, restriction: Restriction) -> Sides:
    """Return the restrictions of a join's inputs by the columns of a key that come from each."""
    width = len(relation.left.fields)
    columns = [
        (place, part) for place, part in enumerate(restriction.expressions) if isinstance(part, Column)
    ]
    left = [(place, part) for place, part in columns if part.index < width]
    right = [
        (place, remap_columns(part, {part.index: part.index - width}))
        for place, part in columns
        if part.index >= width
    ]
    return (
        part_of(restriction, left) if relation.kind in LEFT_RESTRICTED else None,
        part_of(restriction, right) if relation.kind in RIGHT_RESTRICTED else None,
    )


def part_of(restriction: Restriction, parts: Sequence[tuple[int, Expression]]) -> Restriction | None:
    if not parts:
        return None
    return restriction.part([place for place, _ in parts], tuple(part for _, part in parts))


def rows_of_scan(relation: Scan, restrictions: Sequence[Restriction]) -> Ends:
    """Return the rows of a source, at both ends of the interval, that meet the restrictions.

    Proof     The rows after the interval are those before it, without the deleted and with the inserted ones.
              A row that is not deleted meets the restrictions after the interval if it met them before it.
    """
    if not restrictions:
        return snapshots(relation)
    changes = SourceChanges(relation)
    ends: Ends = Snapshot(relation, Moment.BEFORE), InsertedRows(changes)
    before, inserted = meeting(restrictions, ends)
    return before, RowsAfter(before, changes, inserted)


def snapshots(relation: Relation) -> Ends:
    """Return all rows of a relation at both ends of the interval."""
    return Snapshot(relation, Moment.BEFORE), Snapshot(relation, Moment.AFTER)


def at_both_ends(relation: Relation, *below: Ends) -> Ends:
    """Return an operator over some rows of its inputs at both ends of the interval."""
    before, after = zip(*below, strict=True)
    return PartialSnapshot(relation, before), PartialSnapshot(relation, after)


def meeting(restrictions: Sequence[Restriction], ends: Ends) -> Ends:
    """Return, of the rows at both ends, those that meet the restrictions."""
    before, after = ends
    for restriction in restrictions:
        before, after = restriction.of_rows(before), restriction.of_rows(after)
    return before, after


def partners_of(
    ends: Ends, keys: tuple[Expression, ...], expressions: tuple[Expression, ...]
) -> Restrictions:
    """Return the restriction to the join keys of rows of the other side; none for a join without keys."""
    return (Restriction(expressions, Keys(ends, (keys, keys)), nulls_match=False),) if keys else ()


def left_above(restrictions: Sequence[Restriction], below: Sequence[Restriction | None]) -> list[Restriction]:
    """Return the restrictions of which the inputs have not every part."""
    return [
        restriction
        for restriction, pushed in zip(restrictions, below, strict=True)
        if pushed is None or len(pushed.expressions) < len(restriction.expressions)
    ]


@dataclass(frozen=True, slots=True)
class KeyPushdown:
    """The computation of rows with certain keys; a mutant replaces one of its parts.

    Attributes:
        pushers: Gives the parts of a key that the inputs of each operator have; of joins, `sides` does.
        scan: Gives the rows of a source.
        partners: Gives the restriction of one side of a join by the rows of the other.
    """

    pushers: Pushers = field(default_factory=lambda: PUSHERS)
    sides: Callable[[Join, Restriction], Sides] = sides_of
    scan: Callable[[Scan, Sequence[Restriction]], Ends] = rows_of_scan
    partners: Callable[[Ends, tuple[Expression, ...], tuple[Expression, ...]], Restrictions] = partners_of

    def affected_rows(self, plans: Sequence[AffectedRows]) -> list[Rows]:
        """Return plans of the same rows that read fewer of the scans below.

        Claim     The rows are the same.
        Proof     (1) `rows_of` keeps, of each operator's result, all rows that pass, as they were, and no
                      others.
                  (2) A plan's own test of NULLs, which is stricter, is repeated at the top.

        Args:
            plans: The rows of snapshots of one relation with the same keys.
        """
        first, whole = plans[0], [plan.rows for plan in plans if isinstance(plan.rows, Snapshot)]
        ends = self.rows_of(whole[0].relation, (Restriction(first.expressions, first.among),))
        rows_at = dict(zip(Moment, ends, strict=True))
        rows = [rows_at[snapshot.moment] for snapshot in whole]
        return [
            below if plan.nulls_of is None else replace(plan, rows=below)
            for plan, below in zip(plans, rows, strict=True)
        ]

    def rows_of(self, relation: Relation, restrictions: Sequence[Restriction]) -> Ends:
        """Return the rows of a relation, at both ends of the interval, that meet the restrictions.

        Proof     By induction over the relation; each case keeps, of the result, each row that passes.
                  (1) A row of a filter, a projection, a union or an explode comes from one row of an input,
                      of which the part of the key is computed that it has itself.
                  (2) The rows of a group, of duplicates and of a partition all have the part of the key that
                      is pushed; so either all of them are left or none is, and the result of those that are
                      left is what it was.
                  (3) A join is that of `rows_of_join`, a scan that of `rows_of_scan`.
                  (4) Parts of a key that no input has are tested above the operator.
                  (5) Nothing is computed of a row of an input that full evaluation does not compute of it:
                      columns cannot fail; a projection and a group compute the others of each row, and a
                      union drops none.
        """
        if isinstance(relation, Scan):
            return self.scan(relation, restrictions)
        if isinstance(relation, Join):
            return self.rows_of_join(relation, restrictions)
        below = [self.restriction_below(relation, restriction) for restriction in restrictions]
        pushed = [restriction for restriction in below if restriction is not None]
        ends = snapshots(relation)
        if pushed:
            ends = at_both_ends(relation, *(self.rows_of(child, pushed) for child in inputs(relation)))
        return meeting(left_above(restrictions, below), ends)

    def restriction_below(self, relation: Relation, restriction: Restriction) -> Restriction | None:
        """Return the restriction of each input of an operator; None if the inputs have no part of the key."""
        below = self.pushers[type(relation)]
        parts = [(place, below(relation, part)) for place, part in enumerate(restriction.expressions)]
        return part_of(restriction, [(place, part) for place, part in parts if part is not None])

    def rows_of_join(self, relation: Join, restrictions: Sequence[Restriction]) -> Ends:
        """Return the rows of a join, at both ends of the interval, that meet the restrictions.

        Proof     (1) Of a side whose unmatched rows are kept alone, or of either side of an inner join, each
                      row of the result has one row, which passes if the result does.
                  (2) Whether a row has partners, and which, depends on the rows of the other side with its
                      join key; so it is enough to keep, of the other side, the rows with the join keys of
                      the rows that are left, at either end. A key with a NULL has no partner.
                  (3) Where the kept side of an outer join is restricted, its rows keep all their partners,
                      and a row without partner stays without.
        """
        sides = [self.sides(relation, restriction) for restriction in restrictions]
        by_left = [left for left, _ in sides if left is not None]
        by_right = [right for _, right in sides if right is not None]
        left_keys, right_keys = relation.left_keys, relation.right_keys
        if by_right:
            right = self.rows_of(relation.right, by_right)
            left = self.rows_of(relation.left, [*by_left, *self.partners(right, right_keys, left_keys)])
            if by_left:
                right = meeting(self.partners(left, left_keys, right_keys), right)
        elif by_left:
            left = self.rows_of(relation.left, by_left)
            right = self.rows_of(relation.right, self.partners(left, left_keys, right_keys))
        else:
            return meeting(restrictions, snapshots(relation))
        return meeting(restrictions, at_both_ends(relation, left, right))


KEY_PUSHDOWN = KeyPushdown()
