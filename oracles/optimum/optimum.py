"""The optimum: the conclusions that a perfect pruner could draw from a block's metadata, row by row.

Shares   the expression trees and types; no rule, no range, no program.
Trusts   `oracles.meaning.brute_force` for the truth of a row, and Z3 where it finds no row.
Removes  the rules: it looks for a row within the bounds for which the predicate is TRUE.
Leaves   counting arguments (a column that must hold both its minimum and its maximum), correlation of
         columns, and whatever neither engine decides: `UNDECIDED` and `TIMED_OUT` are neither provable nor
         unprovable, and a report counts them separately.

Every answer of `Judge` is exact. POSSIBLE has a row that was evaluated. IMPOSSIBLE has every row evaluated,
or one for each case that differs (`oracles.optimum.domains`), or Z3's answer on a meaning that may add rows
but omits none (`oracles.optimum.reachability`). A row on which the expression raises counts as no row.
"""

import enum
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from oracles.optimum.domains import CellFacts, representatives
from oracles.optimum.reachability import Row, Search, TimedOut
from oracles.optimum.rows_within import combinations, every_row, row_count, rows_within_bounds
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression

Truth: TypeAlias = bool | None

ROWS_MAX = 4_096  # rows that are evaluated one by one
_TRIES_MAX = 256  # rows tried where there are too many to try all


class Answer(enum.Enum):
    """The answer to whether some row within the bounds gives a truth value."""

    POSSIBLE = "a row gives it"
    IMPOSSIBLE = "no row gives it"
    UNDECIDED = "neither a row nor a proof was found"
    TIMED_OUT = "the solver ran out of time"
    NO_WITNESS = "no row was found among those that are likely to give it"


_DENIED = frozenset({Answer.IMPOSSIBLE, Answer.NO_WITNESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The truth values that rows within the bounds can give.

    NO_WITNESS, which only `oracles.optimum.witnesses` gives, counts as impossible.
    """

    true: Answer
    false: Answer
    null: Answer

    @property
    def none_provable(self) -> bool | None:
        """True if "no row is TRUE" follows from the metadata, None if undecided."""
        return _impossible([self.true])

    @property
    def all_provable(self) -> bool | None:
        """True if "every row is TRUE" follows from the metadata, None if undecided."""
        if self.true in _DENIED:
            return False
        return _impossible([self.false, self.null])

    @property
    def timed_out(self) -> bool:
        """True if the solver took too long for some truth value."""
        return Answer.TIMED_OUT in (self.true, self.false, self.null)


@dataclass(slots=True)
class Judge:
    """The judge of one expression, for any number of blocks.

    Attributes:
        rows_max: The most rows that are evaluated before a solver is used.
        timeout_ms: The solver's time for each truth value of each block.
    """

    expression: Expression
    rows_max: int = ROWS_MAX
    timeout_ms: int = 2_000
    _search: Search | None = field(default=None, init=False)
    _no_meaning: bool = field(default=False, init=False)

    def optimum(self, facts: Mapping[str, CellFacts], *, hints: Iterable[Row] = ()) -> Optimum:
        """Return the truth values that rows within the bounds can give.

        Args:
            facts: The facts about each column of the expression.
            hints: Rows to try first; those outside the bounds are ignored.
        """
        truths: set[Truth] = set()
        try:
            truths |= self._truths(rows_within_bounds(facts, hints))
            everything = self._every_row(facts)
            truths |= self._truths(self._tries(facts) if everything is None else everything, truths)
        except NoSecondOpinion:
            return _same_answers(Answer.UNDECIDED)
        answers: dict[Truth, Answer] = dict.fromkeys(truths, Answer.POSSIBLE)
        for truth in (True, False, None):
            if truth not in truths:
                answers[truth] = (
                    self._search_answer(facts, truth) if everything is None else Answer.IMPOSSIBLE
                )
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def by_enumeration(self, facts: Mapping[str, CellFacts]) -> Optimum | None:
        """Return the optimum by evaluating rows alone; None if there are too many."""
        everything = self._every_row(facts)
        if everything is None:
            return None
        truths = self._truths(everything)
        answers = {t: Answer.POSSIBLE if t in truths else Answer.IMPOSSIBLE for t in (True, False, None)}
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def by_search(self, facts: Mapping[str, CellFacts]) -> Optimum:
        """Return the optimum by the solver alone."""
        answers = [self._search_answer(facts, truth) for truth in (True, False, None)]
        return Optimum(true=answers[0], false=answers[1], null=answers[2])

    def _every_row(self, facts: Mapping[str, CellFacts]) -> list[Row] | None:
        return every_row(self.expression, facts, plain=self.expression, rows_max=self.rows_max)

    def _tries(self, facts: Mapping[str, CellFacts]) -> list[Row]:
        """Return some rows that are likely to have different truth values."""
        names = list(columns(self.expression))
        standing = representatives(self.expression, {name: facts[name] for name in names})
        if row_count(standing) <= _TRIES_MAX:
            return list(combinations(standing))
        if not all(standing.values()):
            return []
        chance = random.Random(0)
        return [{name: chance.choice(cells) for name, cells in standing.items()} for _ in range(_TRIES_MAX)]

    def _truths(self, rows: Iterable[Row], known_truths: Iterable[Truth] = ()) -> set[Truth]:
        truths = set(known_truths)
        for row in rows:
            if len(truths) == 3:
                break
            try:
                truth = evaluate(self.expression, row)
            except Overflow:
                continue
            assert truth is None or isinstance(truth, bool)
            truths.add(truth)
        return truths

    def _search_answer(self, facts: Mapping[str, CellFacts], truth: Truth) -> Answer:
        try:
            if self._search is None and not self._no_meaning:
                self._search = Search(self.expression, timeout_ms=self.timeout_ms)
        except NoSecondOpinion:
            self._no_meaning = True
        if self._search is None:
            return Answer.UNDECIDED
        try:
            row = self._search.row(facts, truth)
        except TimedOut:
            return Answer.TIMED_OUT
        if row is None:
            return Answer.IMPOSSIBLE
        confirmed = list(rows_within_bounds(facts, [row])) and truth in self._truths([row])
        return Answer.POSSIBLE if confirmed else Answer.UNDECIDED


def _impossible(answers: Sequence[Answer]) -> bool | None:
    if Answer.POSSIBLE in answers:
        return False
    return True if _DENIED.issuperset(answers) else None


def _same_answers(answer: Answer) -> Optimum:
    return Optimum(true=answer, false=answer, null=answer)
