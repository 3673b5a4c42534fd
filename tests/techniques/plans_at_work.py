"""Small plans and what they mean: each is drawn with a function that runs it on rows in plain Python."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.plans import (
    Aggregate,
    Equality,
    Exchange,
    Filter,
    Join,
    JoinKind,
    Limit,
    Offset,
    Other,
    Plan,
    Project,
    Scan,
    Sort,
    SortItem,
    Union,
    Window,
    attribute_name,
    is_filtered_scan,
)
from pruning.expressions.trees import Column
from pruning.expressions.types import INTEGER

Row: TypeAlias = dict[str, int | None]
# The rows of each scan, by its number; a row has a value for each of the table's columns.
Tables: TypeAlias = tuple[tuple[tuple[int | None, ...], ...], ...]

COLUMNS = ("a", "b")
VALUES = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=5).map(tuple)


@dataclass(frozen=True, slots=True)
class Made:
    """A plan, the attributes that it gives, what it gives on tables; the left and right side of a join."""

    plan: Plan
    attributes: tuple[str, ...]
    run: Callable[[Tables], list[Row]]
    sides: "tuple[Made, ...]" = ()


@dataclass(slots=True)
class Maker:
    """Draws plans whose attributes and scans are all different."""

    draw: DrawFn
    ids: Iterator[int]
    filters: dict[int, list[Callable[[Row], bool]]]

    def fresh(self) -> str:
        return attribute_name(next(self.ids))

    def plan(self, depth: int) -> Made:
        """A plan of at most so many levels; a scan under a filter where there are none left."""
        if depth <= 0:
            return self.scan()
        return self.draw(st.sampled_from(_SHAPES))(self, depth)

    def scan(self) -> Made:
        number = len(self.filters)
        self.filters[number] = []
        names = tuple(self.fresh() for _ in COLUMNS)
        scan = Scan(
            number, {name: Column(column, INTEGER) for name, column in zip(names, COLUMNS, strict=True)}
        )
        return Made(
            scan, names, lambda tables: [dict(zip(names, row, strict=True)) for row in tables[number]]
        )

    def filter(self, depth: int) -> Made:
        below = self.plan(depth - 1)
        name, least = self.draw(st.sampled_from(below.attributes)), self.draw(st.integers(0, 2))

        def passes(row: Row) -> bool:
            value = row[name]
            return value is not None and value >= least

        if is_filtered_scan(below.plan):
            self._scan_filter(below.plan, below, passes)
        return Made(
            Filter(below.plan),
            below.attributes,
            lambda tables: [row for row in below.run(tables) if passes(row)],
        )

    def _scan_filter(self, plan: Plan, below: Made, passes: Callable[[Row], bool]) -> None:
        """Note the filter as one of the scan's own: a row passes if what the plan makes of it alone does."""
        while isinstance(plan, Filter | Project):
            plan = plan.child
        assert isinstance(plan, Scan)
        number = plan.number

        def own(row: tuple[int | None, ...]) -> bool:
            tables = tuple((row,) if place == number else () for place in range(number + 1))
            return all(map(passes, below.run(tables)))

        self.filters[number].append(own)

    def project(self, depth: int) -> Made:
        below = self.plan(depth - 1)
        names = [name for name in below.attributes if self.draw(st.booleans())] or list(below.attributes[:1])
        sources = {self.fresh() if self.draw(st.booleans()) else name: name for name in names}
        plan = Project(below.plan, {new: Column(old, INTEGER) for new, old in sources.items()})
        return Made(
            plan,
            tuple(sources),
            lambda tables: [{new: row[old] for new, old in sources.items()} for row in below.run(tables)],
        )

    def join(self, depth: int) -> Made:
        left, right = self.plan(depth - 1), self.plan(depth - 2)
        kind = self.draw(st.sampled_from(JoinKind))
        one, other = (self.draw(st.sampled_from(side.attributes)) for side in (left, right))
        null_safe = self.draw(st.booleans())
        plan = Join(
            left=left.plan,
            right=right.plan,
            kind=kind,
            equalities=(Equality(Column(one, INTEGER), Column(other, INTEGER), null_safe),),
            left_attributes=frozenset(left.attributes),
            right_attributes=frozenset(right.attributes),
        )
        exists = (self.fresh(),) if kind is JoinKind.EXISTENCE else ()
        both = kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)
        attributes = (*left.attributes, *(right.attributes if both else exists))

        def partners(here: Row, there: Row) -> bool:
            return here[one] == there[other] and (null_safe or here[one] is not None)

        def run(tables: Tables) -> list[Row]:
            return joined(kind, left.run(tables), right.run(tables), partners, attributes, exists)

        return Made(plan, attributes, run, (left, right))

    def aggregate(self, depth: int) -> Made:
        below = self.plan(depth - 1)
        groups = [name for name in below.attributes if self.draw(st.booleans())]
        number = self.fresh()
        plan = Aggregate(below.plan, {name: Column(name, INTEGER) for name in groups})

        def run(tables: Tables) -> list[Row]:
            counted = Counter(tuple(row[name] for name in groups) for row in below.run(tables))
            if not groups and not counted:
                counted[()] = 0
            return [dict(zip(groups, key, strict=True)) | {number: rows} for key, rows in counted.items()]

        return Made(plan, (*groups, number), run)

    def window(self, depth: int) -> Made:
        """The number of rows of each partition; with `limited`, only partitions' first rows."""
        below = self.plan(depth - 1)
        parts = [name for name in below.attributes if self.draw(st.booleans())]
        number, limited = self.fresh(), self.draw(st.booleans())
        plan = Window(below.plan, frozenset(parts), limited)

        def run(tables: Tables) -> list[Row]:
            rows = below.run(tables)
            sizes = Counter(tuple(row[name] for name in parts) for row in rows)
            given = [row | {number: sizes[tuple(row[name] for name in parts)]} for row in rows]
            if not limited:
                return given
            firsts = {tuple(row[name] for name in parts): row for row in sorted(given, key=_placed)}
            return list(firsts.values())

        return Made(plan, (*below.attributes, number), run)

    def sort(self, depth: int) -> Made:
        below = self.plan(depth - 1)
        key = Column(self.draw(st.sampled_from(below.attributes)), INTEGER)
        return replace(below, plan=Sort(below.plan, (SortItem(key, False, True),), total=True))

    def exchange(self, depth: int) -> Made:
        below = self.plan(depth - 1)
        return replace(below, plan=Exchange(below.plan))

    def limit(self, depth: int) -> Made:
        """The least rows, so that the plan has one answer."""
        below, rows = self.plan(depth - 1), self.draw(st.integers(0, 4))
        return Made(
            Limit(below.plan, rows, local=False),
            below.attributes,
            lambda tables: sorted(below.run(tables), key=_placed)[:rows],
        )

    def offset(self, depth: int) -> Made:
        below, rows = self.plan(depth - 1), self.draw(st.integers(0, 2))
        return Made(
            Offset(below.plan, rows),
            below.attributes,
            lambda tables: sorted(below.run(tables), key=_placed)[rows:],
        )

    def union(self, depth: int) -> Made:
        branches = [self.plan(depth - 1), self.plan(depth - 2)]
        names = tuple(self.fresh() for _ in range(min(len(branch.attributes) for branch in branches)))
        sources = [dict(zip(names, branch.attributes, strict=False)) for branch in branches]
        plan = Union(
            tuple(branch.plan for branch in branches),
            tuple({new: Column(old, INTEGER) for new, old in one.items()} for one in sources),
        )
        return Made(
            plan,
            names,
            lambda tables: [
                {new: row[old] for new, old in source.items()}
                for branch, source in zip(branches, sources, strict=True)
                for row in branch.run(tables)
            ],
        )

    def other(self, depth: int) -> Made:
        """Something that no one understands: each value once."""
        below = self.plan(depth - 1)

        def run(tables: Tables) -> list[Row]:
            return [dict(row) for row in {tuple(row.items()) for row in below.run(tables)}]

        return Made(Other((below.plan,)), below.attributes, run)


