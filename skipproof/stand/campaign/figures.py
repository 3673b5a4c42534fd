"""The figures of a campaign: for each engine its examples, speed, causes over time, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skipproof.stand.campaign.richness import Richness, estimate_richness
from skipproof.stand.campaign.slices import Slice, SlicedFinding, finding_cause, seen_by_finding


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFigures:
    """One cause of failures of an engine.

    Attributes:
        cause: What all its failures have in common.
        findings: Its findings, the first one first.
        failures: The number of failures of it.
        seconds, examples: The length of the engine's hunts before the first of them, without shrinking.
    """

    cause: frozenset[str]
    findings: tuple[SlicedFinding, ...]
    failures: int
    seconds: float
    examples: int

    def to_dict(self) -> dict[str, Any]:
        """Return the cause in JSON."""
        first = self.findings[0]
        return {
            "cause": sorted(self.cause),
            "area": first.area,
            "verdict": first.verdict,
            "difference": first.difference,
            "oracle": first.oracle,
            "blame": first.blame,
            "findings": [finding.folder for finding in self.findings],
            "failures": self.failures,
            "seconds": round(self.seconds, 1),
            "examples": self.examples,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """The figures of one engine in one release.

    Attributes:
        version: The version that the engine says it has; empty if it has no slice.
        seconds, seconds_total: The time of its hunts without shrinking, and of its slices.
        causes: In the order in which they were first seen.
    """

    label: str
    engine: str
    version: str
    slices: int
    examples: int
    seconds: float
    seconds_total: float
    refused: int
    unjudged: int
    findings: int
    interrupted: bool
    causes: tuple[CauseFigures, ...]
    richness: Richness

    @property
    def examples_per_second(self) -> float:
        """The speed of its hunts, without shrinking."""
        return self.examples / max(self.seconds, 1e-9)

    @property
    def cause_set(self) -> frozenset[frozenset[str]]:
        """The causes alone."""
        return frozenset(cause.cause for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures in JSON."""
        return {
            "label": self.label,
            "engine": self.engine,
            "version": self.version,
            "slices": self.slices,
            "examples": self.examples,
            "seconds": round(self.seconds, 1),
            "seconds_total": round(self.seconds_total, 1),
            "examples_per_second": round(self.examples_per_second, 1),
            "refused": self.refused,
            "unjudged": self.unjudged,
            "findings": self.findings,
            "interrupted": self.interrupted,
            "causes": [cause.to_dict() for cause in self.causes],
            "richness": self.richness.to_dict(),
        }


def engine_figures(label: str, slices: Sequence[Slice]) -> EngineFigures:
    """Add up the slices of an engine."""
    causes = _causes(slices)
    return EngineFigures(
        label=label,
        engine=slices[-1].engine if slices else label,
        version=slices[-1].version if slices else "",
        slices=len(slices),
        examples=sum(finished.examples for finished in slices),
        seconds=sum(finished.seconds for finished in slices),
        seconds_total=sum(finished.seconds_total for finished in slices),
        refused=sum(finished.refused for finished in slices),
        unjudged=sum(finished.unjudged for finished in slices),
        findings=sum(len(finished.findings) for finished in slices),
        interrupted=bool(slices) and slices[-1].interrupted,
        causes=causes,
        richness=estimate_richness(cause.failures for cause in causes),
    )


def campaign_figures(slices: Mapping[str, Sequence[Slice]]) -> tuple[EngineFigures, ...]:
    """Return the figures of each engine of a campaign."""
    return tuple(engine_figures(label, engine_slices) for label, engine_slices in slices.items())


def _causes(slices: Sequence[Slice]) -> tuple[CauseFigures, ...]:
    """Group the findings of an engine by their causes."""
    counts = seen_by_finding(slices)
    findings: dict[frozenset[str], list[SlicedFinding]] = {}
    failures: dict[frozenset[str], int] = {}
    firsts: dict[frozenset[str], tuple[float, int]] = {}
    seconds, examples, ordinal = 0.0, 0, 0
    for finished in slices:
        for finding in finished.findings:
            cause = finding_cause(finding)
            findings.setdefault(cause, []).append(finding)
            firsts.setdefault(cause, (seconds + finding.seconds, examples + finding.examples))
            failures[cause] = failures.get(cause, 0) + counts[ordinal]
            ordinal += 1
        seconds += finished.seconds
        examples += finished.examples
    return tuple(
        CauseFigures(
            cause=cause,
            findings=tuple(findings[cause]),
            failures=failures[cause],
            seconds=firsts[cause][0],
            examples=firsts[cause][1],
        )
        for cause in findings
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChange:
    """One engine of a campaign beside the engine of the same label in an earlier one.

    Attributes:
        version, earlier_version: The versions of both.
        new: The causes of this campaign alone.
        gone: The causes of the earlier campaign alone. They were not met again, which is no proof that they
            are mended.
        still: The causes of both.
    """

    label: str
    version: str
    earlier_version: str
    new: tuple[CauseFigures, ...]
    gone: tuple[CauseFigures, ...]
    still: tuple[CauseFigures, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the change in JSON."""
        return {
            "label": self.label,
            "version": self.version,
            "earlier_version": self.earlier_version,
            "new": [sorted(cause.cause) for cause in self.new],
            "gone": [sorted(cause.cause) for cause in self.gone],
            "still": [sorted(cause.cause) for cause in self.still],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignChange:
    """A campaign beside an earlier one.

    Attributes:
        name: The name of the earlier one.
        engines: The engines that both have, by their labels.
        lacking: The labels that the earlier one has no slices of.
    """

    name: str
    engines: tuple[EngineChange, ...]
    lacking: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in JSON."""
        return {
            "earlier": self.name,
            "engines": [engine.to_dict() for engine in self.engines],
            "lacking": list(self.lacking),
        }


def compare_campaigns(
    name: str, figures: Sequence[EngineFigures], earlier: Sequence[EngineFigures]
) -> CampaignChange:
    """Compare the causes of each engine with those of the same label in an earlier campaign."""
    by_label = {engine.label: engine for engine in earlier if engine.slices}
    return CampaignChange(
        name=name,
        engines=tuple(
            _engine_change(engine, by_label[engine.label]) for engine in figures if engine.label in by_label
        ),
        lacking=tuple(engine.label for engine in figures if engine.label not in by_label),
    )


def _engine_change(engine: EngineFigures, earlier: EngineFigures) -> EngineChange:
    """Compare the causes of one engine."""
    return EngineChange(
        label=engine.label,
        version=engine.version,
        earlier_version=earlier.version,
        new=tuple(cause for cause in engine.causes if cause.cause not in earlier.cause_set),
        gone=tuple(cause for cause in earlier.causes if cause.cause not in engine.cause_set),
        still=tuple(cause for cause in engine.causes if cause.cause in earlier.cause_set),
    )
