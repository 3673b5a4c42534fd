"""Scenario files; the top-level key `simulates` selects the kind of scenario."""

from collections.abc import Mapping
from pathlib import Path

from pruning.errors import InputError
from sim.kernel.scenario_schema import ScenarioSchema, convert_scenario, parse_toml, read_input
from sim.refreshes.scenario import DYNAMIC_TABLES, RefreshScenario
from sim.scans.scenario import Scenario

SCANS = "scans"
KINDS: Mapping[str, type[ScenarioSchema]] = {SCANS: Scenario, DYNAMIC_TABLES: RefreshScenario}


def read(path: Path) -> ScenarioSchema:
    """Read the scenario of a file.

    Raises:
        InputError: the file cannot be read, is no TOML, or has a key or value that a scenario cannot have.
    """
    return read_input(path, parse)


def parse(text: str) -> ScenarioSchema:
    """Return the scenario that a TOML text describes.

    Raises:
        InputError: the text is no TOML, or has a key or value that a scenario cannot have.
    """
    document = parse_toml(text)
    kind = document.get("simulates", SCANS)
    if kind not in KINDS:
        raise InputError(f"`simulates` is one of {', '.join(KINDS)}, not {kind!r}")
    return convert_scenario(document, KINDS[kind])
