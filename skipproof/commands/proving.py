"""`skipproof prove`: proofs of rules and of what a predicate compiles to, and how they are shown."""

import json
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from oracles.meaning.numbers import NoSecondOpinion
from pruning.errors import InputError
from pruning.expressions.trees import Expression
from pruning.expressions.types import Type
from skipproof import sessions
from skipproof.commands.endings import FAILED, HELD, VIOLATED
from skipproof.commands.inputs import NamedTable
from skipproof.proofs.axioms import AXIOMS
from skipproof.proofs.catalogue import Selection, rule_name, select, statements
from skipproof.proofs.generic_mutants import GENERIC_MUTANTS
from skipproof.proofs.running import MutantFate, ProofReport, ProofVerdict, prove_predicate, run_proofs

CLAIM = (
    "Of all blocks and all rows: the value of the expression lies in its range, each truth value "
    "that it takes is said to be possible, and what the rules narrow an operand to holds the operand's value."
)
PREDICATE_CLAIM = (
    "Of all blocks and all rows: the program says of each truth value that the predicate takes that it is "
    "possible. So no row of a block called NONE matches, and every row of a block called ALL does."
)
PREMISES = (
    "A row's value is not below a lower bound that is known, nor above an upper one; it is NULL, NaN or "
    "neither only where the block's metadata says that some row may be."
)
# More proofs than these are shown as a line for each family.
_SHOWN_SINGLY_MAX = 150
_LABEL_WIDTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRun:
    """Proofs that were asked for together.

    Attributes:
        title: What was asked for.
        claim: What each proof shows.
        rules: What the rules state, by their names; empty for a predicate.
        reports: What came of each proof.
        seconds: The time that all of it took, the mutants included.
        limit_seconds: The time that each proof was given.
    """

    title: str
    claim: str
    rules: dict[str, list[dict[str, str]]]
    reports: tuple[ProofReport, ...]
    seconds: float
    limit_seconds: float

    @property
    def status(self) -> int:
        """The exit status: a refuted claim is a violation, one that was not decided a run that failed."""
        verdicts = {report.verdict for report in self.reports}
        if ProofVerdict.REFUTED in verdicts:
            return VIOLATED
        return FAILED if ProofVerdict.UNKNOWN in verdicts else HELD

    @property
    def axioms(self) -> dict[str, str]:
        """The axioms that the proofs assume, by name."""
        names = {name for report in self.reports for name in report.axioms}
        return {name: sentence for name, sentence in AXIOMS.items() if name in names}

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON holds it."""
        return {
            "title": self.title,
            "claim": self.claim,
            "premises": PREMISES,
            "rules": self.rules,
            "axioms": self.axioms,
            "proofs": [report.to_dict() for report in self.reports],
            "verdicts": dict(Counter(report.verdict.value for report in self.reports)),
            "seconds": round(self.seconds, 3),
        }


def prove_rules(name: str | None, *, seconds: float, step: Callable[[str, int, int], None]) -> ProofRun:
    """Run the proofs of a rule, a family, one subject, or of all where no name is given.

    Args:
        name: As of `catalogue.select`.
        seconds: The time for each proof.
        step: Told what is proved next, how many proofs are done, and of how many.

    Raises:
        InputError: nothing has the name.
    """
    selection = select(name)
    began = time.monotonic()
    reports: list[ProofReport] = []
    for report in run_proofs(selection, seconds=seconds):
        reports.append(report)
        step(report.name, len(reports), len(selection.subjects))
    return ProofRun(
        title=_title(selection),
        claim=CLAIM,
        rules={
            rule_name(key): [_statement_dict(part) for part in statements(key)] for key in selection.rules
        },
        reports=tuple(reports),
        seconds=time.monotonic() - began,
        limit_seconds=seconds,
    )


def prove_program(sql: str, *, columns: str | None, table: str | None, seconds: float) -> ProofRun:
    """Prove the program that a predicate in SQL compiles to.

    Args:
        columns: The columns and their types, as in CREATE TABLE.
        table: NAME=PATH: Parquet whose columns the predicate is over.
        seconds: The time for the proof.

    Raises:
        InputError: there is no PySpark or no Java; the predicate or the columns cannot be read; or a part of
            the predicate has no symbolic meaning.
    """
    if (columns is None) is (table is None):
        raise InputError(
            '--predicate: give its columns either by --columns "a int, b string" or by --table NAME=PATH.'
        )
    predicate = _parse_predicate(sql, columns, None if table is None else NamedTable.parse(table))
    began = time.monotonic()
    try:
        report = prove_predicate(predicate, seconds=seconds)
    except NoSecondOpinion as error:
        raise InputError(f"--predicate {sql}: it cannot be proved as a whole, because {error}.") from error
    return ProofRun(
        title=f"predicate {sql}",
        claim=PREDICATE_CLAIM,
        rules={},
        reports=(report,),
        seconds=time.monotonic() - began,
        limit_seconds=seconds,
    )


def _title(selection: Selection) -> str:
    count = len(selection.subjects)
    return f"{selection.title}: {count:,} {'proof' if count == 1 else 'proofs'}"


def _statement_dict(statement: Any) -> dict[str, str]:
    return {"part": statement.part, "claim": statement.claim, "premises": statement.premises}


def _parse_predicate(sql: str, columns: str | None, table: NamedTable | None) -> Expression:
    """Return the predicate as Spark reads it."""
    with sessions.spark_session() as spark:
        from pruning.metadata.footers.other_columns import other_columns_of
        from pruning.metadata.table.schema import column_types
        from pruning.spark.drive.predicates import blocks_of, parse

        if table is not None:
            metadata = blocks_of(table.path)
            return parse(sql, column_types(metadata), other_columns_of(metadata.schema))
        assert columns is not None
        types, others = _parse_columns(columns, spark)
        return parse(sql, types, others)


def _parse_columns(columns: str, spark: Any) -> tuple[dict[str, Type], dict[str, Any]]:
    """Parse columns as in CREATE TABLE: return those of a known type, the others in Spark's JSON."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    from pruning.spark.jvm.datatypes import type_of_field

    try:
        written = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(columns).json()
    except (PySparkException, Py4JJavaError) as error:
        raise InputError(
            f'--columns {columns}: write it as in CREATE TABLE, for example "a int, b string".'
        ) from error
    fields = json.loads(written)["fields"]
    types = {field["name"]: type_of_field(field) for field in fields}
    known_types = {name: type_ for name, type_ in types.items() if type_.has_bounds}
    return known_types, {field["name"]: field["type"] for field in fields if field["name"] not in known_types}


