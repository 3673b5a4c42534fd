"""The optimum for text and time: a row within the bounds that gives each truth value, if one is found.

Shares   the expression trees and types; no rule, no range, no program.
Trusts   `oracles.meaning.brute_force` for the truth of a row.
Removes  the rules: whether some row is TRUE is found by looking for one.
Leaves   rows that are not among those looked at. A witness that is found is certain. Where none is
         found though not all rows were looked at, there may be one yet: the answer is NO_WITNESS, it
         counts as provable, and a tightness measured so is a *lower bound* of the true one.

Predicates on prefixes meet values by order alone, so that `oracles.optimum.domains` has a row for each case;
for others the rows are made of critical values (`oracles.optimum.critical_texts` and
`critical_times`).
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from oracles.optimum.critical_texts import critical_texts
from oracles.optimum.critical_times import TIMES, critical_times
from oracles.optimum.domains import Cell, Known, representatives, whole
from oracles.optimum.optimum import Answer, Optimum, Truth
from oracles.optimum.reachability import Row
from oracles.optimum.rows_within import combinations, every_row, size, within
from pruning.expressions.substitution import substitute
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Compare, Comparison, Expression, Like, Literal, StartsWith
from pruning.expressions.types import STRING, Kind

ROWS_MAX = 4_096  # rows that are evaluated where all there may be are
_TRIED_MAX = 6_000  # rows tried where not
_EACH_MAX = 60  # of them, combinations of so many cells of each of two columns


@dataclass(slots=True)
class WitnessJudge:
    """The optimum of one expression under a session's time zone, for any number of blocks."""

    expression: Expression
    zone: str = "UTC"
    rows_max: int = ROWS_MAX
    _plain: Expression = field(init=False)

    def __post_init__(self) -> None:
        self._plain = without_prefix_patterns(self.expression)

    def optimum(self, known: Mapping[str, Known], *, hints: Iterable[Row] = ()) -> Optimum:
        """Which truth values rows within the bounds can give.

        Args:
            known: What is known of each column that the expression names.
            hints: Rows to try first; those that are not within the bounds are left out.
        """
        everything = self._every_row(known)
        rows = self._tries(known, hints) if everything is None else everything
        seen, unsure = self._truths(rows)
        missing = Answer.IMPOSSIBLE if everything is not None else Answer.NO_WITNESS
        missing = Answer.UNDECIDED if unsure else missing
        answers = {truth: Answer.POSSIBLE if truth in seen else missing for truth in (True, False, None)}
        return Optimum(true=answers[True], false=answers[False], null=answers[None])

    def witness(self, known: Mapping[str, Known], truth: Truth) -> Row | None:
        """A row within the bounds that gives the truth value; None where none was found."""
        everything = self._every_row(known)
        for row in self._tries(known, ()) if everything is None else everything:
            try:
                if evaluate(self.expression, row, zone=self.zone) is truth:
                    return row
            except (Overflow, NoSecondOpinion):
                continue
        return None

    def _every_row(self, known: Mapping[str, Known]) -> list[Row] | None:
        return every_row(self.expression, known, plain=self._plain, rows_max=self.rows_max)

    def _tries(self, known: Mapping[str, Known], hints: Iterable[Row]) -> Iterator[Row]:
        """Rows of critical cells: all combinations, or the first ones and some others."""
        yield from within(known, hints)
        cells = {name: self._cells(known, name) for name in columns(self.expression)}
        if not all(cells.values()):
            return
        if size(cells) <= _TRIED_MAX:
            yield from combinations(cells)
            return
        each = _EACH_MAX if len(cells) == 2 else 16
        yield from combinations({name: found[:each] for name, found in cells.items()})
        chance = random.Random(0)
        for _ in range(_TRIED_MAX):
            yield {name: chance.choice(found) for name, found in cells.items()}

    def _cells(self, known: Mapping[str, Known], name: str) -> list[Cell]:
        """The critical cells of a column; all of them where they are few."""
        own = known[name]
        found: list[Cell] = whole(replace(own, may_value=False), size_max=self.rows_max) or []
        if not own.may_value:
            return found
        few = whole(own, size_max=64)
        if few is not None:
            return few
        if own.type.kind is Kind.STRING:
            return [*found, *critical_texts(self.expression, own, known)]
        if own.type.kind in TIMES:
            return [*found, *critical_times(self.expression, own, known, self.zone)]
        return representatives(self._plain, known)[name]

    def _truths(self, rows: Iterable[Row]) -> tuple[set[Truth], bool]:
        """The truth values seen, and whether the row that gives another may be one without opinion."""
        seen: set[Truth] = set()
        unsure = False
        for row in rows:
            if len(seen) == 3:
                break
            try:
                truth = evaluate(self.expression, row, zone=self.zone)
            except Overflow:
                continue
            except NoSecondOpinion:
                unsure = True
                continue
            assert truth is None or isinstance(truth, bool)
            seen.add(truth)
        return seen, unsure


def without_prefix_patterns(expression: Expression) -> Expression:
    """The same with `startswith` for `LIKE 'abc%'` and `=` for LIKE without wildcards."""
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
