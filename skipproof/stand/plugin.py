"""The pytest plugin: `pytest --skipproof-engine duckdb` adds test items that hunt in DuckDB.

pytest imports this module in every run, so it imports the stand only once an engine is named.
"""

import importlib.util
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skipproof.installation import hidden_package

if TYPE_CHECKING:
    from skipproof.stand.hunt.part import Part
    from skipproof.stand.workers.workers import Worker

EXAMPLES_PER_ITEM = 100
# Items of two sessions have none in common where the sessions' seeds are fewer than this apart.
SEEDS_PER_ITEM = 1_000


class Contradicted(Exception):
    """The engine contradicts itself, or cannot be asked; the message is the report of the failure."""


class Workers:
    """The workers of a run's engines by label; each is started when it is first needed.

    Attributes:
        commands: The command that starts each worker.
        areas: The classes of questions that the hunt asks.
    """

    def __init__(self, commands: dict[str, tuple[str, ...]], areas: Sequence[str]) -> None:
        self.commands = commands
        self.areas = areas
        self._started: dict[str, Worker] = {}
        self._stack = ExitStack()

    def worker(self, label: str) -> "Worker":
        """Return the worker of an engine; start it if it is not running.

        Raises:
            WorkerError: the worker does not start.
        """
        from skipproof.stand.workers.workers import Worker

        if label not in self._started:
            self._started[label] = self._stack.enter_context(Worker(self.commands[label]))
        return self._started[label]

    def close(self) -> None:
        """End all workers."""
        self._stack.close()


WORKERS = pytest.StashKey[Workers]()


class HuntItem(pytest.Item):
    """A test item: a part of a hunt, with questions of one class for one engine."""

    def __init__(self, *, part: "Part", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.part = part
        self.add_marker("skipproof")

    def runtest(self) -> None:
        """Hunt, and fail if there are findings.

        Raises:
            Contradicted: there is a finding, or no question could be asked.
        """
        # Collecting puts folders of tests on the path after `pytest_configure` has checked it.
        sentence = hidden_package()
        if sentence is not None:
            raise Contradicted(sentence)
        from skipproof.stand.hunt.parts import UNASKED, hunt_part
        from skipproof.stand.workers.workers import WorkerError

        try:
            report = hunt_part(self.config.stash[WORKERS].worker(self.part.label), self.part)
        except WorkerError as error:
            raise Contradicted(f"{self.part.label}: {error}") from error
        if report is UNASKED:
            pytest.skip(f"{self.part.label} does not answer the class {self.part.area}")
        if report:
            raise Contradicted(f"{report}\nThe same again: {_replay_command(self.part, self.config)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of a finding without the Python traceback."""
        if isinstance(excinfo.value, Contradicted):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the heading of a failure."""
        return self.path, None, self.nodeid


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; they have no effect unless an engine is named."""
    group = parser.getgroup("skipproof", "skipproof: hunts for what an engine's pruning gets wrong")
    group.addoption("--skipproof-engine", action="append", default=[], metavar="NAME", help="ask this engine")
    group.addoption(
        "--skipproof-command",
        action="append",
        default=[],
        metavar="COMMAND",
        help="ask the worker that this command starts, as 'PROGRAM ARGUMENT'",
    )
    group.addoption(
        "--skipproof-examples",
        type=int,
        default=300,
        metavar="N",
        help="questions of each class (default: 300)",
    )
    group.addoption("--skipproof-seed", type=int, default=0, metavar="N", help="seed (default: 0)")
    group.addoption(
        "--skipproof-findings", metavar="DIRECTORY", help="write a folder for each finding into this"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Look up the engines that the options name.

    Raises:
        pytest.UsageError: there is no such engine, or a package that the hunt needs is missing or hidden.
    """
    if not config.getoption("skipproof_engine") and not config.getoption("skipproof_command"):
        return
    config.addinivalue_line("markers", "skipproof: asks an engine the questions of a hunt")
    if importlib.util.find_spec("hypothesis") is None:
        raise pytest.UsageError("the hunt draws with Hypothesis: pip install 'skipproof[testbed]'")
    if config.getoption("skipproof_examples") < 1:
        raise pytest.UsageError("--skipproof-examples: at least 1")
    sentence = hidden_package()
    if sentence is not None:
        raise pytest.UsageError(sentence)
    # Imported here, because collecting may put a folder on the path that hides the package.
    from strategies.engines.questions import AREAS

    config.stash[WORKERS] = Workers(_commands(config), sorted(AREAS))


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the workers of the hunt."""
    if WORKERS in config.stash:
        config.stash[WORKERS].close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the items of the hunt after all others, before `-k` and `-m` select among them."""
    if WORKERS not in config.stash:
        return
    for part in _parts(config):
        name = f"{part.label}-{part.area}-{part.ordinal}"
        items.append(HuntItem.from_parent(session, name=name, nodeid=f"skipproof::{name}", part=part))


def _commands(config: pytest.Config) -> dict[str, tuple[str, ...]]:
    """Return the commands of the engines that the options name, by label."""
    from skipproof.stand.workers.engines import UnknownEngine, find_engine

    commands: dict[str, tuple[str, ...]] = {}
    for name in config.getoption("skipproof_engine"):
        try:
            commands[name] = find_engine(name).command
        except UnknownEngine as error:
            raise pytest.UsageError(f"--skipproof-engine: {error}") from error
    for ordinal, command in enumerate(config.getoption("skipproof_command"), start=1):
        if not shlex.split(command):
            raise pytest.UsageError("--skipproof-command: it names no program")
        commands[f"command{ordinal}"] = tuple(shlex.split(command))
    return commands


def _parts(config: pytest.Config) -> Iterator["Part"]:
    """Yield the parts of the hunt."""
    from skipproof.stand.hunt.part import Part

    examples = config.getoption("skipproof_examples")
    findings = config.getoption("skipproof_findings")
    for label in config.stash[WORKERS].commands:
        for area in config.stash[WORKERS].areas:
            for ordinal, first in enumerate(range(0, examples, EXAMPLES_PER_ITEM)):
                yield Part(
                    label=label,
                    area=area,
                    ordinal=ordinal,
                    examples=min(EXAMPLES_PER_ITEM, examples - first),
                    seed=config.getoption("skipproof_seed") + ordinal * SEEDS_PER_ITEM,
                    findings=None if findings is None else Path(findings),
                )


def _replay_command(part: "Part", config: pytest.Config) -> str:
    """Return the command that runs one item alone."""
    commands = config.stash[WORKERS].commands
    named = part.label in config.getoption("skipproof_engine")
    engine = ["--skipproof-engine", part.label]
    command = ["--skipproof-command", shlex.join(commands[part.label])]
    options = [*(engine if named else command), "--skipproof-examples", str(part.examples)]
    options += ["--skipproof-seed", str(part.seed), "-k", f"skipproof and {part.area}"]
    return shlex.join(["pytest", *options])
