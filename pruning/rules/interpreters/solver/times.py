"""The axioms of proofs about the steps of dates and times that are not arithmetic.

MONOTONE: a step that never decreases does not; nor do the least value from a number on and the
greatest one up to it. ZONES: these two enclose the step. OWN OFFSET: an instant truncated in its
zone or moved by its local time, and a midnight, lie between the least and the greatest instant of the local
time. CYCLE: a
field increases inside a cycle. NEXT: no number whose field is wanted lies between one and the next
such number; likewise PREVIOUS.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import z3

from pruning.rules.interpreters.solver.numbers import Term
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time.cycles import CYCLES, OF_TIME
from pruning.rules.time.steps import Action, Envelope, Step

_TRUNCATED = frozenset({Action.TRUNCATE, Action.UNIT_INSTANT})
_LATER = frozenset({Action.DAYS_LATER, Action.MONTHS_LATER})
_AT_OWN_OFFSET = _TRUNCATED | _LATER
_ENVELOPED = _AT_OWN_OFFSET | {Action.LOCAL, Action.LOCAL_MONTHS, Action.INSTANT}
_SEARCHES = frozenset({Action.NEXT, Action.PREVIOUS})


@dataclass(frozen=True, slots=True)
class Point:
    """A number at which a step is used, and the term of its value there."""

    number: Term
    result: Term


@dataclass(slots=True)
class TimeSteps:
    """Uninterpreted integer functions, one for each step and envelope, and the points of their use.

    Attributes:
        points: By Z3's id of the number, which no other term has while the point keeps the number alive. Its
            text would not do: Z3 prints terms shortened, so that two of them may look alike.
    """

    points: dict[tuple[Step, Envelope], dict[int, Point]] = field(default_factory=dict)

    def of(self, step: Step, bend: Envelope, number: Term) -> Term:
        """Return the value of a step, or of its envelope."""
        bend = bend if step.action in _ENVELOPED else Envelope.HERE
        function = z3.Function(f"{step} {bend.name}", z3.IntSort(), z3.IntSort())
        point = Point(number, function(number))
        self.points.setdefault((step, bend), {})[number.get_id()] = point
        return point.result

    def axioms(self) -> list[Term]:
        """Return the axioms about every point in use."""
        self._ask_for_starts()
        terms: list[Term] = []
        for (step, bend), points in list(self.points.items()):
            known_points = list(points.values())
            if step.action is Action.FIELD:
                terms += self._field_axioms(step, known_points)
            elif step.action in _SEARCHES:
                terms += self._search_axioms(step, known_points)
            if step.action is not Action.FIELD and (
                step.action not in _ENVELOPED or bend is not Envelope.HERE
            ):
                terms += _monotone(known_points)
            if bend is not Envelope.HERE:
                terms += self._envelope_axioms(step, bend, known_points)
        return terms

    def _ask_for_starts(self) -> None:
        """Name the local time of each truncated or moved instant too, so that axioms cover it."""
        for (step, _), points in list(self.points.items()):
            for point in list(points.values()) if step.action in _AT_OWN_OFFSET else []:
                self._start(step, point.number)

    def _here(self, step: Step) -> list[Point]:
        """Return the points at which a step itself is used."""
        return list(self.points.get((step, Envelope.HERE), {}).values())

    def _envelope_axioms(self, step: Step, bend: Envelope, outer: list[Point]) -> Iterator[Term]:
        """Yield ZONES and OWN OFFSET."""
        inner = self._here(step)
        if step.action is Action.INSTANT:
            inner = [*inner, *self._instants(step.zone)]
        for far, near in itertools.product(outer, inner):
            if bend is Envelope.LOW:
                yield z3.Implies(far.number <= near.number, far.result <= near.result)
            else:
                yield z3.Implies(near.number <= far.number, near.result <= far.result)

    def _instants(self, zone: str) -> Iterator[Point]:
        """Yield the instants in a zone, each with the local time that it is one of."""
        for (step, _), points in list(self.points.items()):
            for point in list(points.values()) if step.zone == zone else []:
                if step.action is Action.MIDNIGHT:
                    yield Point(point.number * MICROS_PER_DAY, point.result)
                elif step.action in _AT_OWN_OFFSET:
                    yield Point(self._start(step, point.number), point.result)

    def _start(self, step: Step, number: Term) -> Term:
        """Return the local time at the start of the unit that an instant is in, or to which it is moved."""
        local = self.of(Step(Action.LOCAL, zone=step.zone), Envelope.HERE, number)
        if step.action is Action.DAYS_LATER:
            return local + step.number * MICROS_PER_DAY
        if step.action is Action.MONTHS_LATER:
            return self.of(Step(Action.LOCAL_MONTHS, step.number), Envelope.HERE, local)
        if not step.unit:
            return local / step.number * step.number
        start = self.of(Step(Action.UNIT_START, unit=step.unit), Envelope.HERE, local / MICROS_PER_DAY)
        return start * MICROS_PER_DAY

    def _field_axioms(self, step: Step, points: list[Point]) -> Iterator[Term]:
        """Yield CYCLE, and the values that a field has."""
        values = CYCLES[step.field].values
        begins = replace(step, action=Action.CYCLE)
        for point in points:
            yield z3.And(point.result >= values[0], point.result <= values[-1])
        for low, high in itertools.permutations(points, 2):
            same = self.of(begins, Envelope.HERE, low.number) == self.of(begins, Envelope.HERE, high.number)
            yield z3.Implies(z3.And(low.number <= high.number, same), low.result <= high.result)

    def _search_axioms(self, step: Step, points: list[Point]) -> Iterator[Term]:
        """Yield NEXT and PREVIOUS."""
        for far in points:
            onward = far.result >= far.number
            yield onward if step.action is Action.NEXT else far.result <= far.number
            for near, is_wanted in self._with_field(step):
                if step.action is Action.NEXT:
                    yield z3.Implies(z3.And(is_wanted, far.number <= near), far.result <= near)
                else:
                    yield z3.Implies(z3.And(is_wanted, near <= far.number), near <= far.result)

    def _with_field(self, step: Step) -> Iterator[tuple[Term, Term]]:
        """Yield the numbers whose field is used, by a zone's local time or not, and that it is wanted."""
        fields = self._here(Step(Action.FIELD, field=step.field))
        local = {
            point.result.get_id(): point.number for point in self._here(Step(Action.LOCAL, zone=step.zone))
        }
        for point in fields:
            is_wanted = z3.Or(*(point.result == value for value in sorted(step.wanted)))
            if step.field in OF_TIME and point.number.get_id() in local:
                yield local[point.number.get_id()], is_wanted
            elif step.field not in OF_TIME or step.zone == "UTC":
                yield point.number, is_wanted


def _monotone(points: list[Point]) -> Iterator[Term]:
    """Yield that the values increase with the numbers."""
    for low, high in itertools.permutations(points, 2):
        yield z3.Implies(low.number <= high.number, low.result <= high.result)
