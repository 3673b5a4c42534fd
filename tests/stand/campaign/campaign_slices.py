"""Slices and findings of campaigns that no hunt has made."""

from typing import Any

from skipproof.stand.campaign.slices import Slice, SlicedFinding
from skipproof.stand.hunt.causes import cause


def sliced_finding(*traits: str, **changed: Any) -> SlicedFinding:
    """A finding with these traits."""
    values: dict[str, Any] = {
        "folder": "00000-01-filter-rows-lost",
        "cause": tuple(sorted(cause(frozenset(traits)))),
        "area": "filter",
        "verdict": "rows lost",
        "difference": "0 rows instead of 1",
        "oracle": "itself",
        "blame": "right without statistics in the footer",
        "seed": 7,
        "seconds": 1.0,
        "examples": 10,
    }
    return SlicedFinding(traits=traits, **values | changed)


def finished_slice(*findings: SlicedFinding, **changed: Any) -> Slice:
    """A slice of a minute with these findings."""
    values: dict[str, Any] = {
        "label": "plain",
        "engine": "plain",
        "version": "1",
        "ordinal": 0,
        "seed": 0,
        "examples": 100,
        "seconds": 60.0,
        "seconds_shrinking": 5.0,
        "seconds_total": 66.0,
        "interrupted": False,
        "refused": 3,
        "unjudged": 0,
        "again": {},
    }
    return Slice(findings=findings, **values | changed)
