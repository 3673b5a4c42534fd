"""Findings as folders: the files, the question, both answers, and a script that runs the engine alone."""

import enum
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from oracles.answers.contradictions import Oracle, find_contradiction, has_several_answers
from oracles.files.counterfactual_files import write_stripped
from skipproof.stand.hunt.causes import cause
from skipproof.stand.hunt.examining import Write, ask_each, is_worker_end, plain_form, pruned_form
from skipproof.stand.hunt.grouping import find_causes
from skipproof.stand.hunt.races import RaceCount, asker, find_disagreement, is_asked_again
from skipproof.stand.hunt.state import Finding, Hunt
from skipproof.stand.hunt.writing import writer_releases
from skipproof.stand.workers.workers import EngineClient, Hello
from strategies.engines.engine_tables import ORC
from strategies.engines.questions import Json
from strategies.engines.worlds import World

_SCRIPT = """\
# {engine} {version}: {verdict}. Run: python replay.py, with that version installed.
# {difference}
# Right, by {oracle}: {right}{doubt}
{source}
for row in answer:
    print(row)
"""
# The names of oracles in scripts.
_ORACLE_NAMES = {
    Oracle.ITSELF: "the engine with nothing to prune by, before LIMIT and OFFSET",
    Oracle.REFERENCE: "the reference",
}
_RIGHT_CHARACTERS_MAX = 1_000


class Blame(enum.Enum):
    """The condition under which a contradiction goes away; the value is its text in a report."""

    STATISTICS = "right without statistics in the footer"
    FILE = "wrong without statistics in the footer too, right in memory"
    ORC = "wrong in ORC files, right in memory"
    TABLE = "right in a plain table of the format"
    MEMORY = "wrong in a table of the format, right in memory"
    ENGINE = "wrong with nothing to prune by too: an answer that no choice of rows explains"
    RACE = "right with one thread, and at times with several"
    UNSTEADY = "right when asked again"
    REFERENCE = "in both forms alike: the reference differs"
    PLAIN = "wrong only with nothing to prune by: the reference differs"
    UNKNOWN = "not known: asked again, an answer to compare with is an error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedFinding:
    """A finding whose question was asked again in every form.

    Attributes:
        count: The number of failures like it.
        cause: What the findings of its cause have in common; empty if they were not grouped.
        cures: The variations of its world that make the answer right.
        others: The other findings of its cause.
        race: How often its answer is wrong, if it is not always.
    """

    finding: Finding
    blame: Blame
    source: str
    actual: Json
    expected: Json
    count: int
    cause: frozenset[str] = frozenset()
    cures: tuple[str, ...] = ()
    others: tuple[Finding, ...] = ()
    race: RaceCount | None = None


def confirm(worker: EngineClient, finding: Finding, *, count: int = 1, write: Write) -> ConfirmedFinding:
    """Ask a finding's question again over the pruned form, the plain form, and files without statistics.

    Args:
        count: The number of questions of the hunt that failed like this.
    """
    world = finding.world
    with TemporaryDirectory(prefix="skipproof-") as directory:
        pruned = {
            name: pruned_form(worker, table, Path(directory) / name, write)
            for name, table in world.tables.items()
        }
        plain = {name: plain_form(worker, table) for name, table in world.tables.items()}
        actual, whole = (_ask_alone(worker, tables, finding, sources=True) for tables in (pruned, plain))
        forms = plain if _oracle(finding) is Oracle.REFERENCE else pruned
        race = _count_race(worker, finding, forms)
        if race is not None and race.is_race:
            blame = Blame.RACE
        else:
            blame = _find_blame(worker, finding, pruned, actual=actual, whole=whole)
        tables, wrong = (plain, whole) if blame is Blame.PLAIN else (pruned, actual)
        if is_worker_end(wrong):
            # The answer has no program, because the worker ended: ask for the program alone.
            wrong = _ask_alone(worker, tables, finding, sources="only")
    return ConfirmedFinding(
        finding=finding,
        blame=blame,
        source=wrong.get("source", "").replace(f"{directory}/", ""),
        actual=_steady_rows(blame, wrong) or finding.outcome.with_statistics,
        expected=finding.outcome.expected,
        count=count,
        race=race,
    )


def _steady_rows(blame: Blame, answer: Mapping[str, Any]) -> Json:
    """Return the rows of an answer as JSON; None if the next answer may have others."""
    is_steady = "rows" in answer and blame not in (Blame.RACE, Blame.UNSTEADY)
    return {"rows": answer["rows"]} if is_steady else None


