"""Findings as folders: the file, the question, both answers, and a script that asks the engine alone."""

import enum
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oracles.answers.contradictions import Oracle, contradiction, is_open
from oracles.files.counterfactual_files import stripped
from skipproof.stand.hunt.causes import cause
from skipproof.stand.hunt.examining import Write, ask_each, is_of_the_end, plain_form, pruned_form
from skipproof.stand.hunt.hunting import Finding, Hunt
from skipproof.stand.workers.workers import Asked, Hello
from strategies.engines.engine_questions import World
from strategies.engines.questions import Json

_SCRIPT = """\
# {engine} {version}: {verdict}. Run: python replay.py, with that version installed.
# {difference}
# Right, by {oracle}: {right}
{source}
for row in answer:
    print(row)
"""
# Who says what is right, as a script calls it.
_CALLED = {
    Oracle.ITSELF: "the engine with nothing to prune by, before LIMIT and OFFSET",
    Oracle.REFERENCE: "the reference",
}
_RIGHT_CHARACTERS_MAX = 1_000


class Blame(enum.Enum):
    """Where a contradiction goes away; the value is how it is called in a report."""

    STATISTICS = "right without statistics in the footer"
    FILE = "wrong without statistics in the footer too, right in memory"
    TABLE = "right in a plain table of the format"
    ENGINE = "wrong with nothing to prune by too: an answer that no choice of rows explains"
    UNSTEADY = "right when asked again"
    REFERENCE = "in both forms alike: the reference differs"
    PLAIN = "wrong only with nothing to prune by: the reference differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """A finding, asked again in every form."""

    finding: Finding
    blame: Blame
    source: str
    found: Json
    expected: Json
    seen: int


def confirm(worker: Asked, finding: Finding, *, seen: int = 1, write: Write) -> Confirmed:
    """Ask a finding's question again: of what can be pruned, of what cannot, of files with a bare footer.

    Args:
        seen: How many questions of the hunt failed like this.
    """
    world, question = finding.world, finding.outcome.question
    with TemporaryDirectory(prefix="skipproof-") as directory:
        pruned = {
            name: pruned_form(worker, table, Path(directory) / name, write)
            for name, table in world.tables.items()
        }
        plain = {name: plain_form(worker, table) for name, table in world.tables.items()}
        found, whole = (
            ask_each(worker, tables, world, [question], sources=True)[0] for tables in (pruned, plain)
        )
        blame = _blame(worker, finding, pruned, found=found, whole=whole)
        tables, wrong = (plain, whole) if blame is Blame.PLAIN else (pruned, found)
        if is_of_the_end(wrong):
            # The program ended with it.
            wrong = ask_each(worker, tables, world, [question], sources="only")[0]
    return Confirmed(
        finding=finding,
        blame=blame,
        source=wrong.get("source", "").replace(f"{directory}/", ""),
        found=finding.outcome.with_statistics,
        expected=finding.outcome.expected,
        seen=seen,
    )


def _blame(
    worker: Asked,
    finding: Finding,
    pruned: Mapping[str, Json],
    *,
    found: Mapping[str, Any],
    whole: Mapping[str, Any],
) -> Blame:
    """Where a contradiction goes away.

    Args:
        found, whole: What the engine says now of the pruned form, and of the plain one.
    """
    world, question = finding.world, finding.outcome.question
    expected = finding.outcome.expected["rows"]

    def is_right(answer: Mapping[str, Any]) -> bool:
        return "rows" in answer and contradiction(question, answer["rows"], expected) is None

    if _oracle(finding) is Oracle.REFERENCE and not is_right(whole):
        return Blame.PLAIN if is_right(found) else Blame.REFERENCE
    if is_right(found) or _oracle(finding) is Oracle.REFERENCE:
        return Blame.UNSTEADY
    if is_open(question) and not is_right(whole):
        return Blame.ENGINE
    if worker.hello.tables == "own":
        return Blame.TABLE
    bare = ask_each(worker, _stripped(pruned), world, [question])[0]
    return Blame.STATISTICS if is_right(bare) else Blame.FILE


def _oracle(finding: Finding) -> Oracle:
    assert finding.outcome.contradiction is not None
    return finding.outcome.contradiction.oracle


def confirm_each(worker: Asked, hunt: Hunt, *, write: Write) -> tuple[Confirmed, ...]:
    """The findings of a hunt, each asked again."""
    return tuple(
        confirm(worker, finding, seen=1 + hunt.again[ordinal], write=write)
        for ordinal, finding in enumerate(hunt.findings)
    )


def _stripped(pruned: Mapping[str, Json]) -> dict[str, Json]:
    """The same tables with no statistics in the footers of their files, which lie beside the others."""
    without = {}
    for name, table in pruned.items():
        levels = len(table["partitions"][0]) if table.get("partitions") else 0
        base = Path(table["files"][0]).parents[levels]
        files = []
        for path in table["files"]:
            bare = base.with_name(f"{name}-stripped") / Path(path).relative_to(base)
            bare.parent.mkdir(parents=True, exist_ok=True)
            files.append(str(stripped(Path(path), bare)))
        without[name] = table | {"files": files}
    return without


def save(worker: Asked, confirmed: Confirmed, folder: Path, *, write: Write) -> None:
    """Write a finding's folder, beside its place first, so that none is ever half there."""
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    world = confirmed.finding.world
    for name, table in world.tables.items():
        pruned_form(worker, table, beside / name, write)
    for name, content in described(worker, confirmed).items():
        (beside / name).write_text(content, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def place(directory: Path, hello: Hello) -> Path:
    """Where the findings of an engine are kept."""
    return directory / f"{hello.engine}-{hello.version}"


def described(worker: Asked, confirmed: Confirmed) -> dict[str, str]:
    """The texts of a finding's folder, by file name."""
    finding = confirmed.finding
    texts = {
        "finding.json": _json(summary(worker.hello, confirmed)),
        "question.json": _json(asked(finding.world)),
        "actual.json": _json(confirmed.found),
        "expected.json": _json(confirmed.expected),
    }
    if confirmed.source:
        assert finding.outcome.contradiction is not None
        texts["replay.py"] = _SCRIPT.format(
            engine=worker.hello.engine,
            version=worker.hello.version,
            verdict=finding.outcome.contradiction.verdict.value,
            difference=" ".join(finding.outcome.contradiction.difference.splitlines()),
            oracle=_CALLED[_oracle(finding)],
            right=_in_one_line(confirmed.expected["rows"]),
            source=confirmed.source,
        )
    return texts


def summary(hello: Hello, confirmed: Confirmed) -> dict[str, Any]:
    """A finding in JSON, without its rows."""
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
        "cause": sorted(cause(finding.traits)),
        "traits": sorted(finding.traits),
        "seed": finding.seed,
        "examples": finding.examples,
        "seconds": round(finding.seconds, 1),
        "seen": confirmed.seen,
        "settings": dict(finding.world.settings),
    }


def asked(world: World) -> dict[str, Any]:
    """What a finding was asked, in JSON."""
    return {
        "question": world.questions[0].json(),
        "tables": {name: table.json for name, table in world.tables.items()},
        "layouts": {name: str(table.layout) for name, table in world.tables.items()},
        "settings": dict(world.settings),
    }


def _in_one_line(rows: Sequence[Json]) -> str:
    text = json.dumps(rows)
    return text if len(text) <= _RIGHT_CHARACTERS_MAX else f"{text[:_RIGHT_CHARACTERS_MAX]} ..."


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def folder_names(found: Sequence[Confirmed]) -> list[str]:
    """A name for the folder of each finding."""
    return [
        f"{ordinal:02}-{one.finding.outcome.question.area}-{_verdict(one).replace(' ', '-')}"
        for ordinal, one in enumerate(found, start=1)
    ]


def _verdict(confirmed: Confirmed) -> str:
    assert confirmed.finding.outcome.contradiction is not None
    return confirmed.finding.outcome.contradiction.verdict.value
