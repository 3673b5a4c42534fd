"""Mutants of campaigns: of their estimates, of the turns of slices, of their state and of comparisons."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mutants.replacements import Replacement
from skipproof import pages
from skipproof.stand.campaign import figures, plan, richness, running, slices
from skipproof.stand.campaign.figures import EngineChange, EngineFigures
from skipproof.stand.campaign.plan import Plan, PlannedEngine
from skipproof.stand.campaign.slices import CampaignStore, Slice
from skipproof.stand.hunt.hunting import Limits


def _unseen_without_square(once: int, twice: int) -> float:
    return once / (2 * twice) if twice else once * (once - 1) / 2


def _unseen_as_if_seen_twice(once: int, twice: int) -> float:
    """Take the form for causes seen twice where there are none."""
    return once * once / (2 * max(twice, 1))


def _variance_of_one_form(once: int, twice: int, expected: float) -> float:
    """Take the form for causes seen twice where there are none."""
    ratio = once / max(twice, 1)
    return max(twice, 1) * (ratio**2 / 2 + ratio**3 + ratio**4 / 4)


def _symmetric_interval(causes: int, unseen: float, variance: float) -> tuple[float, float]:
    """Take the number of unseen causes to be normal: the lower bound may be below what was seen."""
    spread = 1.96 * math.sqrt(variance)
    return causes + unseen - spread, causes + unseen + spread


RICHNESS: Mapping[str, Replacement] = {
    "the singletons are not squared": Replacement(richness, "_unseen_causes", _unseen_without_square),
    "one form of unseen causes": Replacement(richness, "_unseen_causes", _unseen_as_if_seen_twice),
    "one form of the variance": Replacement(richness, "_variance", _variance_of_one_form),
    "a symmetric interval": Replacement(richness, "_interval", _symmetric_interval),
    "nothing unseen without singletons": Replacement(
        richness, "_upper_bound_without_singletons", lambda failures, causes: float(causes)
    ),
}

_remaining_limits, _read_slices = running.remaining_limits, CampaignStore.read_slices
_earlier_findings = running.earlier_findings


def _limits_of_whole_slices(of_plan: Plan, engine: PlannedEngine, finished: Sequence[Slice]) -> Limits | None:
    """Let the last slice be as long as the others."""
    limits = _remaining_limits(of_plan, engine, finished)
    return limits and replace(limits, seconds=of_plan.slice_seconds, examples=of_plan.slice_examples)


def _limits_of_hunting(of_plan: Plan, engine: PlannedEngine, finished: Sequence[Slice]) -> Limits | None:
    """Leave the time for shrinking out of the length of an engine."""
    hunted = [msgspec.structs.replace(part, seconds_total=part.seconds) for part in finished]
    return _remaining_limits(of_plan, engine, hunted)


def _limits_of_judged_slices(
    of_plan: Plan, engine: PlannedEngine, finished: Sequence[Slice]
) -> Limits | None:
    """Go on with an engine that can never have its examples."""
    return _remaining_limits(of_plan, engine, [part for part in finished if part.examples])


def _first_turn(waiting: Iterable[str], all_slices: Mapping[str, Sequence[Slice]]) -> str | None:
    """Let an engine have all its slices before the next one has one."""
    return next(iter(waiting), None)


TURNS: Mapping[str, Replacement] = {
    "the last slice is whole": Replacement(running, "remaining_limits", _limits_of_whole_slices),
    "shrinking costs no time": Replacement(running, "remaining_limits", _limits_of_hunting),
    "an engine that answers nothing goes on": Replacement(
        running, "remaining_limits", _limits_of_judged_slices
    ),
    "one engine after the other": Replacement(running, "next_turn", _first_turn),
    "seeds that follow each other share slices": Replacement(
        running, "slice_seed", lambda seeds, ordinal: seeds[ordinal % len(seeds)] + ordinal // len(seeds)
    ),
    "the first seed alone": Replacement(
        running, "slice_seed", lambda seeds, ordinal: seeds[0] * running.SLICES_MAX + ordinal
    ),
    "each engine has the whole budget": Replacement(
        Plan,
        "lengths_seconds",
        lambda self: {engine.own_label: engine.own_seconds or self.budget_seconds for engine in self.engine},
    ),
    "any budget will do": Replacement(plan, "_check_budget", lambda of_plan: None),
}


def _written_in_place(record: Any, path: Path) -> None:
    """Write a file of the state where it will be, so that a kill leaves half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.encode(record)
    path.write_bytes(content[: len(content) // 2])
    pages.write_lines([content], path)


def _last_slices(store: CampaignStore, label: str) -> list[Slice]:
    """Forget the first slice."""
    return _read_slices(store, label)[1:]


def _seen_within_slices(all_slices: Sequence[Slice]) -> Mapping[int, int]:
    """Count the duplicates of a slice alone, as if its findings were the first."""
    counts = []
    for finished in all_slices:
        counts += [1 + finished.again.get(ordinal, 0) for ordinal in range(len(finished.findings))]
    return dict(enumerate(counts))


def _version_does_not_matter(self: Any, label: str, hello: Any) -> None:
    """Go on with whatever engine there is."""


STATE: Mapping[str, Replacement] = {
    "a slice is written in place": Replacement(slices, "_write_record", _written_in_place),
    "a resumed campaign lacks a slice": Replacement(CampaignStore, "read_slices", _last_slices),
    "a slice forgets what was found": Replacement(running, "earlier_findings", lambda finished: []),
    "a slice forgets how often it was found": Replacement(
        running,
        "earlier_findings",
        lambda finished: [replace(finding, again=0) for finding in _earlier_findings(finished)],
    ),
    "a slice counts duplicates of earlier ones": Replacement(
        running, "own_duplicates", lambda state, earlier, confirmed: dict(state.again)
    ),
    "findings of a killed slice stay": Replacement(
        CampaignStore, "remove_unfinished", lambda self, label, ordinal: None
    ),
}
COUNTS: Mapping[str, Replacement] = {
    "duplicates are those of the slice": Replacement(figures, "seen_by_finding", _seen_within_slices),
    "a cause is each finding": Replacement(
        figures, "finding_cause", lambda finding: frozenset({finding.folder})
    ),
}
MISMATCH = Replacement(running.Campaign, "_mismatch", _version_does_not_matter)


def _change_by_findings(engine: EngineFigures, earlier: EngineFigures) -> EngineChange:
    """Compare the findings, of which one cause may have other ones each time."""
    by_findings = (
        replace(
            compared,
            causes=tuple(
                replace(cause, cause=frozenset(cause.findings[0].traits)) for cause in compared.causes
            ),
        )
        for compared in (engine, earlier)
    )
    return _engine_change(*by_findings)


_engine_change = figures._engine_change
COMPARISON: Mapping[str, Replacement] = {
    "new for gone": Replacement(
        figures, "_engine_change", lambda engine, earlier: _engine_change(earlier, engine)
    ),
    "findings are compared, not causes": Replacement(figures, "_engine_change", _change_by_findings),
}
