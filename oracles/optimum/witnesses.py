"""The optimum for text and time: for each truth value a row within the bounds that gives it, if found.

Shares   the expression trees and types; no rule, no range, no program. Trusts   `oracles.meaning.brute_force`
for the truth of a row. Removes  the rules: it looks for a row for which the predicate is TRUE. Leaves   rows
that are not examined. A witness that is found is certain. Where none is found though not all rows
         were examined, one may still exist: the answer is NO_WITNESS, which counts as provable, so that a
         tightness measured this way is a *lower bound* of the true one.

Predicates on prefixes compare values by order alone, so that `oracles.optimum.domains` has a row for each
case. For others the rows consist of critical values (`oracles.optimum.critical_texts`, `critical_times`).
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from oracles.optimum.critical_texts import critical_texts
from oracles.optimum.critical_times import TIMES, critical_times
from oracles.optimum.domains import Cell, CellFacts, all_cells, representatives
from oracles.optimum.optimum import Answer, Optimum, Truth
from oracles.optimum.reachability import Row
from oracles.optimum.rows_within import combinations, every_row, row_count, rows_within_bounds
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Compare, Comparison, Expression, Like, Literal, StartsWith
from pruning.expressions.types import STRING, Kind

ROWS_MAX = 4_096  # rows that are evaluated if all that may exist are
_TRIED_MAX = 6_000  # rows tried otherwise
_EACH_MAX = 60  # cells of each of two columns whose combinations are among them


@dataclass(slots=True)
class WitnessJudge:
    """The judge of one expression under a session's time zone, for any number of blocks."""

    expression: Expression
    zone: str = "UTC"
    rows_max: int = ROWS_MAX
    _plain: Expression = field(init=False)

    def __post_init__(self) -> None:
        self._plain = without_prefix_patterns(self.expression)

    def optimum(self, facts: Mapping[str, CellFacts], *, hints: Iterable[Row] = ()) -> Optimum:
        """Return the truth values that rows within the bounds can give.

        Args:
            facts: The facts about each column of the expression.
            hints: Rows to try first; those outside the bounds are ignored.
        """
        everything = self._every_row(facts)
        rows = self._tries(facts, hints) if everything is None else everything
        truths, unsure = self._truths(rows)
        missing = Answer.IMPOSSIBLE if everything is not None else Answer.NO_WITNESS
        missing = Answer.UNDECIDED if unsure else missing
        answers = {truth: Answer.POSSIBLE if truth in truths else missing for truth in (True, False, None)}
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def witness(self, facts: Mapping[str, CellFacts], truth: Truth) -> Row | None:
        """Return a row within the bounds that gives the truth value; None if none was found."""
        everything = self._every_row(facts)
        for row in self._tries(facts, ()) if everything is None else everything:
            try:
                if evaluate(self.expression, row, zone=self.zone) is truth:
                    return row
            except (Overflow, NoSecondOpinion):
                continue
        return None

    def _every_row(self, facts: Mapping[str, CellFacts]) -> list[Row] | None:
        return every_row(self.expression, facts, plain=self._plain, rows_max=self.rows_max)

    def _tries(self, facts: Mapping[str, CellFacts], hints: Iterable[Row]) -> Iterator[Row]:
        """Yield rows of critical cells: all combinations, or the first ones and some random ones."""
        yield from rows_within_bounds(facts, hints)
        cells = {name: self._cells(facts, name) for name in columns(self.expression)}
        if not all(cells.values()):
            return
        if row_count(cells) <= _TRIED_MAX:
            yield from combinations(cells)
            return
        count = _EACH_MAX if len(cells) == 2 else 16
        yield from combinations({name: column_cells[:count] for name, column_cells in cells.items()})
        chance = random.Random(0)
        for _ in range(_TRIED_MAX):
            yield {name: chance.choice(column_cells) for name, column_cells in cells.items()}

    def _cells(self, facts: Mapping[str, CellFacts], name: str) -> list[Cell]:
        """Return the critical cells of a column, or all its cells if they are few."""
        own = facts[name]
        special_cells: list[Cell] = all_cells(replace(own, may_value=False), size_max=self.rows_max) or []
        if not own.may_value:
            return special_cells
        few = all_cells(own, size_max=64)
        if few is not None:
            return few
        if own.type.kind is Kind.STRING:
            return [*special_cells, *critical_texts(self.expression, own, facts)]
        if own.type.kind in TIMES:
            return [*special_cells, *critical_times(self.expression, own, facts, self.zone)]
        return representatives(self._plain, facts)[name]

    def _truths(self, rows: Iterable[Row]) -> tuple[set[Truth], bool]:
        """Return the truth values found, and whether a row that is not covered may give another."""
        truths: set[Truth] = set()
        unsure = False
        for row in rows:
            if len(truths) == 3:
                break
            try:
                truth = evaluate(self.expression, row, zone=self.zone)
            except Overflow:
                continue
            except NoSecondOpinion:
                unsure = True
                continue
            assert truth is None or isinstance(truth, bool)
            truths.add(truth)
        return truths, unsure


def without_prefix_patterns(expression: Expression) -> Expression:
    """Return the expression with `startswith` for `LIKE 'abc%'` and `=` for LIKE without wildcards."""
    patterns = (node for node in walk(expression) if isinstance(node, Like))
    return substitute(expression, {node: _plain_like(node) for node in patterns})


def _plain_like(node: Like) -> Expression:
    text, characters = "", iter(node.pattern.decode())
    for character in characters:
        if character == node.escape:
            text += next(characters, "")
        elif character in "%_":
            last = character == "%" and not next(characters, "")
            return StartsWith(node.operand, text.encode()) if last else node
        else:
            text += character
    return Compare(Comparison.EQUAL, node.operand, Literal(text.encode(), STRING))