def _count_race(worker: EngineClient, finding: Finding, forms: Mapping[str, Json]) -> RaceCount | None:
    """Count how often a finding is wrong over some forms of its tables; None if it always is."""
    if not is_asked_again(finding.outcome):
        return None
    alone = replace(finding.world, questions=(finding.outcome.question,))
    return find_disagreement(worker.hello, alone, asker(worker, forms, finding.outcome.expected["rows"]))


def _find_blame(
    worker: EngineClient,
    finding: Finding,
    pruned: Mapping[str, Json],
    *,
    actual: Mapping[str, Any],
    whole: Mapping[str, Any],
) -> Blame:
    """Return the condition under which a contradiction goes away.

    Args:
        actual, whole: The engine's new answers over the pruned form and over the plain form.
    """
    question = finding.outcome.question
    expected = finding.outcome.expected["rows"]

    def is_right(answer: Mapping[str, Any]) -> bool:
        return "rows" in answer and find_contradiction(question, answer["rows"], expected) is None

    if "rows" not in whole:
        return Blame.UNKNOWN
    if _oracle(finding) is Oracle.REFERENCE and not is_right(whole):
        return Blame.PLAIN if is_right(actual) else Blame.REFERENCE
    if is_right(actual) or _oracle(finding) is Oracle.REFERENCE:
        return Blame.UNSTEADY
    if has_several_answers(question) and not is_right(whole):
        return Blame.ENGINE
    if worker.hello.tables == "own":
        return Blame.TABLE if worker.hello.reader in ("", worker.hello.engine) else Blame.MEMORY
    parquet = {name: table for name, table in pruned.items() if table.get("format") != ORC}
    if not parquet:
        return Blame.ORC
    bare = _ask_alone(worker, {**pruned, **_strip_statistics(parquet)}, finding)
    if "rows" in actual and "rows" not in bare:
        return Blame.UNKNOWN
    if is_right(bare):
        return Blame.STATISTICS
    return Blame.FILE if len(parquet) == len(pruned) else Blame.ORC


def _ask_alone(
    worker: EngineClient,
    tables: Mapping[str, Json],
    finding: Finding,
    *,
    sources: bool | Literal["only"] = False,
) -> dict[str, Any]:
    """Ask a finding's question, and again if the worker ends: it may end because of an earlier question."""
    question = finding.outcome.question
    (answer,) = ask_each(worker, tables, finding.world, [question], sources=sources)
    if is_worker_end(answer):
        (answer,) = ask_each(worker, tables, finding.world, [question], sources=sources)
    return answer


def _oracle(finding: Finding) -> Oracle:
    """Return the oracle that contradicts a finding's answer."""
    assert finding.outcome.contradiction is not None
    return finding.outcome.contradiction.oracle


def confirm_all(worker: EngineClient, hunt: Hunt, *, write: Write) -> tuple[ConfirmedFinding, ...]:
    """Confirm the smallest finding of each cause of a hunt."""
    return tuple(
        replace(
            confirm(worker, group.finding, count=group.count, write=write),
            cause=group.traits,
            cures=tuple(cure.name for cure in group.signature.cures),
            others=group.others,
        )
        for group in find_causes(worker, hunt, write=write)
    )


def _strip_statistics(pruned: Mapping[str, Json]) -> dict[str, Json]:
    """Write the Parquet files of tables again without statistics in their footers; return these tables."""
    without = {}
    for name, table in pruned.items():
        levels = len(table["partitions"][0]) if table.get("partitions") else 0
        base = Path(table["files"][0]).parents[levels]
        files = []
        for path in table["files"]:
            bare = base.with_name(f"{name}-stripped") / Path(path).relative_to(base)
            bare.parent.mkdir(parents=True, exist_ok=True)
            files.append(str(write_stripped(Path(path), bare)))
        without[name] = table | {"files": files}
    return without


