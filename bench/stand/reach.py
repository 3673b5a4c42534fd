"""Count how often the hunt over the small engine reaches each class of bugs, and each pair of classes.

    PYTHONPATH=. python bench/stand/reach.py [--questions N] [--seeds A B ...] [--json FILE] > TABLES.md

Prints Markdown: for each seed the share of answers with rows, of distinct questions, and of new worlds; how
often each class is reached; how often each pair of a class of data and one of questions. Fails if a bar is
missed. A rerun with the same file goes on; figures of other code are ignored.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time

from mutants.source.measuring import state_of_code
from skipproof.stand.hunt.reach.data_classes import DATA_CLASSES
from skipproof.stand.hunt.reach.query_classes import QUERY_CLASSES
from skipproof.stand.hunt.reach.reaching import (
    FREQUENT,
    FREQUENT_MIN,
    IMPOSSIBLE,
    OTHER_MIN,
    Pair,
    Tally,
    tally_hunt,
)

QUESTIONS = 10_000
SEEDS = (0, 1, 2)
# The least shares of a hunt's questions.
NON_EMPTY_MIN, DISTINCT_MIN, WORLDS_MIN = 0.5, 0.6, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The figures of a seed; those of a pair are by its text.

    Attributes:
        code: The state of the code that they are of.
    """

    code: str
    seed: int
    questions: int
    non_empty: int
    distinct: int
    worlds: int
    refused: int
    seconds: float
    classes: dict[str, int]
    pairs: dict[str, int]


def measure(seed: int, questions: int) -> Measure:
    """Hunt, and show the progress."""
    start = process_time()

    def show(tally: Tally) -> None:
        print(f"\rseed {seed}: {tally.questions:,} questions", end="", file=sys.stderr, flush=True)

    tally = tally_hunt(seed, questions, show)
    print(file=sys.stderr)
    return Measure(
        code=state_of_code(),
        seed=seed,
        questions=tally.questions,
        non_empty=tally.non_empty,
        distinct=len(tally.plans),
        worlds=tally.worlds,
        refused=tally.refused,
        seconds=process_time() - start,
        classes=dict(sorted(tally.classes.items())),
        pairs={text(pair): count for pair, count in sorted(tally.pairs.items())},
    )


def measure_all(seeds: Sequence[int], questions: int, file: Path | None) -> list[Measure]:
    """Return the figures of all seeds, those of this code that are in a file already from there."""
    stored = json.loads(file.read_text()) if file and file.exists() else []
    mine = {"code": state_of_code(), "questions": questions}
    by_seed = {figures["seed"]: Measure(**figures) for figures in stored if mine.items() <= figures.items()}
    for seed in seeds:
        if seed not in by_seed:
            by_seed[seed] = measure(seed, questions)
        if file is not None:
            file.write_text(json.dumps([asdict(of_seed) for of_seed in by_seed.values()], indent=1) + "\n")
    return [by_seed[seed] for seed in seeds]


def text(pair: Pair) -> str:
    """Return the text of a pair."""
    return " x ".join(pair)


def shares(measures: Sequence[Measure]) -> list[str]:
    """Return the table of what hunts consist of."""
    rows: list[tuple[str, Callable[[Measure], float], float]] = [
        ("answers with rows", lambda of_seed: of_seed.non_empty, NON_EMPTY_MIN),
        ("distinct questions", lambda of_seed: of_seed.distinct, DISTINCT_MIN),
        ("worlds", lambda of_seed: of_seed.worlds, WORLDS_MIN),
        ("refused", lambda of_seed: of_seed.refused, 0.0),
    ]
    lines = table_head(["of the questions", *(f"seed {of_seed.seed}" for of_seed in measures), "at least"])
    for name, count, least in rows:
        figures = [f"{count(of_seed) / of_seed.questions:.1%}" for of_seed in measures]
        lines.append(row([name, *figures, f"{least:.0%}" if least else ""]))
    return [*lines, row(["seconds of a core", *(f"{of_seed.seconds:.0f}" for of_seed in measures), ""])]


def classes(measures: Sequence[Measure]) -> list[str]:
    """Return the table of the classes."""
    lines = table_head(["class", *(f"seed {of_seed.seed}" for of_seed in measures)])
    for name in (*DATA_CLASSES, *QUERY_CLASSES):
        lines.append(row([name, *(f"{of_seed.classes.get(name, 0):,}" for of_seed in measures)]))
    return lines


def pairs(measures: Sequence[Measure]) -> list[str]:
    """Return the table of the pairs; a cell has the figures of all seeds."""
    lines = table_head(["", *QUERY_CLASSES])
    for data in DATA_CLASSES:
        cells = [cell((data, query), measures) for query in QUERY_CLASSES]
        lines.append(row([data, *cells]))
    return lines


def cell(pair: Pair, measures: Sequence[Measure]) -> str:
    """Return the figures of a pair, bold where one is below the bar."""
    if pair in IMPOSSIBLE:
        return "-"
    figures = " ".join(str(of_seed.pairs.get(text(pair), 0)) for of_seed in measures)
    return f"**{figures}**" if is_short(pair, measures) else figures


def is_short(pair: Pair, measures: Sequence[Measure]) -> bool:
    """Tell whether a pair is reached too seldom in one of the seeds."""
    least = FREQUENT_MIN if pair in FREQUENT else OTHER_MIN
    return any(
        of_seed.pairs.get(text(pair), 0) * QUESTIONS < least * of_seed.questions for of_seed in measures
    )


def short_pairs(measures: Sequence[Measure]) -> list[Pair]:
    """Return the pairs that are reached too seldom."""
    every = ((data, query) for data in DATA_CLASSES for query in QUERY_CLASSES)
    return [pair for pair in every if pair not in IMPOSSIBLE and is_short(pair, measures)]


def impossible() -> list[str]:
    """Return the table of the pairs that cannot be reached."""
    lines = table_head(["pair", "reason"])
    return [*lines, *(row([text(pair), reason]) for pair, reason in IMPOSSIBLE.items())]


def table_head(headings: Sequence[str]) -> list[str]:
    """Return the head of a table."""
    return [row(headings), row(["---", *["---:"] * (len(headings) - 1)])]


def row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def report(measures: Sequence[Measure]) -> str:
    """Return the tables, and the pairs that are short of a bar."""
    short = [
        f"{text(pair)} ({FREQUENT_MIN if pair in FREQUENT else OTHER_MIN})" for pair in short_pairs(measures)
    ]
    sections = [
        ("## Questions, answers and worlds", shares(measures)),
        ("## Classes", classes(measures)),
        ("## Pairs", pairs(measures)),
        ("## Pairs that cannot be reached", impossible()),
        ("## Pairs below their bar", [", ".join(short) or "None."]),
    ]
    return "\n\n".join(f"{heading}\n\n" + "\n".join(lines) for heading, lines in sections)


def main() -> None:
    """Hunt with each seed, print, and fail if a pair is short of its bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each hunt (default %(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="default %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="figures, kept for the next run")
    arguments = parser.parse_args()
    measures = measure_all(arguments.seeds, arguments.questions, arguments.json)
    print(report(measures))
    sys.exit(bool(short_pairs(measures)))


if __name__ == "__main__":
    main()
