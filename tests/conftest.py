"""What every test shares: one small Spark session a worker, Hypothesis profiles, the number of workers."""

import gc
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from iceberg_runtime import runtime_jar
from machine import worker_count
from searches import ANEW as SEARCH_ANEW

from skipproof.sessions import spark_session
from strategies.constants import no_constants_of_modules

os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark_conf"))
SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")
DEEP_TESTS = Path(__file__).with_name("deep_tests.md")
DEEP, EXHAUSTIVE = "deep", "exhaustive"
SEED = "skipproof_hypothesis_seed"

# Continuous integration draws the same examples every time and keeps no database of earlier failures.
# "Too slow" is left out: it judges the machine, and a first example waits for Java.
settings.register_profile(
    "fast",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# The first before a change lands, the second, which takes many hours, before a release.
for name, max_examples in (DEEP, 200), (EXHAUSTIVE, 2_000):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=max_examples,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("fast")


def goes_deep(config: pytest.Config) -> bool:
    """Tell whether a run draws other examples each time, and runs what the default run leaves out."""
    return config.getoption("--hypothesis-profile", default=None) in (DEEP, EXHAUSTIVE)


def pytest_configure(config: pytest.Config) -> None:
    """Give a deep run one seed, the same in all its workers, so that the run can be repeated.

    It searches for what other runs remember.

    Any other run draws no constants of the project's modules: which modules a worker has imported depends on
    the tests that it got before.
    """
    if not goes_deep(config):
        whole_run = ExitStack()
        whole_run.enter_context(no_constants_of_modules())
        config.add_cleanup(whole_run.close)
        return
    os.environ[SEARCH_ANEW] = "1"
    if config.getoption("--hypothesis-seed", default=None) is None:
        drawn = str(random.SystemRandom().randrange(2**32))
        config.option.hypothesis_seed = getattr(config, "workerinput", {}).get(SEED, drawn)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the seed to a worker; it gets the command line as it was typed."""
    node.workerinput[SEED] = node.config.getoption("--hypothesis-seed", default=None)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the seed of a deep run."""
    seed = config.getoption("--hypothesis-seed", default=None)
    return None if seed is None else f"hypothesis seed: {seed} (repeat with --hypothesis-seed={seed})"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use the session of Spark, and the slow ones, which `make test-times` lists.

    Tests marked `deep` stay in a deep run only.

    A name that differs between two processes is refused: the workers would not agree on what there is.
    """
    slow = frozenset(SLOW_TESTS.read_text(encoding="utf-8").split())
    listed_as_deep = DEEP_TESTS.read_text(encoding="utf-8")
    for item in items:
        if item.nodeid.partition("[")[0] in slow:
            item.add_marker("slow")
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.get_closest_marker(DEEP) and f"`{item.nodeid.partition('[')[0]}`" not in listed_as_deep:
            raise pytest.UsageError(f"{item.nodeid}: say in {DEEP_TESTS} what guards the same")
        if "frozenset(" in item.nodeid or " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: this name depends on the process; give its cases ids")
    if not goes_deep(config):
        left_out = [item for item in items if item.get_closest_marker(DEEP)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(DEEP)]


def pytest_collection_finish() -> None:
    """Let the garbage collector look for cycles seldom, and never among what is imported by now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` means here."""
    return worker_count(os.environ)


@pytest.fixture(scope="session")
def deep(request: pytest.FixtureRequest) -> bool:
    """True in a run that goes further than the default run."""
    return goes_deep(request.config)


@pytest.fixture(scope="session")
def exhaustive(request: pytest.FixtureRequest) -> bool:
    """True in a run that goes as far as it can."""
    return bool(request.config.getoption("--hypothesis-profile", default=None) == EXHAUSTIVE)


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[object]:
    """The worker's one Spark session: one core, a small heap, its own directories."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    small = {
        "spark.master": "local[1]",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "1",
        # Each table that is broadcast takes a page, as long as its query is known.
        "spark.buffer.pageSize": "1m",
    }
    jar = runtime_jar()
    if jar is not None:
        small["spark.driver.extraClassPath"] = str(jar)
    if goes_deep(request.config):
        # A default run leaves these out, as `spark_conf` says; a deep run has what users have.
        small |= {
            "spark.sql.codegen.wholeStage": "true",
            "spark.sql.codegen.factoryMode": "FALLBACK",
            "spark.sql.adaptive.enabled": "true",
        }
    with spark_session(small) as session:
        yield session


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """A function that runs `skipproof ARGUMENTS` in this process and returns status, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        from skipproof.commands import cli

        monkeypatch.setattr(sys, "argv", ["skipproof", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    return run
