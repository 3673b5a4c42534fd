"""The report of a check as one HTML page: engines side by side, what they skip, and each finding.

The page asks nothing of the network and runs no script. What comes from an engine is escaped, and characters
that show nothing are written as `\\u{...}`.
"""

import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from jinja2 import Environment

from oracles.answers.contradictions import Oracle, Verdict
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
class Shown:
    """The first blocks of a table, or the one block of an answer, and how much was left out.

    Attributes:
        alone: For each row of an answer, whether the other answer lacks it.
    """

    blocks: Sequence[Sequence[Sequence[object]]]
    rows_left: int
    rows: int
    blocks_left: int
    alone: Sequence[bool] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """What was skipped of what could be."""

    skipped: int
    skippable: int

    @property
    def step(self) -> int:
        """The step of the colour scale: 0 for nothing, 5 for everything, quarters between."""
        if self.skipped >= self.skippable:
            return 5
        return 1 + 4 * self.skipped // self.skippable if self.skipped else 0

    @property
    def percent(self) -> str:
        """The share, by which only nothing is 0 and only everything is 100."""
        rounded = round(100 * self.skipped / self.skippable)
        if 0 < self.skipped < self.skippable and rounded in (0, 100):
            return "<1\u2009%" if rounded == 0 else ">99\u2009%"
        return f"{rounded}\u2009%"


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the page beside its place and rename it, so that none is ever half there."""
    pages.write(render(results), path)


def render(results: Sequence[Result]) -> str:
    """The page of what `skipproof check --json` says of each engine."""
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
    environment = pages.environment(Path(__file__).parent)
    environment.filters |= {
        "answer": _answer,
        "by_verdict": _by_verdict,
        "cell": _cell,
        "count": _count,
        "cut": _cut,
        "first_blocks": _first_blocks,
        "first_lines": _first_lines,
        "speed": _speed,
    }
    return environment


def _verdicts(results: Iterable[Result]) -> list[str]:
    """The verdicts there are, and then any that this version does not know."""
    known = [verdict.value for verdict in Verdict]
    found = {finding["verdict"] for result in results for finding in result["findings"]}
    return known + sorted(found.difference(known))


def _by_verdict(result: Result) -> Counter[str]:
    return Counter(finding["verdict"] for finding in result["findings"])


def _shares(result: Result) -> dict[str, Share]:
    return {tally["family"]: Share(tally["skipped"], tally["skippable"]) for tally in result["tightness"]}


def _count(number: int, one: str, many: str = "") -> str:
    """A number and its noun, as `1 row` and `2,000 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _speed(result: Result) -> str:
    return f"{result['examples'] / result['seconds']:,.1f}" if result["seconds"] else ""


def _cell(value: object) -> str:
    """A cell as the protocol writes it, cut where it is long."""
    return _cut(_cell_text(value), CELL_CHARACTERS_MAX)


def _cut(text: str, characters_max: int = TEXT_CHARACTERS_MAX) -> str:
    """The start of a text, and how much was left out."""
    left = len(text) - characters_max
    return text if left <= 0 else f"{text[:characters_max]}… ({_count(left, 'character')} left out)"


def _cell_text(value: object) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _first_blocks(blocks: Sequence[Sequence[Sequence[object]]]) -> Shown:
    shown: list[Sequence[Sequence[object]]] = []
    room = ROWS_MAX
    for block in blocks[:BLOCKS_MAX]:
        if block and not room:
            break
        shown.append(block[:room])
        room -= len(shown[-1])
    rows = sum(map(len, blocks))
    return Shown(
        blocks=shown,
        rows=rows,
        rows_left=rows - sum(map(len, shown)),
        blocks_left=len(blocks) - len(shown),
    )


def _answer(rows: Sequence[Sequence[object]], other: Mapping[str, Any]) -> Shown:
    """The first rows of an answer, each marked if the other answer lacks it; an error lacks none."""
    first = rows[:ROWS_MAX]
    spare = Counter(_key(row) for row in other.get("rows", rows))
    alone = []
    for row in first:
        alone.append(not spare[_key(row)])
        spare[_key(row)] -= not alone[-1]
    return Shown(blocks=[first], rows=len(rows), rows_left=len(rows) - len(first), blocks_left=0, alone=alone)


def _key(row: Iterable[object]) -> tuple[object, ...]:
    """A row that can be counted; 1 is 1.0, and true is not 1."""
    return tuple(
        cell if isinstance(cell, int | float) and not isinstance(cell, bool) else _cell_text(cell)
        for cell in row
    )


def _first_lines(text: str) -> tuple[str, int]:
    """The first lines of a script, and how many were left out."""
    lines = text.strip("\n").split("\n")
    return "\n".join(map(_cut, lines[:LINES_MAX])), max(0, len(lines) - LINES_MAX)
