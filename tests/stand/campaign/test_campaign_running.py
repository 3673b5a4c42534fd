"""A campaign goes on where a killed run was, and its state is whole or not there."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from campaign_runs import InProcess, campaign_of, plan_of, run
from campaign_slices import finished_slice

from mutants.stand.campaigns import STATE
from pruning.errors import InputError
from skipproof.stand.campaign import running
from skipproof.stand.campaign.plan import Plan
from skipproof.stand.campaign.slices import CampaignStore, Slice, read_campaign
from skipproof.stand.hunt.corpus import Corpus
from skipproof.stand.hunt.hunting import Hunt

pytestmark = pytest.mark.usefixtures("quick_hunts")

ROOT = Path(__file__).parents[3]


def without_times(campaign: dict[str, list[Slice]]) -> dict[str, list[Any]]:
    """The slices of a campaign with all times as 0."""
    times = {"seconds": 0.0, "seconds_shrinking": 0.0, "seconds_total": 0.0}
    return {
        label: [
            msgspec.structs.replace(
                finished,
                **times,
                findings=tuple(msgspec.structs.replace(kept, seconds=0.0) for kept in finished.findings),
            )
            for finished in slices
        ]
        for label, slices in campaign.items()
    }


def finding_files(directory: Path) -> dict[str, bytes]:
    """The texts of the folders of findings, which have no times but in `finding.json`."""
    paths = (directory / "findings").rglob("*")
    return {
        str(path.relative_to(directory)): re.sub(rb'"seconds": [\d.]+', b"", path.read_bytes())
        for path in paths
        if path.is_file()
    }


def test_engines_take_turns_and_each_has_its_examples(tmp_path) -> None:
    store, plan = CampaignStore(tmp_path), plan_of(60)
    with store.open(plan):
        slices = list(campaign_of(plan, store).run(lambda *_: None))
    assert [(finished.label, finished.seed) for finished in slices] == [
        (label, 3_000_000 + ordinal) for ordinal in range(3) for label in ("broken", "sound")
    ]
    assert read_campaign(tmp_path) == {"broken": slices[::2], "sound": slices[1::2]}


def check_nothing_is_kept_twice(campaign: dict[str, list[Slice]]) -> None:
    """The engine fails in every second slice, of one cause, which is kept once and counted on."""
    assert [len(finished.findings) for finished in campaign["broken"]] == [0, 1, 0, 0, 0, 0]
    assert [finished.again for finished in campaign["broken"]] == [{}, {}, {}, {0: 4}, {}, {0: 5}]
    assert not any(finished.findings for finished in campaign["sound"])


def test_a_slice_knows_what_earlier_ones_have_found(whole) -> None:
    _, directory, campaign = whole
    check_nothing_is_kept_twice(campaign)
    (folder,) = (directory / "findings" / "broken").iterdir()
    (kept,) = campaign["broken"][1].findings
    assert folder.name == kept.folder == "00001-01-filter-rows-lost"
    assert (folder / "question.json").is_file()


def test_a_finished_campaign_starts_no_engine(whole, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, directory, campaign = whole
    monkeypatch.setattr(running, "Worker", None)
    assert run(plan, directory) == campaign


def killed_within_a_slice(monkeypatch: pytest.MonkeyPatch, plan: Plan, directory: Path) -> None:
    """End when the second slice of an engine has its findings, and a folder more, but is not written."""

    def kill(store: CampaignStore, finished: Slice) -> None:
        if finished.ordinal == 1:
            (store.findings_of(finished.label) / "00001-09-filter-rows-lost").mkdir(parents=True)
            (store.findings_of(finished.label) / ".00001-10-filter-rows-lost.new").mkdir()
            raise KeyboardInterrupt
        add(store, finished)

    add = CampaignStore.add
    with monkeypatch.context() as patch:
        patch.setattr(CampaignStore, "add", kill)
        with pytest.raises(KeyboardInterrupt):
            run(plan, directory)


def killed_between_slices(_: pytest.MonkeyPatch, plan: Plan, directory: Path) -> None:
    run(plan, directory, slices=5)


def check_a_killed_run_goes_on(
    killed: Callable[..., None], monkeypatch: pytest.MonkeyPatch, whole: Any, tmp_path: Path
) -> None:
    plan, directory, campaign = whole
    killed(monkeypatch, plan, tmp_path / "results")
    assert without_times(run(plan, tmp_path / "results")) == without_times(campaign)
    assert finding_files(tmp_path / "results") == finding_files(directory)
    folders = (tmp_path / "results" / "findings").glob("*/*")
    assert [folder.name for folder in folders] == ["00001-01-filter-rows-lost"]


@pytest.mark.parametrize("killed", [killed_within_a_slice, killed_between_slices])
def test_a_killed_run_goes_on_as_if_it_had_not_been(killed, whole, tmp_path, monkeypatch) -> None:
    check_a_killed_run_goes_on(killed, monkeypatch, whole, tmp_path)


def test_a_run_that_ends_after_each_slice_comes_to_the_same(whole, tmp_path) -> None:
    plan, _, campaign = whole
    for count in range(1, 13):
        interim = run(plan, tmp_path, slices=1)
        assert sum(map(len, interim.values())) == count
    assert without_times(interim) == without_times(campaign)


# The slice is written beside its place when the process is killed.
KILLING = """
import os, signal, sys
from pathlib import Path
from skipproof.stand.campaign.slices import CampaignStore, Slice
import msgspec
store, finished = CampaignStore(Path(sys.argv[1])), msgspec.json.decode(sys.argv[2], type=Slice)
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
store.add(finished)
"""


def test_a_slice_during_whose_writing_the_process_is_killed_is_run_again(whole, tmp_path) -> None:
    """By SIGKILL, which no handler sees."""
    plan, _, campaign = whole
    run(plan, tmp_path, slices=2)
    slice_text = msgspec.json.encode(campaign["broken"][1]).decode()
    ended = subprocess.run(
        [sys.executable, "-c", KILLING, str(tmp_path), slice_text],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(list((tmp_path / "slices" / "broken").iterdir())) == 2
    assert len(read_campaign(tmp_path)["broken"]) == 1
    assert without_times(run(plan, tmp_path)) == without_times(campaign)


# Mutants under which a cause is kept or counted more than once.
KEEPING = {name for name in STATE if name.startswith(("a slice forgets", "a slice counts"))}


@pytest.mark.parametrize("name", STATE)
def test_wrong_state_is_found_out(name, whole, tmp_path, monkeypatch) -> None:
    def check() -> None:
        if name in KEEPING:
            check_nothing_is_kept_twice(run(whole[0], tmp_path / "results"))
        elif name == "a slice is written in place":
            check_a_slice_is_written_whole(tmp_path, monkeypatch)
        else:
            check_a_killed_run_goes_on(killed_within_a_slice, monkeypatch, whole, tmp_path)

    monkeypatch.setattr(*STATE[name])
    with pytest.raises((AssertionError, InputError, pytest.fail.Exception)):
        check()


def check_a_slice_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no file where it cannot be put in its place."""
    store = CampaignStore(tmp_path / "results")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with store.open(plan_of()), monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(InputError, match="No space left on device"):
            store.add(finished_slice())
    assert list((tmp_path / "results" / "slices" / "plain").iterdir()) == []


