"""Hunts of campaigns that take no time, and a campaign of them that nobody has killed."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_runs import InProcess, plan_of, run

from skipproof.stand.campaign import running
from skipproof.stand.campaign.plan import Plan
from skipproof.stand.campaign.slices import Slice
from skipproof.stand.hunt.hunting import Finding, Hunt, Limits, capabilities, hunt


@pytest.fixture(scope="module")
def finding() -> Finding:
    """A finding of the engine that is often wrong."""
    with InProcess(["broken"]) as worker:
        able = capabilities(worker, areas=("filter",))
        limits = Limits(examples=400, findings=1, worlds_to_shrink=0)
        return hunt(worker, able, limits, hunt_seed=1).findings[0]


@pytest.fixture(scope="module")
def quick_hunts(finding: Finding) -> Iterator[None]:
    """Hunts of 20 examples that take no time: the broken engine fails in every second slice."""

    def scripted_hunt(worker, able, limits, *, hunt_seed, earlier, corpus, write, progress) -> Hunt:
        traits = tuple(known_finding.traits for known_finding in earlier)
        again = Counter({ordinal: known_finding.again for ordinal, known_finding in enumerate(earlier)})
        state = Hunt(earlier=traits, again=again, examples=20, seconds=2.0)
        progress(state)
        if corpus is not None:
            list(corpus.worlds(able))
            corpus.finish(hunt_seed, 1)
        if not worker.is_broken or not hunt_seed % 2:
            return state
        if finding.traits in traits:
            state.again[traits.index(finding.traits)] += 4 if earlier[0].again < 3 else 5
        else:
            state.findings.append(replace(finding, seed=hunt_seed))
        return state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "hunt", scripted_hunt)
        patch.setattr(running, "Worker", InProcess)
        yield


@pytest.fixture(scope="module")
def whole(
    quick_hunts: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Plan, Path, dict[str, list[Slice]]]:
    """A campaign that nobody has killed."""
    directory = tmp_path_factory.mktemp("whole")
    return plan_of(), directory, run(plan_of(), directory)
