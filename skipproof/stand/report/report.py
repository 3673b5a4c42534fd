"""The report of `skipproof check` as one HTML page: engines side by side, their tightness, each finding.

The page loads nothing from the network and runs no script. The output of an engine is escaped, and invisible
characters are written as `\\u{...}`.
"""

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import Environment

from oracles.answers.contradictions import Discrepancy, Oracle
from skipproof import pages

Result: TypeAlias = Mapping[str, Any]

ROWS_MAX = 40
BLOCKS_MAX = 40
CELL_CHARACTERS_MAX = 120
TEXT_CHARACTERS_MAX = 2000
LINES_MAX = 300
REASONS_MAX = 10
_TEMPLATE = "report.html.jinja"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExcerpt:
    """The first blocks of a table, or the one block of an answer, and the number of rows left out.

    Attributes:
        alone: For each row of an answer, whether the other answer lacks it.
    """

    blocks: Sequence[Sequence[Sequence[object]]]
    rows_left: int
    rows: int
    blocks_left: int
    alone: Sequence[bool] = ()


@dataclass(frozen=True, slots=True)
class SkippedShare:
    """The number of row groups that were skipped, and of those that could be."""

    skipped: int
    skippable: int

    @property
    def step(self) -> int:
        """The step on the colour scale: 0 for nothing skipped, 5 for everything, quarters between."""
        if self.skipped >= self.skippable:
            return 5
        return 1 + 4 * self.skipped // self.skippable if self.skipped else 0

    @property
    def percent(self) -> str:
        """The share in percent; 0 and 100 are shown only if they are exact."""
        rounded = round(100 * self.skipped / self.skippable)
        if 0 < self.skipped < self.skippable and rounded in (0, 100):
            return "<1\u2009%" if rounded == 0 else ">99\u2009%"
        return f"{rounded}\u2009%"


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the page of hunts atomically."""
    pages.write_page(render(results), path)


def render(results: Sequence[Result]) -> str:
    """Return the page; each result is the output of `skipproof check --json` for one engine."""
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            results=results,
            verdicts=_verdicts(results),
            families=sorted({tally["family"] for result in results for tally in result["tightness"]}),
            shares=[_shares(result) for result in results],
            reasons_max=REASONS_MAX,
            by_reference=Oracle.REFERENCE.value,
        )
    )


@functools.cache
def _environment() -> Environment:
    """Return the environment of this folder's templates, with the filters below."""
    environment = pages.template_environment(Path(__file__).parent)
    environment.filters |= {
        "answer": _answer_excerpt,
        "by_verdict": _counts_by_verdict,
        "cell": _cell,
        "count": pages.counted_noun,
        "cut": _shortened_text,
        "first_blocks": _first_blocks,
        "first_lines": _first_lines,
        "speed": _speed,
    }
    return environment


def _verdicts(results: Iterable[Result]) -> list[str]:
    """Return all verdicts, then those of the results that this version does not know."""
    ordered = [verdict.value for verdict in Discrepancy]
    present = {finding["verdict"] for result in results for finding in result["findings"]}
    return ordered + sorted(present.difference(ordered))


def _counts_by_verdict(result: Result) -> Counter[str]:
    """Return the number of findings by verdict."""
    return Counter(finding["verdict"] for finding in result["findings"])


def _shares(result: Result) -> dict[str, SkippedShare]:
    """Return the share of skipped row groups by family."""
    return {
        tally["family"]: SkippedShare(tally["skipped"], tally["skippable"]) for tally in result["tightness"]
    }


def _speed(result: Result) -> str:
    """Return the number of questions a second as text."""
    return f"{result['examples'] / result['seconds']:,.1f}" if result["seconds"] else ""


def _cell(value: object) -> str:
    """Return a cell as the protocol writes it, shortened if it is long."""
    return _shortened_text(_cell_text(value), CELL_CHARACTERS_MAX)


def _shortened_text(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """Return the start of a long text, and the number of characters left out."""
    left = len(text) - characters_max
    return (
        text if left <= 0 else f"{text[:characters_max]}… ({pages.counted_noun(left, 'character')} left out)"
    )


def _cell_text(value: object) -> str:
    """Return a cell as JSON, or NULL."""
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _first_blocks(blocks: Sequence[Sequence[Sequence[object]]]) -> TableExcerpt:
    """Return the first blocks and rows of a table."""
    first_rows: list[Sequence[Sequence[object]]] = []
    room = ROWS_MAX
    for block in blocks[:BLOCKS_MAX]:
        if block and not room:
            break
        first_rows.append(block[:room])
        room -= len(first_rows[-1])
    rows = sum(map(len, blocks))
    return TableExcerpt(
        blocks=first_rows,
        rows=rows,
        rows_left=rows - sum(map(len, first_rows)),
        blocks_left=len(blocks) - len(first_rows),
    )


def _answer_excerpt(rows: Sequence[Sequence[object]], other: Mapping[str, Any]) -> TableExcerpt:
    """Return the first rows of an answer, each marked if the other answer lacks it.

    If the other answer is an error, no row is marked.
    """
    first = rows[:ROWS_MAX]
    spare = Counter(_row_key(row) for row in other.get("rows", rows))
    alone = []
    for row in first:
        alone.append(not spare[_row_key(row)])
        spare[_row_key(row)] -= not alone[-1]
    return TableExcerpt(
        blocks=[first], rows=len(rows), rows_left=len(rows) - len(first), blocks_left=0, alone=alone
    )


def _row_key(row: Iterable[object]) -> tuple[object, ...]:
    """Return a hashable key of a row, in which 1 equals 1.0 and true does not equal 1."""
    return tuple(
        cell if isinstance(cell, int | float) and not isinstance(cell, bool) else _cell_text(cell)
        for cell in row
    )


def _first_lines(text: str) -> tuple[str, int]:
    """Return the first lines of a script, and the number of lines left out."""
    lines = text.strip("\n").split("\n")
    return "\n".join(map(_shortened_text, lines[:LINES_MAX])), max(0, len(lines) - LINES_MAX)