def test_a_slice_is_written_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    check_a_slice_is_written_whole(tmp_path, monkeypatch)


def test_results_of_another_campaign_are_refused(whole) -> None:
    plan, directory, _ = whole
    with pytest.raises(
        InputError, match="results of a campaign with another `seeds`: name another directory"
    ):
        run(msgspec.structs.replace(plan, seeds=(4,)), directory)


def test_two_runs_at_once_are_refused(whole) -> None:
    plan, directory, _ = whole
    with CampaignStore(directory).open(plan), pytest.raises(InputError, match="is in use by another run"):
        run(plan, directory)


@pytest.mark.parametrize("content", [b"", b"{", b'{"label": 3}', b"[]"])
def test_a_slice_that_cannot_be_read_is_named(content: bytes, tmp_path) -> None:
    plan = plan_of()
    store = CampaignStore(tmp_path / "results")
    with store.open(plan):
        store.add(finished_slice(label="broken"))
    path = tmp_path / "results" / "slices" / "broken" / "00000.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"00000\.json cannot be read as a part of a campaign"):
        run(plan, tmp_path / "results")


def test_a_slice_that_is_missing_is_named(tmp_path) -> None:
    store = CampaignStore(tmp_path / "results")
    store.add(finished_slice(ordinal=1))
    with pytest.raises(InputError, match="lacks the slice 0"):
        store.read_slices("plain")


