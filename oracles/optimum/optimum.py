"""The optimum: what a perfect pruner could conclude, row by row, from a block's metadata.

Shares   the expression trees and types; no rule, no range, no program.
Trusts   `oracles.meaning.brute_force` for the truth of a row, Z3 where it finds no row.
Removes  the rules: whether some row within the bounds is TRUE is found by looking for one.
Leaves   counting arguments (a column that must hold both its minimum and its maximum), correlation
         of columns, and whatever neither engine decides: `UNDECIDED` and `TIMED_OUT` are neither
         provable nor unprovable, and a report counts them apart.

Every answer of `Judge` is exact: POSSIBLE has a row that was evaluated; IMPOSSIBLE has had every
row evaluated, or one for each case that differs (`oracles.optimum.domains`), or Z3's word over a meaning
that adds rows and leaves none out (`oracles.optimum.reachability`). A row on which the expression raises
counts as no row.
"""

import enum
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from oracles.optimum.domains import Known, representatives
from oracles.optimum.reachability import Row, Search, TimedOut
from oracles.optimum.rows_within import combinations, every_row, size, within
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression

Truth: TypeAlias = bool | None

ROWS_MAX = 4_096  # rows that are evaluated one by one
_TRIES_MAX = 256  # rows tried where not all of them can be


class Answer(enum.Enum):
    """Whether some row within the bounds gives a truth value."""

    POSSIBLE = "a row gives it"
    IMPOSSIBLE = "no row gives it"
    UNDECIDED = "neither a row nor a proof was found"
    TIMED_OUT = "the solver ran out of time"
    NO_WITNESS = "no row was found among those that are likely to give it"


_DENIED = frozenset({Answer.IMPOSSIBLE, Answer.NO_WITNESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """Which truth values rows within the bounds can give.

    NO_WITNESS, which only `oracles.optimum.witnesses` says, counts as if it were impossible.
    """

    true: Answer
    false: Answer
    null: Answer

    @property
    def none_provable(self) -> bool | None:
        """Whether "no row is TRUE" follows from the metadata; None is undecided."""
        return _impossible([self.true])

    @property
    def all_provable(self) -> bool | None:
        """Whether "every row is TRUE" follows from the metadata; None is undecided."""
        if self.true in _DENIED:
            return False
        return _impossible([self.false, self.null])

    @property
    def timed_out(self) -> bool:
        """Whether some part of it took too long."""
        return Answer.TIMED_OUT in (self.true, self.false, self.null)


@dataclass(slots=True)
class Judge:
    """The optimum of one expression, for any number of blocks.

    Attributes:
        rows_max: How many rows are evaluated at most before a solver is asked.
        timeout_ms: What the solver may take for each truth value of each block.
    """

    expression: Expression
    rows_max: int = ROWS_MAX
    timeout_ms: int = 2_000
    _search: Search | None = field(default=None, init=False)
    _no_meaning: bool = field(default=False, init=False)

    def optimum(self, known: Mapping[str, Known], *, hints: Iterable[Row] = ()) -> Optimum:
        """Which truth values rows within the bounds can give.

        Args:
            known: What is known of each column that the expression names.
            hints: Rows to try first; those that are not within the bounds are left out.
        """
        seen: set[Truth] = set()
        try:
            seen |= self._truths(within(known, hints))
            everything = self._every_row(known)
            seen |= self._truths(self._tries(known) if everything is None else everything, seen)
        except NoSecondOpinion:
            return _all_of(Answer.UNDECIDED)
        answers: dict[Truth, Answer] = dict.fromkeys(seen, Answer.POSSIBLE)
        for truth in (True, False, None):
            if truth not in seen:
                answers[truth] = self._searched(known, truth) if everything is None else Answer.IMPOSSIBLE
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def enumerated(self, known: Mapping[str, Known]) -> Optimum | None:
        """The same by evaluating rows alone; None where there are too many."""
        everything = self._every_row(known)
        if everything is None:
            return None
        seen = self._truths(everything)
        answers = {t: Answer.POSSIBLE if t in seen else Answer.IMPOSSIBLE for t in (True, False, None)}
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def searched(self, known: Mapping[str, Known]) -> Optimum:
        """The same by the solver alone."""
        answers = [self._searched(known, truth) for truth in (True, False, None)]
        return Optimum(true=answers[0], false=answers[1], null=answers[2])

    def _every_row(self, known: Mapping[str, Known]) -> list[Row] | None:
        return every_row(self.expression, known, plain=self.expression, rows_max=self.rows_max)

    def _tries(self, known: Mapping[str, Known]) -> list[Row]:
        """Some rows that are likely to differ."""
        names = list(columns(self.expression))
        standing = representatives(self.expression, {name: known[name] for name in names})
        if size(standing) <= _TRIES_MAX:
            return list(combinations(standing))
        if not all(standing.values()):
            return []
        chance = random.Random(0)
        return [{name: chance.choice(cells) for name, cells in standing.items()} for _ in range(_TRIES_MAX)]

    def _truths(self, rows: Iterable[Row], seen: Iterable[Truth] = ()) -> set[Truth]:
        found = set(seen)
        for row in rows:
            if len(found) == 3:
                break
            try:
                truth = evaluate(self.expression, row)
            except Overflow:
                continue
            assert truth is None or isinstance(truth, bool)
            found.add(truth)
        return found

    def _searched(self, known: Mapping[str, Known], truth: Truth) -> Answer:
        try:
            if self._search is None and not self._no_meaning:
                self._search = Search(self.expression, timeout_ms=self.timeout_ms)
        except NoSecondOpinion:
            self._no_meaning = True
        if self._search is None:
            return Answer.UNDECIDED
        try:
            row = self._search.row(known, truth)
        except TimedOut:
            return Answer.TIMED_OUT
        if row is None:
            return Answer.IMPOSSIBLE
        confirmed = list(within(known, [row])) and truth in self._truths([row])
        return Answer.POSSIBLE if confirmed else Answer.UNDECIDED


def _impossible(answers: Sequence[Answer]) -> bool | None:
    if Answer.POSSIBLE in answers:
        return False
    return True if _DENIED.issuperset(answers) else None


def _all_of(answer: Answer) -> Optimum:
    return Optimum(true=answer, false=answer, null=answer)
