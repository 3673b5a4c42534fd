"""Languages in proofs: predicates on the places of byte strings, with axioms that the automata give.

A proof names a few strings, a few languages, and the places of arbitrary strings. The named strings divide
all others into gaps, and the languages divide each gap into parts; a place lies in a part that is not
empty (axiom PART).
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from pruning.expressions.types import BINARY
from pruning.rules.interpreters.solver.numbers import Bounded, Term
from pruning.rules.sets import cuts, value_sets
from pruning.rules.sets.cuts import FULL
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values

# With more parts than this a proof has to do without axiom PART.
_PARTS_MAX = 256
Places: TypeAlias = Mapping[bytes, Term]
# For each language whether the strings are members, and the set of the strings.
Part: TypeAlias = tuple[tuple[bool, ...], Values]


@dataclass(frozen=True, slots=True)
class _MeetsQuery:
    """A use in a program: whether [lower, upper] meets a language."""

    language: Language
    lower: Bounded
    upper: Bounded
    answer: Term


@dataclass(slots=True)
class Languages:
    """The languages that a proof names, the places that may lie in them, and the queries of programs."""

    predicates: dict[Language, Term] = field(default_factory=dict)
    members: list[Term] = field(default_factory=list)
    meetings: list[_MeetsQuery] = field(default_factory=list)

    def predicate(self, language: Language) -> Callable[[Term], Term]:
        """Return the predicate that the string at a place, a Z3 integer, is in the language."""

        def holds(place: Term) -> Term:
            """Return that the string at a place is in the language, and record the place."""
            if not any(place.eq(member) for member in self.members):
                self.members.append(place)
            return self._of(language)(place)

        return holds

    def meets(self, lower: Bounded, upper: Bounded, language: Language) -> Term:
        """Return whether a range meets a language; for a single string whether it is a member."""
        if z3.is_true(lower.known) and z3.is_true(upper.known) and lower.number.value.eq(upper.number.value):
            return self.predicate(language)(lower.number.value)
        answer = z3.Bool(f"meets {len(self.meetings)}")
        self.meetings.append(_MeetsQuery(language, lower, upper, answer))
        return answer

    def axioms(self, places: Places) -> list[Term]:
        """Return all axioms; call it when every place has been named.

        MEMBER: a named string is in a language or not. MEETS: a range meets a language if a member
        lies in it, and where the ends are named strings it is known whether one does.
        """
        for meeting in self.meetings:
            self._of(meeting.language)
        named = [
            holds(place) == language.holds(value)
            for language, holds in self.predicates.items()
            for value, place in places.items()
        ]
        parts = _parts(list(self.predicates))
        if self.predicates and len(parts) <= _PARTS_MAX:
            named += [self._in_a_part(member, parts, places) for member in self.members]
        return named + [axiom for meeting in self.meetings for axiom in self._meets_axioms(meeting, places)]

    def _of(self, language: Language) -> Term:
        """Return the predicate of a language."""
        name = f"language {len(self.predicates)}"
        return self.predicates.setdefault(language, z3.Function(name, z3.IntSort(), z3.BoolSort()))

    def _in_a_part(self, member: Term, parts: list[Part], places: Places) -> Term:
        """Return PART: a string is in a part of its gap that is not empty."""

        def lies(signs: tuple[bool, ...]) -> Term:
            """Return that the string is a member of the languages as the signs say."""
            pairs = zip(self.predicates.values(), signs, strict=True)
            return z3.And(*(holds(member) == sign for holds, sign in pairs))

        return z3.Or(
            *(
                z3.And(inside, lies(signs))
                for inside, gap in _gaps(member, places)
                for signs, part in parts
                if not value_sets.intersection(part, gap).empty
            )
        )

    def _meets_axioms(self, meeting: _MeetsQuery, places: Places) -> Iterator[Term]:
        """Yield the axioms of one query."""
        holds, lower, upper = self._of(meeting.language), meeting.lower, meeting.upper
        for member in self.members:
            above = z3.Implies(lower.known, lower.number.value <= member)
            below = z3.Implies(upper.known, member <= upper.number.value)
            yield z3.Implies(z3.And(holds(member), above, below), meeting.answer)
        ends: list[bytes | None] = [None, *places]
        for least, greatest in itertools.product(ends, ends):
            if least is None or greatest is None or least <= greatest:
                at_ends = z3.And(_bound_is(lower, least, places), _bound_is(upper, greatest, places))
                yield z3.Implies(at_ends, meeting.answer == meeting.language.meets(least, greatest))


def _bound_is(bound: Bounded, value: bytes | None, places: Places) -> Term:
    """Return that a bound is a named string; of None, that it is unknown."""
    return z3.Not(bound.known) if value is None else z3.And(bound.known, bound.number.value == places[value])


def _gaps(member: Term, places: Places) -> Iterator[tuple[Term, Values]]:
    """Yield each place relative to the named strings, on one or between two, and the strings there."""
    for value, place in places.items():
        yield member == place, cuts.of_values([value], BINARY)
    ends: list[bytes | None] = [None, *sorted(places), None]
    for least, greatest in itertools.pairwise(ends):
        above = z3.BoolVal(True) if least is None else places[least] < member
        below = z3.BoolVal(True) if greatest is None else member < places[greatest]
        start = FULL if least is None else cuts.above(least, BINARY, inclusive=False)
        end = FULL if greatest is None else cuts.below(greatest, BINARY, inclusive=False)
        yield z3.And(above, below), cuts.intersection(start, end)


def _parts(languages: list[Language]) -> list[Part]:
    """Return the parts into which languages divide all strings; if they are too many, the first of them."""
    parts: list[Part] = [((), FULL)]
    for language in languages:
        sides: list[tuple[bool, Values]] = [(True, language), (False, language.complement())]
        parts = [
            ((*signs, sign), both)
            for signs, part in parts
            for sign, side in sides
            if not (both := value_sets.intersection(part, side)).empty
        ]
        if len(parts) > _PARTS_MAX:
            break
    return parts
