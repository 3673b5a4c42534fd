"""The hunt inside another project's pytest."""

import subprocess
import sys
from pathlib import Path

import pytest
from adapters_page import broken_program, program

from skipproof.stand.hunt import parts
from strategies.engines.questions import AREAS

pytest_plugins = ["pytester"]

# The classes of questions that an engine of one class is not asked.
OTHERS = len(AREAS) - 1
OWN_TEST = "def test_own():\n    pass\n"
PLUGIN = "import sys; import skipproof.stand.plugin; print(*sorted(sys.modules))"
HEAVY = {"hypothesis", "numpy", "oracles", "pyarrow", "pyspark", "rich", "strategies", "typer"}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one test, and workers beside it: sound, broken, idle and refusing."""
    monkeypatch.setattr(parts, "SECONDS_TO_SHRINK", 1.0)
    pytester.makepyfile(test_own=OWN_TEST)
    sound = program()
    workers = {
        "sound": sound,
        "broken": broken_program(),
        "idle": "raise SystemExit('no engine here')",
        "refusing": sound.replace('if table.get("partitions") or', "if True or"),
    }
    for name, text in workers.items():
        Path(pytester.path, f"{name}.txt").write_text(text, encoding="utf-8")
    return pytester


def command(project: pytest.Pytester, name: str) -> str:
    return f"--skipproof-command={sys.executable} {project.path / name}.txt"


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", "-k", "own or filter", *arguments)


def test_without_an_engine_pytest_runs_as_ever(project: pytest.Pytester) -> None:
    result = run(project, "--skipproof-examples=5", "--strict-markers")
    result.assert_outcomes(passed=1)
    assert "skipproof" not in str(project.runpytest_inprocess("--markers").stdout)


def test_the_plugin_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PLUGIN], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert "skipproof.stand.plugin" in modules
    assert HEAVY & modules == set()
    assert {name for name in modules if name.startswith("skipproof.stand.")} == {"skipproof.stand.plugin"}


def test_a_sound_engine_passes_beside_the_own_tests(project: pytest.Pytester) -> None:
    result = run(project, command(project, "sound"), "--skipproof-examples=20", "--strict-markers")
    result.assert_outcomes(passed=2, deselected=OTHERS)
    assert result.ret == pytest.ExitCode.OK


def test_a_finding_fails_its_item_and_is_told_in_full(project: pytest.Pytester) -> None:
    result = run(
        project, command(project, "broken"), "--skipproof-examples=100", "--skipproof-findings=found"
    )
    result.assert_outcomes(passed=1, failed=1, deselected=OTHERS)
    result.stdout.fnmatch_lines(
        [
            "*skipproof::command1-filter-0*",
            "plain 1 contradicts itself: rows lost",
            "  difference *",
            '  question *"call": "="*',
            '  tables *"blocks"*',
            "  folder *found/plain-1/seed-0-01-filter-rows-lost",
            "The same again: pytest --skipproof-command *--skipproof-seed 0*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    folder = project.path / "found" / "plain-1" / "seed-0-01-filter-rows-lost"
    assert {"finding.json", "question.json", "t"} <= {path.name for path in folder.iterdir()}


def test_an_engine_that_refuses_everything_does_not_pass(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "SECONDS_MAX", 1.0)
    result = run(project, command(project, "refusing"))
    result.assert_outcomes(passed=1, failed=3, deselected=3 * OTHERS)
    result.stdout.fnmatch_lines(["plain 1: 0 of 100 questions, 1 s; refused: * times tables of unlike files"])


def test_a_hunt_that_ran_out_of_time_warns(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine answers the questions about the first tables of this seed."""
    monkeypatch.setattr(parts, "SECONDS_MAX", 0.001)
    result = run(project, command(project, "sound"), "--skipproof-examples=100", "--skipproof-seed=4")
    result.assert_outcomes(passed=2, deselected=OTHERS, warnings=1)
    result.stdout.fnmatch_lines(["*plain 1: * of 100 questions, 0.001 s*"])


def test_a_class_that_the_engine_does_not_answer_is_skipped(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(
        command(project, "sound"), "--skipproof-examples=1", "-m", "skipproof", "-rs"
    )
    result.assert_outcomes(passed=1, skipped=OTHERS, deselected=1)
    result.stdout.fnmatch_lines(["SKIPPED*command1 does not answer the class dml"])


def test_an_engine_that_does_not_start_fails_with_its_last_words(project: pytest.Pytester) -> None:
    result = run(project, command(project, "idle"), "--skipproof-examples=1")
    result.assert_outcomes(passed=1, failed=1, deselected=OTHERS)
    result.stdout.fnmatch_lines(["command1: *it ended with status 1: no engine here"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--skipproof-engine=nosuch"], "--skipproof-engine: there is no engine nosuch; there are *"),
        (["--skipproof-command="], "--skipproof-command: it names no program"),
        (["--skipproof-command=true", "--skipproof-examples=0"], "--skipproof-examples: at least 1"),
    ],
    ids=["engine", "command", "examples"],
)
def test_what_cannot_be_run_is_refused_before_any_test(
    project: pytest.Pytester, arguments: list[str], said: str
) -> None:
    result = project.runpytest_inprocess(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {said}"])


def test_items_have_the_same_names_in_every_process(project: pytest.Pytester) -> None:
    arguments = (command(project, "sound"), "--skipproof-engine=duckdb", "--collect-only", "-q")
    shown = [
        [line for line in project.runpytest_subprocess(*arguments).outlines if line.startswith("skipproof::")]
        for _ in range(2)
    ]
    assert shown[0] == shown[1]
    assert len(shown[0]) == len(set(shown[0])) == 2 * len(AREAS) * 3
    assert {"skipproof::duckdb-filter-0", "skipproof::command1-topk-2"} <= set(shown[0])


def test_processes_share_the_items_and_a_project_without_tests_may_hunt(project: pytest.Pytester) -> None:
    (project.path / "test_own.py").unlink()
    result = project.runpytest_subprocess(
        command(project, "sound"), "--skipproof-examples=210", "-k", "filter", "-n2", "-v"
    )
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.OK
    text = str(result.stdout)
    assert all(f"PASSED skipproof::command1-filter-{ordinal}" in text for ordinal in range(3))
