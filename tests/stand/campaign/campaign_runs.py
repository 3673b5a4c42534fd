"""Campaigns whose engines are in this process."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from mutants.small_engine.catalogue import MUTANTS
from skipproof.stand.campaign.plan import Plan, parse_plan
from skipproof.stand.campaign.running import Campaign
from skipproof.stand.campaign.slices import CampaignStore, Slice, read_campaign
from skipproof.stand.reference.engine import SmallEngine

OFTEN_WRONG = next(mutant for mutant in MUTANTS if mutant.name == "unstated is null")


class InProcess:
    """A worker whose engine is in this process: one that is often wrong, or the correct one."""

    version = "1"

    def __init__(self, command: Sequence[str]) -> None:
        self.is_broken = command[0] == "broken"
        self.engine = OFTEN_WRONG.engine() if self.is_broken else SmallEngine()
        self.hello = replace(self.engine.hello, version=self.version)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        return self.engine.ask(**request)

    def close(self) -> None:
        pass


def plan_of(examples: int = 120) -> Plan:
    """Two engines, one of which loses rows."""
    engines = "".join(
        f'[[engine]]\nname = "{name}"\ncommand = ["{name}"]\nexamples = {examples}\n'
        for name in ("broken", "sound")
    )
    return parse_plan(f"seeds = [3]\n{engines}")


def campaign_of(plan: Plan, store: CampaignStore) -> Campaign:
    return Campaign(plan, store, file=Path("nightly.toml"), environments=store.directory / "environments")


def run(plan: Plan, directory: Path, *, slices: int = 100) -> dict[str, list[Slice]]:
    """Run at most so many slices of a campaign, and return all that there are."""
    store = CampaignStore(directory)
    with store.open(plan):
        campaign = campaign_of(plan, store)
        for _ in itertools.islice(campaign.run(lambda *_: None), slices):
            pass
    return read_campaign(directory)
