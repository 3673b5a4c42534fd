"""Environments of Python that pip makes for releases of engines, kept in a directory and used again."""

import hashlib
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

_DIGITS = 8


class NotInstalled(Exception):
    """pip cannot install the pins of an environment; the message has pip's reason."""


def environment_name(pins: Sequence[str]) -> str:
    """Return the name of the environment that has these pins; no two lists of pins share one."""
    digest = hashlib.sha256("\n".join(pins).encode()).hexdigest()[:_DIGITS]
    return f"{release_name(pins[0])}-{digest}"


def release_name(pin: str) -> str:
    """Return the package and the version of a pin as a file may be named: `polars-1.38.1`."""
    return re.sub(r"[^\w.]+", "-", pin).strip("-")


def find_environment(name: str, directory: Path) -> Path | None:
    """Return the interpreter of the environment in a directory whose name ends so, or None."""
    interpreters = sorted(directory.glob(f"*{name}/bin/python"))
    return interpreters[0] if interpreters else None


def environment(name: str, pins: Sequence[str], directory: Path) -> Path:
    """Return the interpreter of an environment, which is made if the directory has none of this name.

    Raises:
        NotInstalled: pip cannot install the pins.
    """
    interpreter = find_environment(name, directory)
    if interpreter is not None:
        return interpreter
    directory.mkdir(parents=True, exist_ok=True)
    place = directory / f".{name}.new"
    venv.create(place, with_pip=True, clear=True)
    command = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", *pins]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr, end="")
        reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        raise NotInstalled(reasons[-1].removeprefix("ERROR: ") if reasons else "pip failed")
    return place.rename(directory / name) / "bin" / "python"
