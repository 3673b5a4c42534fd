"""`skipproof campaign`: runs what is left of a campaign, and shows what it has come to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pruning.errors import InputError
from skipproof.commands.checking import prepare_folder
from skipproof.commands.progress import show_progress
from skipproof.pages import counted_noun
from skipproof.stand.campaign.figures import (
    CampaignChange,
    CauseFigures,
    EngineChange,
    EngineFigures,
    campaign_figures,
    compare_campaigns,
)
from skipproof.stand.campaign.plan import read_plan
from skipproof.stand.campaign.report import percent, write_report
from skipproof.stand.campaign.running import Campaign
from skipproof.stand.campaign.slices import CampaignStore, read_campaign

_ENVIRONMENTS = "environments"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """The options of `skipproof campaign`.

    Attributes:
        results: The directory of results, in place of the file's.
        seed: The one seed, in place of the file's.
        compare: The directories of results of earlier campaigns.
    """

    file: Path
    results: Path | None = None
    seed: int | None = None
    compare: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignResult:
    """A campaign as far as it has come.

    Attributes:
        is_interrupted: Whether the keyboard ended it before all slices were run.
    """

    figures: tuple[EngineFigures, ...]
    changes: tuple[CampaignChange, ...]
    page: Path
    is_interrupted: bool

    @property
    def has_causes(self) -> bool:
        """True if something was found."""
        return any(engine.causes for engine in self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Return the campaign in JSON."""
        return {
            "interrupted": self.is_interrupted,
            "engines": [engine.to_dict() for engine in self.figures],
            "compared": [change.to_dict() for change in self.changes],
            "page": str(self.page),
        }


def run_campaign(request: CampaignRequest, *, quiet: bool) -> CampaignResult:
    """Run the slices that a campaign has left, and write its page after each.

    Raises:
        InputError: the file, an engine, or a directory of results or corpora cannot be used.
    """
    plan = read_plan(request.file)
    if request.seed is not None:
        plan = msgspec.structs.replace(plan, seeds=(request.seed,))
    if request.results is None and plan.results is None:
        raise InputError(f"{request.file}: it has no `results`: name the directory there, or as --results")
    if plan.corpora is not None:
        prepare_folder(f"{request.file}: `corpora`", Path(plan.corpora))
    store = CampaignStore(request.results or Path(plan.results or ""))
    earlier = [(str(path), campaign_figures(read_campaign(path))) for path in request.compare]
    environments = store.directory / _ENVIRONMENTS if plan.environments is None else Path(plan.environments)
    with store.open(plan):
        campaign = Campaign(plan, store, file=request.file, environments=environments)

        def result() -> CampaignResult:
            figures = campaign_figures(campaign.slices)
            changes = tuple(compare_campaigns(name, figures, others) for name, others in earlier)
            write_report(figures, changes, store.page)
            return CampaignResult(figures=figures, changes=changes, page=store.page, is_interrupted=False)

        latest = result()
        with show_progress(quiet=quiet) as say:
            for finished in campaign.run(say):
                latest = replace(result(), is_interrupted=finished.interrupted)
    return latest


def show_campaign(out: Console, result: CampaignResult) -> None:
    """Print a campaign for people."""
    table = Table(
        "release", "slices", "examples", "seconds", "speed", "failures", "causes", "expected", "next new"
    )
    for engine in result.figures:
        richness = engine.richness
        table.add_row(
            escape(_release_text(engine)),
            f"{engine.slices:,}",
            f"{engine.examples:,}",
            f"{engine.seconds:.1f}",
            f"{engine.examples_per_second:.0f} a second" if engine.examples else "",
            f"{richness.failures:,}",
            f"{richness.causes:,}",
            f"{richness.expected:.1f} ({richness.lower:.1f} to {richness.upper:.1f})"
            if engine.causes
            else "",
            percent(richness.next_is_new) if richness.next_is_new is not None else "",
        )
    out.print(table)
    if any(engine.causes for engine in result.figures):
        out.print(
            "expected: at least so many causes, by Chao1, if failures are independent draws of what is asked"
        )
    for engine in result.figures:
        if not engine.examples:
            out.print(escape(f"{engine.label}: nothing was judged"))
        _show_causes(out, engine.label, engine.causes)
    for change in result.changes:
        for engine_change in change.engines:
            _show_change(out, change.name, engine_change)
        if change.lacking:
            out.print(escape(f"{change.name} has no slice of {', '.join(change.lacking)}"))
    if result.is_interrupted:
        out.print("interrupted: the same command goes on with the next slice")
    out.print(escape(f"page: {result.page}"))


def _release_text(engine: EngineFigures) -> str:
    """Return the label of an engine, and its version if the label does not end with it."""
    named = engine.label.endswith(engine.version)
    return engine.label if named else f"{engine.label} ({engine.version})"


def _show_causes(out: Console, label: str, causes: Sequence[CauseFigures]) -> None:
    """Print a line for each cause of an engine."""
    for cause in causes:
        first = cause.findings[0]
        out.print(
            escape(
                f"{label}: {first.area}: {first.verdict}, {counted_noun(cause.failures, 'failure')}: "
                f"{_cause_text(cause)}"
            )
        )


def _show_change(out: Console, name: str, change: EngineChange) -> None:
    """Print the causes that are new, gone and still there."""
    out.print(
        escape(
            f"{change.label} {change.version} beside {change.earlier_version} in {name}: "
            f"{len(change.new)} new, {len(change.gone)} gone, {len(change.still)} still there"
        )
    )
    for word, causes in (("new", change.new), ("gone", change.gone)):
        for cause in causes:
            out.print(escape(f"  {word}: {_cause_text(cause)}"))


def _cause_text(cause: CauseFigures) -> str:
    """Return what the failures of a cause have in common as text."""
    return ", ".join(sorted(cause.cause))