def show(out: Console, run: ProofRun) -> None:
    """Print proofs for people."""
    out.print(escape(run.title), style="bold", soft_wrap=True)
    _show_lines(out, [("claim", run.claim), ("premises", PREMISES)])
    for rule, parts in run.rules.items() if len(run.reports) <= _SHOWN_SINGLY_MAX else ():
        for part in parts:
            premises = f" Premises: {part['premises']}" if part["premises"] else ""
            _show_lines(out, [(f"{rule}", f"{part['part']}: {part['claim']}{premises}")])
    if run.reports:
        out.print(_table(run.reports))
    _show_lines(out, [("axiom", f"{name}: {sentence}") for name, sentence in run.axioms.items()])
    _show_lines(out, [("mutants", sentence) for sentence in _mutant_sentences(run.reports)])
    for report in run.reports:
        for failure in report.failures:
            verdict = "REFUTED" if failure.decided else "not decided"
            out.print(
                f"{escape(report.name)}, {escape(failure.claim)}: {verdict}: {escape(failure.detail)}",
                style="red",
                soft_wrap=True,
            )
    out.print(_summary(run), style="bold green" if run.status == HELD else "bold red", soft_wrap=True)


def _show_lines(out: Console, lines: Iterable[tuple[str, str]]) -> None:
    for label, text in lines:
        wrapped = textwrap.fill(
            f"{label:{_LABEL_WIDTH - 1}} {text}",
            width=out.width,
            subsequent_indent=" " * _LABEL_WIDTH,
            break_long_words=False,
            break_on_hyphens=False,
        )
        out.print(escape(wrapped), soft_wrap=True)


def _table(reports: Sequence[ProofReport]) -> Table:
    singly = len(reports) <= _SHOWN_SINGLY_MAX
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("proof" if singly else "family", overflow="fold")
    for name in ("proofs",) if not singly else ():
        table.add_column(name, justify="right")
    for name in ("claims", "operations", "seconds", "mutants refuted"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    if singly:
        for report in reports:
            table.add_row(escape(report.name), *_figures([report]), report.verdict.value)
        return table
    for family, group in groupby(reports, key=lambda report: report.name.partition(":")[0]):
        of_family = list(group)
        verdicts = Counter(report.verdict.value for report in of_family)
        table.add_row(
            family,
            f"{len(of_family):,}",
            *_figures(of_family),
            ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.items()),
        )
    return table


def _figures(reports: Sequence[ProofReport]) -> tuple[str, ...]:
    refuted = sum(fate is MutantFate.REFUTED for report in reports for fate in report.mutants.values())
    changed = sum(fate is not MutantFate.UNCHANGED for report in reports for fate in report.mutants.values())
    return (
        f"{sum(report.claims for report in reports):,}",
        f"{sum(report.operations for report in reports):,}",
        f"{sum(report.seconds for report in reports):,.2f}",
        f"{refuted:,} of {changed:,}",
    )


def _mutant_sentences(reports: Sequence[ProofReport]) -> Iterator[str]:
    """Sentences that name the generic mutants: those refuted, with the number of proofs, and the others."""
    fates = {
        mutant.__name__: Counter(report.mutants[mutant.__name__] for report in reports if report.mutants)
        for mutant in GENERIC_MUTANTS
    }
    for fate, words in (
        (MutantFate.REFUTED, "refuted"),
        (MutantFate.SURVIVED, "not refuted"),
        (MutantFate.UNCHANGED, "not tried, because the program stays the same"),
    ):
        counts = {name: count[fate] for name, count in fates.items() if count[fate]}
        names = [name if len(reports) == 1 else f"{name} {count:,}" for name, count in counts.items()]
        if names:
            yield f"{words}: {', '.join(names)}"


def _summary(run: ProofRun) -> str:
    verdicts = Counter(report.verdict for report in run.reports)
    proofs = f"{verdicts[ProofVerdict.PROVED]:,} of {len(run.reports):,} proved"
    refuted, unknown = verdicts[ProofVerdict.REFUTED], verdicts[ProofVerdict.UNKNOWN]
    more = [f"{refuted:,} refuted"] if refuted else []
    more += [f"{unknown:,} not decided within {run.limit_seconds:g} s each"] if unknown else []
    return f"{', '.join([proofs, *more])}, in {run.seconds:.1f} s with the mutants"