def joined(
    kind: JoinKind,
    left: list[Row],
    right: list[Row],
    partners: Callable[[Row, Row], bool],
    attributes: tuple[str, ...],
    exists: tuple[str, ...] = (),
) -> list[Row]:
    """What a join gives; attributes of a missing partner are NULL."""
    pairs = [(here, there) for here in left for there in right if partners(here, there)]
    alone = [here for here in left if not any(partners(here, there) for there in right)]
    lonely = [there for there in right if not any(partners(here, there) for here in left)]
    nothing: Row = dict.fromkeys(attributes)
    if kind is JoinKind.SEMI:
        return [here for here in left if here not in alone]
    if kind is JoinKind.ANTI:
        return alone
    if kind is JoinKind.EXISTENCE:
        return [here | {exists[0]: int(here not in alone)} for here in left]
    rows = [here | there for here, there in pairs]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        rows += [nothing | here for here in alone]
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows += [nothing | there for there in lonely]
    return rows


def bag(rows: list[Row]) -> Counter[tuple[tuple[str, int | None], ...]]:
    """Rows without an order."""
    return Counter(tuple(sorted(row.items())) for row in rows)


def _placed(row: Row) -> list[tuple[bool, int]]:
    return [(value is not None, value or 0) for _, value in sorted(row.items())]


_SHAPES = (
    Maker.filter,
    Maker.filter,
    Maker.project,
    Maker.join,
    Maker.join,
    Maker.join,
    Maker.aggregate,
    Maker.window,
    Maker.sort,
    Maker.exchange,
    Maker.limit,
    Maker.offset,
    Maker.union,
    Maker.other,
)


@st.composite
def plans(draw: DrawFn, *, max_depth: int = 3) -> tuple[Made, list[list[Callable[[Row], bool]]]]:
    """A plan, and the filters right above each of its scans, as functions of the scan's rows.

    Shrinks to: a scan.
    """
    maker = Maker(draw, count(1), {})
    made = maker.plan(draw(st.integers(0, max_depth)))
    return made, [maker.filters[number] for number in sorted(maker.filters)]
