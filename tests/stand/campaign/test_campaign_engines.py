"""An engine that a campaign cannot hunt in gets one sentence, which names the file and the key."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from campaign_runs import InProcess, plan_of, run

from mutants.stand.campaigns import MISMATCH
from pruning.errors import InputError
from skipproof.stand.campaign import running
from skipproof.stand.campaign.plan import parse_plan
from skipproof.stand.campaign.running import UnusableEngine, find_command
from skipproof.stand.workers import engines
from skipproof.stand.workers.environments import NotInstalled
from skipproof.stand.workers.workers import Worker

pytestmark = pytest.mark.usefixtures("quick_hunts")


def check_another_version_is_refused(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(plan_of(20), directory)
    with monkeypatch.context() as patch:
        patch.setattr(InProcess, "version", "2")
        assert run(plan_of(20), directory)
        sentence = r"nightly.toml: `engine\[0\].command`: it is 2 now, and its slices in .* are of 1: name"
        with pytest.raises(InputError, match=sentence):
            run(plan_of(40), directory)


def test_an_engine_of_another_version_is_refused(tmp_path, monkeypatch) -> None:
    """Else the figures of a release would be those of two; a finished campaign starts no engine."""
    check_another_version_is_refused(tmp_path, monkeypatch)


def test_mixed_versions_are_found_out(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(*MISMATCH)
    with pytest.raises(pytest.fail.Exception):
        check_another_version_is_refused(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ('name = "nosuch"', "`engine[0].name`: there is no engine nosuch; there are arrow, "),
        ('name = "nosuch"\npins = ["nosuch==1"]', "`engine[0].name`: there is no engine nosuch"),
        (
            'name = "arrow"\npython = "/nowhere/python"',
            "`engine[0].python`: /nowhere/python cannot be started: ",
        ),
        (
            'name = "x"\ncommand = ["/nowhere/worker"]',
            "`engine[0].command`: /nowhere/worker cannot be started: ",
        ),
    ],
)
def test_an_engine_that_is_absent_gets_one_sentence(keys: str, sentence: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(running, "Worker", Worker)
    plan = parse_plan(f"[[engine]]\n{keys}\nseconds = 1")
    with pytest.raises(InputError) as raised:
        run(plan, tmp_path)
    assert str(raised.value).startswith(f"nightly.toml: {sentence}")
    assert not (tmp_path / "slices").exists()


def test_a_file_that_is_mended_before_the_first_slice_goes_on(tmp_path) -> None:
    """The directory has no result yet that could be of another campaign."""
    absent = msgspec.structs.replace(plan_of(20).engine[0], name="nosuch", command=None)
    with pytest.raises(InputError, match="there is no engine nosuch"):
        run(msgspec.structs.replace(plan_of(20), engine=(absent,)), tmp_path)
    assert set(run(plan_of(20), tmp_path)) == {"broken", "sound"}


def test_an_engine_without_the_classes_of_questions_gets_one_sentence(tmp_path) -> None:
    plan = msgspec.structs.replace(plan_of(), areas=("dml",))
    with pytest.raises(
        InputError,
        match=r"^nightly.toml: `engine\[0\].areas`: broken answers aggregate, .*, and none of dml$",
    ):
        run(plan, tmp_path)


def test_pins_are_installed_into_an_environment(tmp_path, monkeypatch) -> None:
    def install(name: str, pins: Any, directory: Path) -> Path:
        return directory / name / "bin" / "python"

    monkeypatch.setattr(running, "environment", install)
    (engine,) = parse_plan('[[engine]]\nname = "duckdb"\npins = ["duckdb==1.1.0"]\nseconds = 1').engine
    sentences: list[str] = []
    command = find_command(engine, tmp_path, lambda text, *_: sentences.append(text))
    assert sentences == ["duckdb-1.1.0: installing duckdb==1.1.0"]
    assert Path(command[0]).is_relative_to(tmp_path)
    assert Path(command[0]).parent.parent.name.startswith("duckdb-1.1.0-")
    assert command[-1] == "duckdb"


def test_pins_that_cannot_be_installed_are_named(tmp_path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise NotInstalled("No matching distribution found for duckdb==0")

    monkeypatch.setattr(running, "environment", fail)
    plan = parse_plan('[[engine]]\nname = "duckdb"\npins = ["duckdb==0"]\nseconds = 1')
    with pytest.raises(InputError, match=r"`engine\[0\].pins`: No matching distribution found for duckdb==0"):
        run(plan, tmp_path)


def test_an_engine_that_names_its_interpreter_takes_no_other(tmp_path, monkeypatch) -> None:
    """An entry point gives the whole command: the release of the pins would never be asked."""
    point = SimpleNamespace(name="own", load=lambda: ["/own/python", "worker.py"])
    monkeypatch.setattr(engines, "entry_points", lambda group: [point])
    for keys, sentence in (
        ("", None),
        ('python = "/other/python"\n', "the package of own names its own interpreter: give `command`"),
    ):
        (engine,) = parse_plan(f'[[engine]]\nname = "own"\n{keys}seconds = 1').engine
        if sentence is None:
            assert find_command(engine, tmp_path, lambda *_: None) == ("/own/python", "worker.py")
        else:
            with pytest.raises(UnusableEngine, match=sentence) as raised:
                find_command(engine, tmp_path, lambda *_: None)
            assert raised.value.key == "python"
