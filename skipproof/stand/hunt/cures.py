"""The switches of an engine that cure a finding: set otherwise, the engine's answer is right."""

from collections.abc import Iterator
from dataclasses import replace

from skipproof.stand.hunt.examining import Write, examine
from skipproof.stand.hunt.hunting import Finding
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.engine_questions import World


def find_cures(worker: EngineClient, finding: Finding, *, write: Write) -> tuple[str, ...]:
    """Return the switches, as `name=value`, each of which alone makes the answer of a finding right."""
    world = replace(finding.world, questions=(finding.outcome.question,))
    return tuple(
        f"{name}={value}"
        for name, value, varied in _other_settings(worker, world)
        if _is_right(worker, varied, write)
    )


def _other_settings(worker: EngineClient, world: World) -> Iterator[tuple[str, str, World]]:
    """Yield the world with each switch set to each other value."""
    for name, values in sorted(worker.hello.settings.items()):
        current = world.settings.get(name, values[0])
        for value in values:
            if value != current:
                yield name, value, replace(world, settings={**world.settings, name: value})


def _is_right(worker: EngineClient, world: World, write: Write) -> bool:
    """Tell whether the answer to a world's one question is right, and was compared."""
    (outcome,) = examine(worker, world, write=write)
    return outcome.contradiction is None and not outcome.refused
