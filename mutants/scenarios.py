"""Mutants of scenarios of scans: a changed component, or a changed world, makes the claim of each false."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from mutants.scans import MUTANTS as SCAN_MUTANTS
from pruning.techniques.join.summaries import JoinSummary
from pruning.techniques.topk.arrangements import Arrangement
from pruning.techniques.topk.topk import TopK
from sim.scans.control import Control
from sim.scans.nodes import Node
from sim.scans.planning import ScanPlan
from sim.scans.queries import Query
from sim.scans.run import CORRECT, ScanImplementations
from sim.scans.scenario import Scenario


class _NoTechnique(Control):
    """Prunes by filters, and by nothing else."""

    def plans(self, query: Query, *, has_metadata: bool) -> list[ScanPlan]:
        plans = super().plans(query, has_metadata=has_metadata)
        for plan in plans:
            plan.wanted = plan.top_k = plan.probe_side = plan.build_side = None
        return plans


class _AsStored(Control):
    """Reads the blocks of a top-k as they lie."""

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
    """Never evaluates the checks that planning leaves to nodes."""

    def may_match(self, plan: ScanPlan, blocks: np.ndarray) -> np.ndarray:
        return np.ones(len(blocks), bool)


class _DeafToSummaries(Node):
    def _learn_summary(self, plan: ScanPlan, summary: JoinSummary) -> None:
        return


def _without_throttling(scenario: Scenario) -> Scenario:
    store = replace(scenario.world.store, requests_per_s=0)
    plain = tuple(replace(fault, requests_per_s=0) for fault in scenario.fault)
    return replace(scenario, world=replace(scenario.world, store=store), fault=plain)


def _healthy(scenario: Scenario) -> Scenario:
    return replace(scenario, fault=())


def _one_page(scenario: Scenario) -> Scenario:
    """Let page indexes tell no more than block metadata."""
    return replace(scenario, table=tuple(replace(table, pages_per_block=1) for table in scenario.table))


def _gaps_are_read(scenario: Scenario) -> Scenario:
    """Make fewer requests, for all bytes."""
    store = replace(scenario.world.store, gap_bytes=1 << 40)
    return replace(scenario, world=replace(scenario.world, store=store))


def _slow_columns(scenario: Scenario) -> Scenario:
    """Scan columns of metadata more slowly than footers are read."""
    metadata = replace(scenario.world.metadata, bytes_per_s=1_000)
    return replace(scenario, world=replace(scenario.world, metadata=metadata))


def _same(scenario: Scenario) -> Scenario:
    return scenario


class ScenarioMutant(NamedTuple):
    """A scenario whose claim a changed component, or a changed world, makes false."""

    stem: str
    what: str
    implementations: ScanImplementations = CORRECT
    change: Callable[[Scenario], Scenario] = _same


MUTANTS: Sequence[ScenarioMutant] = (
    ScenarioMutant("bi-workload", "no technique but filters", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("compile-time-cutoff", "nodes ask nothing", ScanImplementations(node=_AsksNothing)),
    ScenarioMutant("join-pruning-late-summary", "nodes are deaf", ScanImplementations(node=_DeafToSummaries)),
    ScenarioMutant("join-pruning-late-summary", "no summary", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("limit-over-many-nodes", "no LIMIT", ScanImplementations(control=_NoTechnique)),
    ScenarioMutant("metadata-columnar-or-footers", "slow columns", change=_slow_columns),
    ScenarioMutant(
        "node-crash-mid-scan",
        "what is lost is forgotten",
        SCAN_MUTANTS["lost block after a crash"].implementations,
    ),
    ScenarioMutant(
        "node-crash-mid-scan", "blocks count twice", SCAN_MUTANTS["double count after retry"].implementations
    ),
    ScenarioMutant("page-index-requests", "one page", change=_one_page),
    ScenarioMutant("request-economics", "gaps are read", change=_gaps_are_read),
    ScenarioMutant("throttled-store", "no throttle", change=_without_throttling),
    ScenarioMutant("throttled-store", "no failure", change=_healthy),
    ScenarioMutant("top-k-block-orders", "as stored", ScanImplementations(control=_AsStored)),
    ScenarioMutant("top-k-boundary-at-nodes", "no boundary", ScanImplementations(control=_NoTechnique)),
)
