"""A scenario of scans tells a world in which its claim is false: an invariant or a bound breaks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

from mutants.scans import MUTANTS as SCAN_MUTANTS
from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.arrangements import Arrangement
from pruning.techniques.topk.topk import TopK
from sim.files import read
from sim.kernel.expecting import RunMeasures, missed_expectations
from sim.kernel.varying import all_cases
from sim.scans.checks import violations
from sim.scans.control import Control
from sim.scans.measures import measures
from sim.scans.nodes import Node
from sim.scans.planning import ScanPlan
from sim.scans.queries import Query
from sim.scans.run import CORRECT, ScanImplementations
from sim.scans.scenario import Scenario, world_of_seed

SCENARIOS = Path(__file__).parents[2] / "sim" / "scenarios"
BLOCKS_AT_MOST = 1_000


class _NoTechnique(Control):
    """Filters prune, and nothing else."""

    def plans(self, query: Query, *, has_metadata: bool) -> list[ScanPlan]:
        plans = super().plans(query, has_metadata=has_metadata)
        for plan in plans:
            plan.wanted = plan.top_k = plan.probe_side = plan.build_side = None
        return plans


class _AsStored(Control):
    """A top-k reads blocks as they lie."""

    def top_k(self, plan: ScanPlan) -> TopK:
        assert plan.top_k is not None
        return TopK(
            plan.top_k.bounds,
            plan.matches,
            plan.row_counts,
            plan.top_k.order,
            wanted=plan.top_k.wanted,
            keeps_ties=plan.top_k.ties_matter,
            arrangement=Arrangement.AS_STORED,
        )


class _AsksNothing(Node):
    """A mutant that never evaluates the checks that planning leaves to nodes."""

    def may_match(self, plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
        return np.ones(len(blocks), bool)


class _DeafToSummaries(Node):
    def _learn_summary(self, plan: ScanPlan, summary: JoinSummary) -> None:
        return


def _without_throttling(given: Scenario) -> Scenario:
    store = replace(given.world.store, requests_per_s=0)
    plain = tuple(replace(fault, requests_per_s=0) for fault in given.fault)
    return replace(given, world=replace(given.world, store=store), fault=plain)


def _healthy(given: Scenario) -> Scenario:
    return replace(given, fault=())


def _one_page(given: Scenario) -> Scenario:
    """Page indexes tell no more than block metadata."""
    return replace(given, table=tuple(replace(table, pages_per_block=1) for table in given.table))


def _gaps_are_read(given: Scenario) -> Scenario:
    """Fewer requests, for all bytes."""
    store = replace(given.world.store, gap_bytes=1 << 40)
    return replace(given, world=replace(given.world, store=store))


def _slow_columns(given: Scenario) -> Scenario:
    """Columns of metadata are scanned more slowly than footers are read."""
    metadata = replace(given.world.metadata, bytes_per_s=1_000)
    return replace(given, world=replace(given.world, metadata=metadata))


def _same(given: Scenario) -> Scenario:
    return given


class ScenarioMutant(NamedTuple):
    """A scenario whose claim a changed component, or a changed world, makes false."""

    stem: str
    what: str
    implementations: ScanImplementations = CORRECT
    changed: Callable[[Scenario], Scenario] = _same


SCENARIO_MUTANTS = [
    ScenarioMutant("bi-workload", "no technique but filters", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("compile-time-cutoff", "nodes ask nothing", ScanImplementations(node=_AsksNothing)),
    ScenarioMutant("join-pruning-late-summary", "nodes are deaf", ScanImplementations(node=_DeafToSummaries)),
    ScenarioMutant("join-pruning-late-summary", "no summary", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("limit-over-many-nodes", "no LIMIT", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("metadata-columnar-or-footers", "slow columns", changed=_slow_columns),
    ScenarioMutant(
        "node-crash-mid-scan",
        "what is lost is forgotten",
        SCAN_MUTANTS["lost block after a crash"].implementations,
    ),
    ScenarioMutant(
        "node-crash-mid-scan", "blocks count twice", SCAN_MUTANTS["double count after retry"].implementations
    ),
    ScenarioMutant("page-index-requests", "one page", changed=_one_page),
    ScenarioMutant("request-economics", "gaps are read", changed=_gaps_are_read),
    ScenarioMutant("throttled-store", "no throttle", changed=_without_throttling),
    ScenarioMutant("throttled-store", "no failure", changed=_healthy),
    ScenarioMutant("top-k-block-orders", "as stored", ScanImplementations(control=_AsStored)),
    ScenarioMutant("top-k-boundary-at-nodes", "no boundary", ScanImplementations(control=_NoTechnique)),
]


def is_distinguished(mutant: ScenarioMutant) -> bool:
    """Tell whether the first seed of a scenario fails with its mutant."""
    given = read(SCENARIOS / f"{mutant.stem}.toml")
    assert isinstance(given, Scenario)
    runs = []
    for case in all_cases(given):
        scenario: Any = case.scenario
        if any(table.blocks > BLOCKS_AT_MOST for table in scenario.table):
            continue
        run = world_of_seed(mutant.changed(scenario), given.seeds.first).run(
            given.seeds.first, mutant.implementations
        )
        if violations(run):
            return True
        found: Mapping[str, float] = measures(run)
        runs.append(RunMeasures(case=case, seed=given.seeds.first, measures=found))
    return any(one.seed is not None for one in missed_expectations(given, runs))


@pytest.mark.parametrize("mutant", SCENARIO_MUTANTS, ids=lambda mutant: f"{mutant.stem}: {mutant.what}")
def test_a_scenario_whose_claim_is_false_is_told(mutant: ScenarioMutant) -> None:
    """SIM-5. The first seed is enough."""
    assert is_distinguished(mutant)


def test_each_scenario_of_scans_has_a_mutant() -> None:
    """That of small worlds has the mutants of SIM-2."""
    scans = {path.stem for path in SCENARIOS.glob("*.toml") if isinstance(read(path), Scenario)}
    assert scans - {mutant.stem for mutant in SCENARIO_MUTANTS} == {"small-worlds"}
