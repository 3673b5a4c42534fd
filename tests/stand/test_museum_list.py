"""The museum's releases are named well; what convicts them is in their area, and results are kept."""

import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from mutants.small_engine.catalogue import MUTANTS
from skipproof.stand.hunt.state import Limits
from skipproof.stand.workers import engines
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.questions import Call, Column, Literal, Question, Relation
from strategies.engines.worlds import World

PATH = Path(__file__).parents[2] / "bench" / "museum.py"


@pytest.fixture(scope="module")
def museum():
    """The programs of `bench` import each other by their names alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PATH.parent)
        yield importlib.import_module(PATH.stem)


@pytest.fixture(scope="module")
def releases(museum):
    return importlib.import_module("museums.releases")


@pytest.fixture(scope="module")
def rooms(museum):
    return importlib.import_module("museums.rooms")


@pytest.fixture(scope="module")
def trials(museum):
    return importlib.import_module("museums.trials")


@pytest.mark.parametrize(("room", "count"), [(1, 14), (2, 17), (3, 31)])
def test_each_release_is_pinned_and_of_an_engine_that_can_be_asked(rooms, releases, room, count):
    assert len({release.name for release in rooms.ROOMS[room]}) == len(rooms.ROOMS[room]) == count
    for release in rooms.ROOMS[room]:
        assert release.engine in engines.engine_names()
        for pins in (release.pins, *((release.writer.pins,) if release.writer else ())):
            package, _, version = releases.environment_name(pins).rpartition("-")
            assert package == releases.pinned_package(pins)
            assert rooms.CURRENT[package][0].partition("[")[0] == package
            assert pins[0].endswith(f"=={version}")
        assert release.name.startswith(releases.environment_name(release.pins))
        assert release.area
        assert release.traits


def test_the_traits_of_a_trial_of_a_writer_name_its_release(rooms, releases):
    (release,) = [release for release in rooms.ROOMS[2] if release.writer is not None]
    package, _, version = releases.environment_name(release.writer.pins).rpartition("-")
    assert (f"written by {package} {version}",) in release.traits


def test_a_finding_is_in_an_area_if_it_has_a_trait_of_each(trials):
    traits = (("left join", "full join"), ("LIMIT",))
    assert trials.in_area(frozenset({"join: rows lost", "full join", "LIMIT"}), traits)
    assert not trials.in_area(frozenset({"join: rows lost", "full join"}), traits)
    assert trials.in_area(frozenset({"topk: rows lost"}), (("topk",),))
    assert not trials.in_area(frozenset({"topk: an error instead of rows"}), (("topk",),))


def test_a_pinned_release_that_is_installed_here_needs_no_environment(trials, monkeypatch, tmp_path):
    monkeypatch.setattr(trials.metadata, "version", lambda package: "1.0")
    assert trials.pinned_interpreter(("duckdb==1.0", "pyarrow"), tmp_path) is None
    python = tmp_path / "duckdb-1.1" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert trials.pinned_interpreter(("duckdb==1.1",), tmp_path) == str(python)


# Counts, so that a slow machine finds the same.
LIMITS = Limits(examples=300, findings=1, worlds_to_shrink=0)


@pytest.fixture
def current_trial(trials):
    """The trial of a current release, whose engine is a wrong small engine of this process."""
    worker = next(mutant for mutant in MUTANTS if mutant.name == "unstated is null").engine()
    release = SimpleNamespace(name="small-1", area="", traits=(("filter",),), is_current=True, without=())
    return trials._Judge(release, trials.Side(reader=worker, workers={}), None, None)


def test_a_current_release_is_convicted_by_itself_and_the_reference(current_trial):
    """No later release is asked; the engine with nothing to prune by and the reference must agree."""
    trial = current_trial.run(LIMITS, seed=0)
    assert trial.finding is not None
    assert any(trait.startswith("filter: ") for trait in trial.finding.traits)
    assert not trial.elsewhere
    result = trial.to_dict()
    assert result["convicted"]
    assert json.loads(json.dumps(result)) == result


def test_a_current_release_is_not_convicted_where_the_reference_has_no_opinion(
    trials, current_trial, monkeypatch
):
    silent = SimpleNamespace(opinion=lambda *_: SimpleNamespace(none="NaN"))
    monkeypatch.setattr(trials, "Reference", lambda _: silent)
    assert current_trial.run(LIMITS, seed=0).finding is None


@pytest.mark.parametrize(
    ("setting", "is_convicted"), [("skipping", True), ("threads", False)], ids=["cures", "cures nothing"]
)
def test_what_is_right_without_the_part_at_fault_convicts(
    trials, current_trial, monkeypatch, setting, is_convicted
):
    """Traits alone do not tell what a filter of a join was made from."""
    current_trial._release.without = ((setting, "off"),)

    def verdicts(_, world, write):
        return ["right" if world.settings.get("skipping") == "off" else "wrong"]

    monkeypatch.setattr(trials, "verdicts", verdicts)
    trial = current_trial.run(LIMITS, seed=0)
    assert (trial.finding is not None) is is_convicted
    assert is_convicted or trial.elsewhere


def test_a_contradiction_of_the_reference_alone_may_not_count(trials):
    """Most pruning is at fault only where the engine contradicts itself."""
    found = frozenset({"filter: rows lost", "against the reference"})
    assert trials.in_area(found, (("filter",),))
    assert not trials.in_area(found, (("filter",), (trials.BY_ITSELF,)))
    assert trials.in_area(found - {"against the reference"}, (("filter",), (trials.BY_ITSELF,)))


def test_functions_of_a_question_tell_an_area(trials):
    """IN and = are of one family of traits."""
    column = Column("a", "int32")
    tested = Call("in", (Call("+", (column, Literal(1, "int32"))), Literal(1, "int32")))
    question = Question(area="filter", source=Relation(table="t", where=tested), select=("a",))
    assert trials.functions(question) == {"function in", "function +"}


def test_a_release_is_not_asked_for_settings_and_layouts_that_it_lacks(trials):
    """A newer release may have lost an option, without which it can be right all the same."""

    def client(tables, layouts):
        return SimpleNamespace(
            hello=SimpleNamespace(tables=tables, layouts=layouts, settings={"threads": ["1"]})
        )

    options = {"rows_per_file": 1, "metrics": "none"}
    layout = StoredLayout(format_options=options)
    layouts = {"t": layout, "u": replace(layout, writer="w 1")}
    tables = {name: StoredTable(columns=(), blocks=(), layout=layout) for name, layout in layouts.items()}
    world = World(tables=tables, settings={"threads": "1", "old": "2"}, questions=())
    for reader, t, u in (
        (client("own", {"metrics": []}), {"metrics": "none"}, {"metrics": "none"}),
        (client("files", {"metrics": []}), {}, {"rows_per_file": 1}),
    ):
        side = trials.Side(reader=reader, workers={"w 1": client("files", {"rows_per_file": []})})
        supported = trials.supported_world(world, side)
        assert supported.settings == {"threads": "1"}
        assert [table.layout.format_options for table in supported.tables.values()] == [t, u]


def result(name, seed, **more):
    return {
        "release": name,
        "area": "",
        "seed": seed,
        "seconds_max": 5.0,
        "because": "",
        "convicted": True,
        "difference": "",
        "examples": 1,
        "seconds": 1.0,
        "elsewhere": [],
        **more,
    }


def test_an_error_of_the_stand_ends_one_trial_and_is_asked_again(museum, monkeypatch, tmp_path, capsys):
    """The others still have their results."""
    releases = museum.ROOMS[2][:2]

    def try_release(release, environments, *, seed, seconds_max):
        if release is releases[0]:
            raise IndexError("no such column")
        return museum.Trial(release=release, finding=None, elsewhere=(), examples=5, seconds=1.0)

    monkeypatch.setattr(museum, "try_release", try_release)
    monkeypatch.setattr(museum, "make_environments", lambda *_: None)
    monkeypatch.setattr(museum, "ProcessPoolExecutor", ThreadPoolExecutor)
    tasks = [(release, 7) for release in releases]
    results = {
        result["release"]: result for result in museum.run_trials(tasks, tmp_path, jobs=1, seconds_max=5.0)
    }
    assert results[releases[0].name]["because"] == "IndexError in the stand: no such column"
    assert results[releases[1].name]["examples"] == 5
    assert "Traceback" in capsys.readouterr().err
    path = tmp_path / "room.jsonl"
    path.write_text("".join(json.dumps(result) + "\n" for result in results.values()), encoding="utf-8")
    assert museum.saved_results(path, seconds_max=5.0).keys() == {(releases[1].name, 7)}


def test_results_of_the_same_code_and_seconds_are_taken_from_the_file_if_they_were_asked(museum, tmp_path):
    path = tmp_path / "room.jsonl"
    mine, other = {"code": museum.state_of_code()}, {"code": "another"}
    lines = [
        result("a", 1, **mine),
        result("a", 2, because="it ended", **mine),
        result("a", 3, **other),
        result("a", 4),
        result("b", 1, **mine | {"seconds_max": 300.0}),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert museum.saved_results(path, seconds_max=5.0) == {("a", 1): lines[0]}
    assert museum.saved_results(tmp_path / "none", seconds_max=5.0) == {}


@pytest.mark.parametrize(("convicted", "is_enough"), [(3, True), (2, True), (1, False)])
def test_two_of_three_seeds_convict(museum, convicted, is_enough):
    results = [result("a", seed, convicted=seed < convicted) for seed in range(3)]
    assert museum.is_convicted(results) is is_enough


def test_a_second_run_tries_only_what_the_file_lacks(museum, monkeypatch, tmp_path, capsys):
    """The table and the status have the results of both runs."""
    tried = []

    def run_trials(tasks, environments, *, jobs, seconds_max):
        for release, seed in tasks:
            tried.append((release.name, seed))
            of_run = {"code": museum.state_of_code(), "seconds_max": seconds_max}
            yield result(release.name, seed, convicted=seed != 9, **of_run)

    monkeypatch.setattr(museum, "run_trials", run_trials)
    name = museum.ROOMS[2][0].name
    for seeds in ("7,8", "7,8,9"):
        arguments = ["--room", "2", "--only", name, "--seeds", seeds, "--environments", str(tmp_path)]
        monkeypatch.setattr(sys, "argv", ["museum.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            museum.main()
        assert not ended.value.code
    assert tried == [(name, 7), (name, 8), (name, 9)]
    printed = capsys.readouterr()
    assert "NOT CONVICTED" in printed.err
    assert "1 of 1 convicted" in printed.out
    assert len((tmp_path / "room-2.jsonl").read_text(encoding="utf-8").splitlines()) == 3
