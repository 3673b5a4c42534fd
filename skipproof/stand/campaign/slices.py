"""The state of a campaign on disk: what it is, and one file for each slice, written whole or not at all."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pruning.errors import InputError
from skipproof import pages
from skipproof.stand.campaign.plan import Plan

PAGE = "report.html"
_CAMPAIGN, _SLICES, _FINDINGS, _LOCK = "campaign.json", "slices", "findings", ".lock"


class SlicedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a slice, without its rows; its folder has them.

    Attributes:
        folder: The name of its folder.
        cause: What findings of its cause have in common.
        seconds, examples: The length of the slice's hunt before the finding.
    """

    folder: str
    cause: tuple[str, ...]
    traits: tuple[str, ...]
    area: str
    verdict: str
    difference: str
    oracle: str
    blame: str
    seed: int
    seconds: float
    examples: int


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A finished slice: the hunt of one engine with a seed of its own.

    Attributes:
        ordinal: Its place among the slices of its engine, from 0.
        seconds: The time of the hunt, without shrinking.
        seconds_total: The time that the slice took, with everything.
        refused, unjudged: Numbers of questions that were not compared, and not with the reference.
        again: The number of duplicates by the ordinal of a finding among all of the engine's, in the order
            of slices and then within each.
    """

    label: str
    engine: str
    version: str
    ordinal: int
    seed: int
    examples: int
    seconds: float
    seconds_shrinking: float
    seconds_total: float
    interrupted: bool
    refused: int
    unjudged: int
    findings: tuple[SlicedFinding, ...]
    again: dict[int, int]


class CampaignRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of the campaign of a directory, and the labels of its engines."""

    identity: dict[str, Any]
    labels: tuple[str, ...]


Record = TypeVar("Record", Slice, CampaignRecord)


def finding_cause(finding: SlicedFinding) -> frozenset[str]:
    """Return the cause of a finding; the findings of one cause have the same."""
    return frozenset(finding.cause)


@dataclass(frozen=True, slots=True)
class CampaignStore:
    """The directory of a campaign's results."""

    directory: Path

    @property
    def page(self) -> Path:
        """The HTML page."""
        return self.directory / PAGE

    @contextmanager
    def open(self, plan: Plan) -> Iterator[None]:
        """Begin or go on with a campaign; no other process may do so meanwhile.

        Raises:
            InputError: the directory cannot be written, is in use, or has the results of another campaign.
        """
        pages.check_writable(self.directory / _CAMPAIGN)
        with (self.directory / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(f"{self.directory} is in use by another run") from error
            self._check_identity(plan)
            yield

    def _check_identity(self, plan: Plan) -> None:
        """Write what the campaign is; if there are slices already, they must be of the same one."""
        path, labels = self.directory / _CAMPAIGN, tuple(engine.own_label for engine in plan.engine)
        # As JSON has it, for the comparison.
        identity = json.loads(msgspec.json.encode(plan.identity()))
        if path.exists() and any((self.directory / _SLICES).glob("*/*.json")):
            earlier = _read_record(path, CampaignRecord).identity
            differing = sorted(key for key in identity if identity[key] != earlier.get(key))
            if differing:
                raise InputError(
                    f"{self.directory} has the results of a campaign with another `{differing[0]}`: "
                    "name another directory, or remove this one"
                )
        _write_record(CampaignRecord(identity=identity, labels=labels), path)

    def read_slices(self, label: str) -> list[Slice]:
        """Return the finished slices of an engine, in order.

        Raises:
            InputError: a file is none of a slice, or what it counts is missing.
        """
        folder = self.directory / _SLICES / label
        slices = [_read_record(path, Slice) for path in sorted(folder.glob("*.json"))]
        finding_count = 0
        for ordinal, finished in enumerate(slices):
            finding_count += len(finished.findings)
            if finished.ordinal != ordinal:
                raise InputError(f"{folder} lacks the slice {ordinal}")
            if not set(finished.again) <= set(range(finding_count)):
                raise InputError(f"{folder}: the slice {ordinal} counts a finding that is missing")
        return slices

    def add(self, finished: Slice) -> None:
        """Write a finished slice, whose findings are there already."""
        _write_record(finished, self.directory / _SLICES / finished.label / f"{finished.ordinal:05}.json")

    def findings_of(self, label: str) -> Path:
        """Return the directory of the folders of an engine's findings."""
        return self.directory / _FINDINGS / label

    def remove_unfinished(self, label: str, ordinal: int) -> None:
        """Remove the findings of a slice that was begun and never finished."""
        for folder in self.findings_of(label).glob("*"):
            # A folder that is being written has a dot before its name.
            if folder.name.lstrip(".").startswith(finding_prefix(ordinal)):
                shutil.rmtree(folder)


def finding_prefix(ordinal: int) -> str:
    """Return the start of the names of the folders of a slice's findings."""
    return f"{ordinal:05}-"


def read_campaign(directory: Path) -> dict[str, list[Slice]]:
    """Return the slices of a campaign by the labels of its engines.

    Raises:
        InputError: the directory has no campaign, or a file in it cannot be read.
    """
    path = directory / _CAMPAIGN
    if not path.is_file():
        raise InputError(f"{directory} has no campaign: {_CAMPAIGN} is missing")
    store = CampaignStore(directory)
    return {label: store.read_slices(label) for label in _read_record(path, CampaignRecord).labels}


def _read_record(path: Path, kind: type[Record]) -> Record:
    """Read a file of the state."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path} cannot be read as a part of a campaign: {error}") from error


def _write_record(record: Slice | CampaignRecord, path: Path) -> None:
    """Write a file of the state atomically."""
    pages.write_lines([msgspec.json.format(msgspec.json.encode(record)), b"\n"], path)


def seen_by_finding(slices: Sequence[Slice]) -> Mapping[int, int]:
    """Return the number of failures of each finding, by its ordinal among all of the engine's."""
    counts = dict.fromkeys(range(sum(len(finished.findings) for finished in slices)), 1)
    for finished in slices:
        for ordinal, count in finished.again.items():
            counts[ordinal] += count
    return counts
