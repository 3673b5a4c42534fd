"""Measure how much of what is provable the rules prove, against the optimum on a committed set.

    python bench/tightness.py [--text-and-time] [--pages] [--every N] [--sample N | --all] [--gaps FILE]
        [--spark]

Each `--sample`-th pair of a predicate and a block is put to both. A pair is *skippable* where the
optimum shows that no row within the bounds matches, *skipped* where the rules say NONE; ALL likewise.
What neither a row nor a proof decides is counted apart, and so are the solver's time-outs. A verdict
that the optimum contradicts is printed as WRONG, and the command fails.

Of text and time (`--text-and-time`) the optimum looks for witnesses: what it calls skippable is so as
far as no row was found, so that the tightness shown is a lower bound of the true one.

With `--pages`, each table is written as one row group of many pages, which do not align; a block is a run of
rows between neighbouring edges of pages, and the optimum is of what the pages state.

With `--spark`, all verdicts are compared with Spark that skips nothing as well, and timed.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table as Grid

from oracles.answers.unpruned import Raises, matches_per_block
from oracles.optimum.domains import CellFacts
from oracles.optimum.optimum import Answer, Judge, Optimum
from oracles.optimum.reachability import Row
from oracles.optimum.witnesses import WitnessJudge
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import children, columns
from pruning.expressions.trees import Expression, IsNull, Not, type_of
from pruning.expressions.types import BOOLEAN
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks, compile_predicate
from skipproof.sessions import spark_session
from strategies.base.metadata import BlockFacts, to_metadata
from strategies.base.tables import Table
from strategies.predicates.committed import PATH, TEXT_AND_TIME_PATH, TableCases, read
from strategies.predicates.families import (
    MULTI_COLUMN,
    OVERALL,
    PREFIX,
    SINGLE_COLUMN,
    TRUNCATION,
    families,
    shape,
)
from tools.cut_tables import CutTable, cut_table

GAPS_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A predicate, what is known of a block, the rules' verdict and the optimum."""

    predicate: Expression
    known: dict[str, CellFacts]
    verdict: Match
    optimum: Optimum
    blamed: Expression | None = None

    @property
    def gap(self) -> str | None:
        """The verdict that was provable and not proved, if any."""
        if self.verdict is not Match.SOME:
            return None
        return "NONE" if self.optimum.none_provable else "ALL" if self.optimum.all_provable else None

    @property
    def open(self) -> bool:
        """True if the rules prove nothing and the optimum is undecided."""
        optimum = self.optimum
        return (
            self.verdict is Match.SOME
            and not self.gap
            and None
            in (
                optimum.none_provable,
                optimum.all_provable,
            )
        )

    @property
    def wrong(self) -> bool:
        """True if the optimum has a row that the verdict excludes."""
        if self.verdict is Match.NONE:
            return self.optimum.true is Answer.POSSIBLE
        return self.verdict is Match.ALL and Answer.POSSIBLE in (self.optimum.false, self.optimum.null)


@dataclass(slots=True)
class Tally:
    """Counts of pairs of one family."""

    pairs: int = 0
    skippable: int = 0
    skipped: int = 0
    provable_all: int = 0
    proved_all: int = 0
    undecided: int = 0
    timed_out: int = 0

    def add(self, pair: Pair) -> None:
        """Count one pair."""
        none = pair.verdict is Match.NONE or pair.optimum.none_provable
        every = pair.verdict is Match.ALL or pair.optimum.all_provable
        self.pairs += 1
        self.skippable += none is True
        self.skipped += pair.verdict is Match.NONE
        self.provable_all += every is True
        self.proved_all += pair.verdict is Match.ALL
        self.timed_out += pair.open and pair.optimum.timed_out
        self.undecided += pair.open and not pair.optimum.timed_out


