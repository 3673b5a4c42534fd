"""Runs one part of a hunt, and reports its findings as text."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.findings import (
    ConfirmedFinding,
    blame_text,
    confirm_all,
    engine_folder,
    folder_names,
    save_finding,
)
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.part import Part
from skipproof.stand.hunt.writing import available_writers, make_write
from skipproof.stand.workers.workers import Hello, Worker

SECONDS_MAX = 300.0
FINDINGS_MAX = 3
SECONDS_TO_SHRINK = 15.0
TEXT_MAX = 4_000
# The result of a part whose class of questions the engine does not answer.
UNASKED = "unasked"


def hunt_part(worker: Worker, part: Part) -> str:
    """Run a part of a hunt.

    Returns:
        The report of the failure; empty if there is none, `UNASKED` if the engine does not answer the class.
    Raises:
        WorkerError: the engine ended and does not start again.
    """
    if part.area not in worker.hello.areas:
        return UNASKED
    workers = {worker.hello.engine: worker}
    capabilities_of_part = capabilities(worker, areas=(part.area,), writers=available_writers(workers))
    limits = Limits(
        examples=part.examples,
        seconds=SECONDS_MAX,
        findings=FINDINGS_MAX,
        seconds_to_shrink=SECONDS_TO_SHRINK,
    )
    write = make_write(workers)
    state = hunt(worker, capabilities_of_part, limits, hunt_seed=part.seed, write=write)
    if state.findings:
        return "\n\n".join(_finding_reports(worker, part, state, write))
    return _report_shortfall(worker.hello, part, state)


def _report_shortfall(hello: Hello, part: Part, state: Hunt) -> str:
    """Warn if the time allowed fewer questions than the part has; return a failure if it allowed none."""
    if state.examples >= part.examples:
        return ""
    sentence = (
        f"{hello.engine} {hello.version}: {state.examples} of {part.examples} questions, {SECONDS_MAX:g} s"
    )
    refusals = "; ".join(f"{count} times {why}" for why, count in state.refused.most_common(3))
    sentence += f"; refused: {refusals}" if refusals else ""
    if not state.examples:
        return sentence
    warnings.warn(sentence, stacklevel=2)
    return ""


def _finding_reports(worker: Worker, part: Part, state: Hunt, write: Write) -> Iterator[str]:
    """Confirm the findings, save them if asked, and yield their reports."""
    confirmed = confirm_all(worker, state, write=write)
    for name, finding in zip(folder_names(confirmed), confirmed, strict=True):
        folder = None
        if part.findings is not None:
            folder = engine_folder(part.findings, worker.hello) / f"seed-{part.seed}-{name}"
            save_finding(worker, finding, folder, write=write)
        yield _finding_report(worker.hello, finding, folder)


def _finding_report(hello: Hello, confirmed: ConfirmedFinding, folder: Path | None) -> str:
    """Return the report of a finding as text."""
    finding, world = confirmed.finding, confirmed.finding.world
    contradiction = finding.outcome.contradiction
    assert contradiction is not None
    tables = {name: table.json for name, table in world.tables.items()}
    lines = [
        f"{hello.engine} {hello.version} contradicts {contradiction.oracle.value}: "
        f"{contradiction.verdict.value}",
        f"  difference    {contradiction.difference}",
        f"  goes away     {blame_text(confirmed)}",
        f"  like this     {confirmed.count} of the questions asked",
        f"  question      {_cut_text(json.dumps(world.questions[0].json()))}",
        f"  tables        {_cut_text(json.dumps(tables))}",
        f"  layouts       {', '.join(f'{name}: {table.layout}' for name, table in world.tables.items())}",
        f"  settings      {dict(world.settings)}",
        f"  folder        {folder or 'none; --skipproof-findings DIRECTORY writes one, with the files'}",
    ]
    if confirmed.source:
        lines += ["  program", *(f"    {line}" for line in _cut_text(confirmed.source).splitlines())]
    return "\n".join(lines)


def _cut_text(text: str) -> str:
    """Return a text, cut if it is long."""
    return (
        text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]} ... ({len(text) - TEXT_MAX} characters more)"
    )
