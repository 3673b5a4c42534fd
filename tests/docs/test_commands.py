"""What the pages and README show is what their commands print."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import PAGES, ROOT, SHOWN_PLACE, Command, Titled, agrees, masked, steps

from skipproof.commands.demo import write_lakes
from skipproof.commands.flights import flights

COMMANDS = {page: [step for step in steps(page) if isinstance(step, Command)] for page in PAGES}
SHOWING = [page for page in PAGES if COMMANDS[page]]
# They install, or run all tests: what they name must exist, and that is all that is asked of them here.
NOT_RUN = ("make", "pip", "tox")
SECONDS_MAX = 900


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that `skipproof demo --lake` leaves, from which each page that asks for it gets a copy."""
    directory = tmp_path_factory.mktemp("lake")
    for _ in write_lakes(flights(), directory):
        pass
    return directory


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The programs of the pages, run by the interpreter of the tests."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for program, start in (("python", ""), ("pytest", " -m pytest"), ("skipproof", " -m skipproof")):
        path = programs / program
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}"{start} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "PYTEST_ADDOPTS")}
    return {**plain, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What `/tmp/` of the pages is."""
    place = tmp_path / "place"
    place.mkdir()
    return place


def run(
    command: Command, *, cwd: Path, place: Path, environment: dict[str, str], status: int
) -> tuple[int, str]:
    """Run a command after one that ended with `status`; return its own, and what it printed."""
    line = command.line.replace(SHOWN_PLACE, f"{place}/")
    done = subprocess.run(
        ["bash", "-c", f"(exit {status})\n{line}"],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS_MAX,
    )
    print(done.stderr[-2_000:], file=sys.stderr)
    return done.returncode, done.stdout.replace(f"{place}/", SHOWN_PLACE)


def told(command: Command, printed: str) -> str:
    return f"$ {command.line}\nshown:\n{masked(command.output)}\nprinted:\n{masked(printed)}"


@pytest.mark.parametrize("page", SHOWING, ids=name)
def test_a_page_shows_what_its_commands_print(
    page: Path,
    tmp_path: Path,
    place: Path,
    environment: dict[str, str],
    deep: bool,
    request: pytest.FixtureRequest,
) -> None:
    """In order, in one directory; those that need Spark or minutes in a deep run alone."""
    cwd = tmp_path / "page"
    cwd.mkdir()
    runnable = [
        step
        for step in steps(page)
        if isinstance(step, Titled) or (step.program not in NOT_RUN and (deep or not step.is_deep))
    ]
    asked = [step.line if isinstance(step, Command) else step.text for step in runnable]
    if any(f"{SHOWN_PLACE}lake" in line for line in asked) and not any(
        "skipproof demo" in line for line in asked
    ):
        shutil.copytree(request.getfixturevalue("lake"), place / "lake")
    if any("tests/" in line for line in asked):
        # It is for a checkout.
        (cwd / "tests").symlink_to(ROOT / "tests")
    status = 0
    for step in runnable:
        if isinstance(step, Titled):
            (cwd / step.name).write_text(step.text.replace(SHOWN_PLACE, f"{place}/"), encoding="utf-8")
            continue
        status, printed = run(step, cwd=cwd, place=place, environment=environment, status=status)
        assert agrees(step.output, printed), told(step, printed)


def _left_out() -> Iterator[Command]:
    return (command for page in SHOWING for command in COMMANDS[page] if command.program in NOT_RUN)


def test_what_is_installed_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    lines = [command.line for command in _left_out() if command.program == "pip"]
    named = {
        extra
        for line in lines
        for group in re.findall(r"skipproof\[([\w,]+)\]", line)
        for extra in group.split(",")
    }
    assert lines
    assert named <= set(extras)


def test_what_is_made_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    named = {command.line.split()[1] for command in _left_out() if command.program == "make"}
    assert named
    assert named <= targets


def test_every_environment_of_tox_that_is_named_exists() -> None:
    sections = set(
        re.findall(r"^\[testenv:(\w+)\]", (ROOT / "tox.ini").read_text(encoding="utf-8"), re.MULTILINE)
    )
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {name for names in re.findall(r"\btox -e ([\w,]+)", texts) for name in names.split(",")}
    assert {"deep", "bench"} <= named
    assert {name for name in named if not re.fullmatch(r"py3\d+", name)} <= sections


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_command_is_shown_where_it_is_run(page: Path) -> None:
    """A prompt outside of a block of `console` would be run by nobody."""
    text = page.read_text(encoding="utf-8")
    shown = len(re.findall(r"^ *\$ \w", text, re.MULTILINE))
    assert shown == len(COMMANDS[page])


def test_a_hunt_that_is_shown_can_be_repeated() -> None:
    """By time alone, no two machines ask the same questions."""
    lines = [command.line for page in SHOWING for command in COMMANDS[page]]
    hunts = [line for line in lines if line.startswith("skipproof check ")]
    assert hunts
    assert all("--examples" in hunt and "--seconds" not in hunt for hunt in hunts)


def test_the_comparison_can_fail() -> None:
    shown = "a    seconds   rows\n───────────────────\nx    1.5       3\n...\n2 files in 7 ms"
    for printed, same in (
        ("a  seconds rows\n", False),
        ("a   seconds   rows\n─────\nx   22.5   3\nmore\nand more\n2 files in 8 ms\n", True),
        ("a   seconds   rows\n─────\nx   22.5   3\n2 files in 8 ms\n", True),
        ("a   seconds   rows\n─────\nx   22.5   4\n2 files in 8 ms\n", False),
        ("a   seconds   rows\n─────\nx   22.5   3\n3 files in 8 ms\n", False),
        ("", False),
    ):
        assert agrees(shown, printed) is same, printed
    assert agrees("", "")
    assert not agrees("", "more")
    assert agrees("...", "")
    assert agrees("...\nend", "one\ntwo\nend")
    assert not agrees("...\nend", "one\ntwo\nends")