@dataclass(slots=True)
class Report:
    """The findings of a run."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    gaps: dict[str, list[Pair]] = field(default_factory=dict)  # by the shape of what is to blame
    open: dict[str, list[Pair]] = field(default_factory=dict)  # what the optimum leaves undecided
    wrong: list[Pair] = field(default_factory=list)

    def add(self, pair: Pair) -> None:
        """Count one pair in each of its families."""
        for family in families(pair.predicate):
            self.tallies.setdefault(family, Tally()).add(pair)
        if pair.open:
            self.open.setdefault(shape(pair.predicate), []).append(pair)
        if pair.wrong:
            self.wrong.append(pair)


def main() -> None:
    """Run, print, and fail where a verdict is wrong."""
    arguments = _arguments()
    console = Console(width=120)
    path: Path = TEXT_AND_TIME_PATH if arguments.text_and_time else arguments.set
    judging = witness_judge if arguments.text_and_time else partial(exact_judge, timeout_ms=arguments.timeout)
    cut = cut_case if arguments.pages else whole_case
    report = measure(path, judging, cut, every=arguments.every, sample=arguments.sample)
    console.print(_grid(report))
    text = "\n".join(_gap_lines(report, arguments.shown))
    if arguments.gaps is None:
        console.print(text, markup=False, highlight=False)
    else:
        arguments.gaps.write_text(text + "\n")
    for pair in report.wrong:
        console.print(f"WRONG {_describe_pair(pair)}", markup=False)
    faults = len(report.wrong)
    if arguments.spark:
        faults += compare_with_spark(path, arguments.every, console)
    sys.exit(1 if faults else 0)


class AnyJudge(Protocol):
    """A judge that computes the optimum of one predicate."""

    @property
    def expression(self) -> Expression:
        """The predicate."""

    def optimum(self, known: Mapping[str, CellFacts], *, hints: Iterable[Row] = ()) -> Optimum:
        """Return the truth values that rows within the bounds can give."""


Judging: TypeAlias = Callable[[Expression, str], AnyJudge]


def exact_judge(predicate: Expression, zone: str, *, timeout_ms: int = 2_000) -> AnyJudge:
    """Return the judge whose every answer is exact; it knows no zone."""
    return Judge(predicate, timeout_ms=timeout_ms)


def witness_judge(predicate: Expression, zone: str) -> AnyJudge:
    """Return the judge that looks for rows."""
    return WitnessJudge(predicate, zone)


def whole_case(case: TableCases) -> CutTable:
    """Return the table of a case with its own blocks."""
    return CutTable(case.table, case.facts, to_metadata(case.table, case.facts))


def cut_case(case: TableCases) -> CutTable:
    """Return the table of a case by runs of pages."""
    return cut_table(case.table)


def measure(
    path: Path, judging: Judging, cut: Callable[[TableCases], CutTable], *, every: int, sample: int
) -> Report:
    """Compare the rules with the optimum on each `sample`-th pair of each `every`-th table."""
    report = Report()
    ordinal = 0
    cases = [case for case in read(path, every=every) if case.table.rows]
    for case in track(cases, description="tables", disable=not sys.stderr.isatty()):
        blocks = cut(case)
        facts, metadata = blocks.facts, blocks.metadata
        for predicate in case.predicates:
            verdicts = classify_blocks(compile_predicate(predicate), metadata).to_pylist()
            judge, seen = judging(predicate, case.zone), dict[str, Optimum]()
            for block, verdict in enumerate(verdicts):
                ordinal += 1
                if ordinal % sample == 0:
                    hints = map(case.table.as_mapping, blocks.table.blocks[block])
                    known = known_of(case.table, facts[block], predicate)
                    pair = _pair(known, Match(verdict), judge, seen, hints)
                    report.add(pair)
                    if pair.gap is not None:
                        blamed = to_blame(pair, metadata.slice(block, 1), judging, case.zone)
                        report.gaps.setdefault(shape(blamed), []).append(replace(pair, blamed=blamed))
    return report


def to_blame(pair: Pair, metadata: pa.Table, judging: Judging, zone: str) -> Expression:
    """Return the smallest boolean part for which the rules allow a truth value that no row gives."""
    blamed, parts = pair.predicate, list(_boolean_parts(pair.predicate))
    while parts:
        part = parts.pop(0)
        if _loose(judging(part, zone), pair.known, metadata):
            blamed, parts = part, list(_boolean_parts(part))
    return blamed


def _boolean_parts(node: Expression) -> Iterator[Expression]:
    """Yield the booleans next below a node."""
    for child in children(node):
        if type_of(child) == BOOLEAN:
            yield child
        else:
            yield from _boolean_parts(child)


def _loose(judge: AnyJudge, known: dict[str, CellFacts], metadata: pa.Table) -> bool:
    part = judge.expression
    best = judge.optimum({name: known[name] for name in columns(part)})
    asked = ((part, best.true), (Not(part), best.false), (IsNull(part), best.null))
    return any(
        answer in (Answer.IMPOSSIBLE, Answer.NO_WITNESS)
        and classify_blocks(predicate, metadata)[0].as_py() != Match.NONE
        for predicate, answer in asked
    )


def compare_with_spark(path: Path, every: int, console: Console) -> int:
    """Count the verdicts that Spark contradicts, and print its speed without the first table."""
    pairs, faults, raised, began = 0, 0, 0, 0.0
    small = {"spark.master": "local[1]", "spark.driver.memory": "1g"}
    with spark_session(small) as spark:
        for ordinal, case in enumerate(read(path, every=every)):
            if ordinal == 1:
                began, pairs = time.perf_counter(), 0
            metadata = to_metadata(case.table, case.facts)
            answers = matches_per_block(spark, case.table, case.predicates, zone=case.zone)
            for predicate, counts in zip(case.predicates, answers, strict=True):
                if isinstance(counts, Raises):
                    raised += 1
                    continue
                verdicts = classify_blocks(predicate, metadata).to_pylist()
                pairs += len(verdicts)
                for verdict, block in zip(verdicts, counts, strict=True):
                    lost = verdict == Match.NONE and block.true
                    failing = verdict == Match.ALL and (block.false or block.null)
                    if lost or failing:
                        faults += 1
                        console.print(f"WRONG by Spark: {to_sql(predicate)}", markup=False)
    rate = pairs / (time.perf_counter() - began)
    console.print(f"{pairs:,} verdicts compared with Spark, {rate:,.0f} a second on one core once warm;")
    console.print(f"{faults} wrong; {raised} predicates raise and have no answer")
    return faults


def known_of(table: Table, block: BlockFacts, predicate: Expression) -> dict[str, CellFacts]:
    """Return the facts about each column of a predicate in a block, as the optimum takes them."""
    names = columns(predicate)
    return {
        column.name: CellFacts.of_counts(
            column.type,
            lower=facts.lower,
            upper=facts.upper,
            null_count=facts.null_count,
            nan_count=facts.nan_count,
            row_count=block.row_count,
        )
        for column, facts in zip(table.columns, block.columns, strict=True)
        if column.name in names
    }


def _pair(
    known: dict[str, CellFacts],
    verdict: Match,
    judge: AnyJudge,
    seen: dict[str, Optimum],
    hints: Iterable[Row],
) -> Pair:
    key = repr(known)
    if key not in seen:
        seen[key] = judge.optimum(known, hints=hints)
    return Pair(predicate=judge.expression, known=known, verdict=verdict, optimum=seen[key])


def _grid(report: Report) -> Grid:
    grid = Grid(title="tightness against the optimum")
    for heading in ("family", "pairs", "skippable", "skipped", "tightness %"):
        first = heading == "family"
        grid.add_column(heading, justify="left" if first else "right", no_wrap=first)
    for heading in ("provable ALL", "proved ALL", "tightness %", "undecided", "timed out"):
        grid.add_column(heading, justify="right")
    bars = (OVERALL, SINGLE_COLUMN, MULTI_COLUMN, PREFIX, TRUNCATION)
    barred = [name for name in bars if name in report.tallies]
    for name in (*barred, *sorted(set(report.tallies) - set(bars))):
        tally = report.tallies.get(name, Tally())
        counts = (tally.pairs, tally.skippable, tally.skipped, _percent(tally.skipped, tally.skippable))
        every = (tally.provable_all, tally.proved_all, _percent(tally.proved_all, tally.provable_all))
        doubts = (tally.undecided, _percent(tally.timed_out, tally.pairs) + " %")
        grid.add_row(name, *map(str, counts), *map(str, every), *map(str, doubts))
    return grid


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "-"


def _gap_lines(report: Report, shown: int) -> Iterator[str]:
    """Yield the shapes that left something provable unproved, most frequent first, with an example."""
    common = Counter({text: len(pairs) for text, pairs in report.gaps.items()}).most_common(shown)
    yield f"{sum(map(len, report.gaps.values()))} gaps of {len(report.gaps)} shapes"
    for text, count in common:
        yield f"{count:>6}  {text}"
        example = min(report.gaps[text], key=lambda pair: len(to_sql(pair.predicate)))
        yield f"        {to_sql(example.blamed or example.predicate)}"
        yield f"        in {_describe_pair(example)}"
    yield f"{sum(map(len, report.open.values()))} undecided or timed out, of {len(report.open)} shapes"
    for text, pairs in sorted(report.open.items(), key=lambda item: -len(item[1]))[:shown]:
        yield f"{len(pairs):>6}  {text}"
        yield f"        {_describe_pair(pairs[0])}"


def _describe_pair(pair: Pair) -> str:
    bounds = "; ".join(
        f"{name} {known.type} [{known.lower}, {known.upper}]"
        + " NULL" * known.may_null
        + " NaN" * known.may_nan
        + " no value" * (not known.may_value)
        for name, known in pair.known.items()
    )
    provable = f", provable {pair.gap}" if pair.gap else ""
    return f"{to_sql(pair.predicate)} | {bounds} | {pair.verdict.name}{provable}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text-and-time", action="store_true", help="the set of text and time")
    parser.add_argument("--pages", action="store_true", help="tables of one row group, by runs of pages")
    parser.add_argument("--set", type=Path, default=PATH, help="the set (default %(default)s)")
    parser.add_argument("--every", type=int, default=1, help="take each N-th table (default %(default)s)")
    parser.add_argument("--sample", type=int, default=24, help="take each N-th pair (default %(default)s)")
    parser.add_argument("--all", action="store_const", const=1, dest="sample", help="take every pair")
    parser.add_argument("--timeout", type=int, default=2_000, help="ms for the solver (default %(default)s)")
    parser.add_argument("--gaps", type=Path, help="write the gaps here instead of printing them")
    parser.add_argument("--shown", type=int, default=GAPS_SHOWN, help="shapes listed (default %(default)s)")
    parser.add_argument("--spark", action="store_true", help="compare all verdicts with Spark, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
