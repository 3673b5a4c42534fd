"""Runs one part of a hunt, and says as text what it finds."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.findings import Confirmed, confirm_each, folder_names, place, save
from skipproof.stand.hunt.hunting import Hunt, Limits, able, hunt
from skipproof.stand.hunt.part import Part
from skipproof.stand.hunt.writing import writers, writing
from skipproof.stand.workers.workers import Hello, Worker

SECONDS_MAX = 300.0
FINDINGS_MAX = 3
SECONDS_TO_SHRINK = 15.0
TEXT_MAX = 4_000
# The engine does not answer the class.
UNASKED = "unasked"


def hunted(worker: Worker, part: Part) -> str:
    """Ask what a part asks.

    Returns:
        What is wrong; empty where nothing is, `UNASKED` where the engine is not asked.
    Raises:
        WorkerError: the engine ended and does not start again.
    """
    if part.area not in worker.hello.areas:
        return UNASKED
    workers = {worker.hello.engine: worker}
    what = able(worker, areas=(part.area,), writers=writers(workers))
    limits = Limits(
        examples=part.examples,
        seconds=SECONDS_MAX,
        findings=FINDINGS_MAX,
        seconds_to_shrink=SECONDS_TO_SHRINK,
    )
    write = writing(workers)
    found = hunt(worker, what, limits, seed_first=part.seed, write=write)
    if found.findings:
        return "\n\n".join(_told(worker, part, found, write))
    return _shortfall(worker.hello, part, found)


def _shortfall(hello: Hello, part: Part, found: Hunt) -> str:
    """Fewer questions than were due, in the time that there was; none at all are a failure."""
    if found.examples >= part.examples:
        return ""
    said = f"{hello.engine} {hello.version}: {found.examples} of {part.examples} questions, {SECONDS_MAX:g} s"
    refusals = "; ".join(f"{count} times {why}" for why, count in found.refused.most_common(3))
    said += f"; refused: {refusals}" if refusals else ""
    if not found.examples:
        return said
    warnings.warn(said, stacklevel=2)
    return ""


def _told(worker: Worker, part: Part, found: Hunt, write: Write) -> Iterator[str]:
    confirmed = confirm_each(worker, found, write=write)
    for name, one in zip(folder_names(confirmed), confirmed, strict=True):
        folder = None
        if part.findings is not None:
            folder = place(part.findings, worker.hello) / f"seed-{part.seed}-{name}"
            save(worker, one, folder, write=write)
        yield _text(worker.hello, one, folder)


def _text(hello: Hello, one: Confirmed, folder: Path | None) -> str:
    """A finding, as a failure shows it."""
    finding, world = one.finding, one.finding.world
    contradiction = finding.outcome.contradiction
    assert contradiction is not None
    tables = {name: table.json for name, table in world.tables.items()}
    lines = [
        f"{hello.engine} {hello.version} contradicts {contradiction.oracle.value}: "
        f"{contradiction.verdict.value}",
        f"  difference    {contradiction.difference}",
        f"  goes away     {one.blame.value}",
        f"  like this     {one.seen} of the questions asked",
        f"  question      {_shortened(json.dumps(world.questions[0].json()))}",
        f"  tables        {_shortened(json.dumps(tables))}",
        f"  layouts       {', '.join(f'{name}: {table.layout}' for name, table in world.tables.items())}",
        f"  settings      {dict(world.settings)}",
        f"  folder        {folder or 'none; --skipproof-findings DIRECTORY writes one, with the files'}",
    ]
    if one.source:
        lines += ["  program", *(f"    {line}" for line in _shortened(one.source).splitlines())]
    return "\n".join(lines)


def _shortened(text: str) -> str:
    return (
        text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]} ... ({len(text) - TEXT_MAX} characters more)"
    )
