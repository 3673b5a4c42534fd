"""Scenario files: their top-level key `simulates` says what they are scenarios of."""

from collections.abc import Mapping
from pathlib import Path

from pruning.errors import InputError
from sim.kernel.scenario_schema import Claimed, converted, tables_of
from sim.refreshes.scenario import DYNAMIC_TABLES, RefreshScenario
from sim.scans.scenario import Scenario

SCANS = "scans"
KINDS: Mapping[str, type[Claimed]] = {SCANS: Scenario, DYNAMIC_TABLES: RefreshScenario}


def read(path: Path) -> Claimed:
    """The scenario of a file.

    Raises:
        InputError: there is no such file, it is no TOML, or it says what a scenario cannot.
    """
    try:
        return claimed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def claimed(text: str) -> Claimed:
    """The scenario that a text describes.

    Raises:
        InputError: it is no TOML, or says what a scenario cannot.
    """
    told = tables_of(text)
    kind = told.get("simulates", SCANS)
    if kind not in KINDS:
        raise InputError(f"`simulates` is one of {', '.join(KINDS)}, not {kind!r}")
    return converted(told, KINDS[kind])