def test_a_finding_that_is_missing_is_named(tmp_path) -> None:
    store = CampaignStore(tmp_path / "results")
    store.add(finished_slice(again={0: 2}))
    with pytest.raises(InputError, match="the slice 0 counts a finding that is missing"):
        store.read_slices("plain")


def test_a_folder_without_a_campaign_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"has no campaign: campaign\.json is missing"):
        read_campaign(tmp_path)


def test_an_interrupted_slice_is_kept_and_the_next_run_goes_on(tmp_path, monkeypatch) -> None:
    """Ctrl-C leaves a shorter slice; nothing is asked after it, and no question twice."""
    hunt_of_slice, closed = running.hunt, list[InProcess]()

    def interrupted_hunt(*arguments: Any, **options: Any) -> Hunt:
        state = hunt_of_slice(*arguments, **options)
        state.examples, state.interrupted = 5, True
        return state

    with monkeypatch.context() as patch:
        patch.setattr(running, "hunt", interrupted_hunt)
        patch.setattr(InProcess, "close", lambda worker: closed.append(worker))
        first = run(plan_of(40), tmp_path)
    # The two workers that were only looked at, then the one with a reply to come, and once more at the end.
    assert len(closed) == 4
    assert [(finished.interrupted, finished.examples) for finished in first["broken"]] == [(True, 5)]
    assert first["sound"] == []
    campaign = run(plan_of(40), tmp_path)
    assert campaign["broken"][0] == first["broken"][0]
    assert [finished.examples for finished in campaign["broken"]] == [5, 20, 20]
    assert len({finished.seed for finished in campaign["broken"]}) == 3


def test_the_first_slice_asks_the_corpora_and_all_slices_keep(tmp_path, monkeypatch) -> None:
    """A corpus that cannot be read is named with the key of the file."""
    calls = []

    class Watched(Corpus):
        def __init__(self, directory: Path, *, asked: bool = False) -> None:
            calls.append((directory.name, asked))
            super().__init__(directory, asked=asked)

    monkeypatch.setattr("skipproof.stand.campaign.running.Corpus", Watched)
    plan = msgspec.structs.replace(plan_of(60), corpora=str(tmp_path / "corpora"))
    store = CampaignStore(tmp_path / "results")
    with store.open(plan):
        slices = list(campaign_of(plan, store).run(lambda *_: None))
    engines = {finished.label: finished.engine for finished in slices}
    assert calls == [(engines[finished.label], finished.ordinal > 0) for finished in slices]
    index = next((tmp_path / "corpora").glob("*/index.json"))
    assert json.loads(index.read_text())["rounds"].keys() == {str(finished.seed) for finished in slices}
    index.write_text("no JSON")
    other = CampaignStore(tmp_path / "others")
    with other.open(plan), pytest.raises(InputError, match=r"nightly.toml: `corpora`: .*index.json: "):
        list(campaign_of(plan, other).run(lambda *_: None))