def save_finding(worker: EngineClient, confirmed: ConfirmedFinding, folder: Path, *, write: Write) -> None:
    """Write the folder of a finding atomically, by renaming a temporary folder beside it."""
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    world = confirmed.finding.world
    for name, table in world.tables.items():
        pruned_form(worker, table, beside / name, write)
    for name, content in folder_texts(worker, confirmed).items():
        (beside / name).write_text(content, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def engine_folder(directory: Path, hello: Hello) -> Path:
    """Return the folder of an engine's findings."""
    return directory / f"{hello.engine}-{hello.version}"


def folder_texts(worker: EngineClient, confirmed: ConfirmedFinding) -> dict[str, str]:
    """Return the texts of a finding's folder by file name."""
    finding = confirmed.finding
    texts = {
        "finding.json": _json_text(finding_summary(worker.hello, confirmed)),
        "question.json": _json_text(question_dict(finding.world)),
        "actual.json": _json_text(confirmed.actual),
        "expected.json": _json_text(confirmed.expected),
    }
    if confirmed.source:
        assert finding.outcome.contradiction is not None
        texts["replay.py"] = _SCRIPT.format(
            engine=worker.hello.engine,
            version=worker.hello.version,
            verdict=finding.outcome.contradiction.verdict.value,
            difference=" ".join(finding.outcome.contradiction.difference.splitlines()),
            oracle=_ORACLE_NAMES[_oracle(finding)],
            right=_one_line(confirmed.expected["rows"]),
            doubt=f"\n# But {doubt}." if (doubt := _doubt(confirmed)) else "",
            source=confirmed.source,
        )
    return texts


def finding_summary(hello: Hello, confirmed: ConfirmedFinding) -> dict[str, Any]:
    """Return a finding in JSON, without its rows."""
    finding = confirmed.finding
    assert finding.outcome.contradiction is not None
    return {
        "engine": hello.engine,
        "version": hello.version,
        "area": finding.outcome.question.area,
        "verdict": finding.outcome.contradiction.verdict.value,
        "difference": finding.outcome.contradiction.difference,
        "oracle": finding.outcome.contradiction.oracle.value,
        "blame": confirmed.blame.value,
        "race": "" if confirmed.race is None else str(confirmed.race),
        "no_opinion": finding.outcome.no_opinion,
        "cause": sorted(confirmed.cause or cause(finding.traits)),
        "traits": sorted(finding.traits),
        "seed": finding.seed,
        "examples": finding.examples,
        "seconds": round(finding.seconds, 1),
        "seen": confirmed.count,
        "settings": dict(finding.world.settings),
        "writers": writer_releases(finding.world, hello),
        "cures": list(confirmed.cures),
        "others": [_other_dict(other) for other in confirmed.others],
    }


def _other_dict(other: Finding) -> dict[str, Any]:
    """Return another finding of a cause in JSON: its place in the hunt, its question and its tables."""
    assert other.outcome.contradiction is not None
    return {
        "area": other.outcome.question.area,
        "verdict": other.outcome.contradiction.verdict.value,
        "difference": other.outcome.contradiction.difference,
        "seed": other.seed,
        "examples": other.examples,
        **question_dict(other.world),
    }


def question_dict(world: World) -> dict[str, Any]:
    """Return the question of a finding, its tables and its settings in JSON."""
    return {
        "question": world.questions[0].json(),
        "tables": {name: table.json for name, table in world.tables.items()},
        "layouts": {name: str(table.layout) for name, table in world.tables.items()},
        "settings": dict(world.settings),
    }


def _one_line(rows: Sequence[Json]) -> str:
    """Return rows in one line, cut if it is long."""
    text = json.dumps(rows)
    return text if len(text) <= _RIGHT_CHARACTERS_MAX else f"{text[:_RIGHT_CHARACTERS_MAX]} ..."


def _json_text(content: object) -> str:
    """Return JSON as the text of a file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def blame_text(confirmed: ConfirmedFinding) -> str:
    """Return where a finding goes away, how often it is wrong, and whether the other form may be wrong."""
    text = confirmed.blame.value + ("" if confirmed.race is None else f" ({confirmed.race})")
    return f"{text}; but {doubt}" if (doubt := _doubt(confirmed)) else text


def _doubt(confirmed: ConfirmedFinding) -> str:
    """Return why the answer that contradicts a finding may itself be the wrong one, or empty."""
    reason = confirmed.finding.outcome.no_opinion
    return f"the reference has no opinion ({reason}), so that either form may be wrong" if reason else ""


def folder_names(findings: Sequence[ConfirmedFinding]) -> list[str]:
    """Return the name of the folder of each finding."""
    return [
        f"{ordinal:02}-{finding.finding.outcome.question.area}-{_verdict_text(finding).replace(' ', '-')}"
        for ordinal, finding in enumerate(findings, start=1)
    ]


def _verdict_text(confirmed: ConfirmedFinding) -> str:
    """Return the verdict of a finding."""
    assert confirmed.finding.outcome.contradiction is not None
    return confirmed.finding.outcome.contradiction.verdict.value
