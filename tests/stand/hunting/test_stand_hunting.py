"""A hunt finds what a wrong pruner does, makes it small, and leaves it where it can be replayed."""

import contextlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mutants.small_engine.catalogue import MUTANTS
from oracles.answers.contradictions import Contradiction, Discrepancy
from skipproof.commands import checking
from skipproof.commands.cli import app
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.findings import Blame, confirm, folder_names, save_finding
from skipproof.stand.hunt.hunting import EarlierFinding, Hunt, Limits, capabilities, hunt
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.workers.engines import find_engine
from skipproof.stand.workers.workers import Worker
from strategies.engines.files import write_stored
from strategies.engines.questions import Call, Column, Question, Relation

WRONG = next(one for one in MUTANTS if one.name == "lower for upper")
OFTEN_WRONG = next(mutant for mutant in MUTANTS if mutant.name == "unstated is null")


def silent():
    """Progress that nobody sees."""
    return contextlib.nullcontext(lambda *_: None)


@pytest.fixture(scope="module")
def finished_hunt():
    wrong = WRONG.engine()
    # How soon shrinking ends is not the machine's affair.
    limits = Limits(
        examples=400, findings=1, seconds_to_shrink=600.0, worlds_to_shrink=250, shrinking_share=0.999
    )
    return wrong, hunt(wrong, capabilities(wrong, areas=("filter",)), limits)


def test_a_wrong_pruner_is_found_and_its_failure_made_small(finished_hunt):
    """One condition, few rows: what is drawn has up to 24 rows and six questions."""
    _, state = finished_hunt
    (finding,) = state.findings
    (question,) = finding.world.questions
    (table,) = finding.world.tables.values()
    assert finding.outcome.contradiction is not None
    assert finding.examples <= 400
    assert sum(map(len, table.blocks)) <= 6
    assert len(list(question.terms)) == 1
    assert traits(finding.world, question, finding.outcome.contradiction) == finding.traits


def test_the_same_seed_hunts_the_same(finished_hunt):
    wrong, state = finished_hunt
    again = hunt(
        wrong, capabilities(wrong, areas=("filter",)), Limits(examples=400, findings=1, seconds_to_shrink=0.0)
    )
    assert [finding.examples for finding in again.findings] == [one.examples for one in state.findings]


def test_a_sound_pruner_is_not_accused():
    sound = SmallEngine()
    state = hunt(sound, capabilities(sound), Limits(examples=300))
    assert state.findings == []
    assert state.examples >= 300


def test_a_finding_is_blamed_on_the_statistics_that_cause_it(finished_hunt):
    wrong, state = finished_hunt
    confirmed = confirm(wrong, state.findings[0], write=write_stored)
    assert confirmed.blame is Blame.STATISTICS


def test_a_limit_that_is_forgotten_is_laid_to_the_engine_not_to_statistics(finished_hunt):
    """An engine that is wrong in memory too does not prune wrongly."""

    class Deaf(SmallEngine):
        """Answers questions without their LIMIT."""

        def ask(self, **request):
            questions = [{**question, "limit": None} for question in request["questions"]]
            return super().ask(**{**request, "questions": questions})

    deaf = Deaf()
    state = hunt(
        deaf, capabilities(deaf, areas=("limit",)), Limits(examples=100, findings=1, seconds_to_shrink=5.0)
    )
    assert confirm(deaf, state.findings[0], write=write_stored).blame is Blame.ENGINE


def test_an_error_stays_the_same_error_while_it_is_made_small():
    """Else a table that an engine rightly refuses may hide what it did wrong."""

    class Picky(SmallEngine):
        """Fails by files in one way, and by files of small integers in another."""

        def ask(self, **request):
            (table,) = request["tables"].values()
            if "files" not in table:
                return super().ask(**request)
            is_small = table["columns"][0]["type"] == "int32"
            return {"error": "TypeError: small" if is_small else "KeyError: large", "kind": "failed"}

    picky = Picky()
    what = replace(capabilities(picky, areas=("filter",)), types_missing=frozenset({"int32"}))
    (finding,) = hunt(picky, what, Limits(examples=50, findings=1, worlds_to_shrink=100)).findings
    assert finding.outcome.contradiction is not None
    assert finding.outcome.contradiction.difference.startswith("KeyError")


def test_what_is_found_before_the_keyboard_interrupts_is_told(monkeypatch):
    """The hunt of the first engine ends and is judged; the second is not begun."""
    wrong = WRONG.engine()

    def hunt_until_finding(*args, progress, **kwargs):
        def interrupt_at_finding(state):
            progress(state)
            if state.findings:
                raise KeyboardInterrupt

        return hunt(*args, **kwargs | {"progress": interrupt_at_finding})

    monkeypatch.setattr(checking, "Worker", lambda command: contextlib.nullcontext(wrong))
    monkeypatch.setattr(checking, "hunt", hunt_until_finding)
    request = checking.CheckRequest(examples=4_000, seconds=None, area="filter")
    (checked,) = checking.check_each(["duckdb", "polars"], request, silent)
    assert checked.hunt.interrupted
    assert checked.hunt.examples < 4_000
    # The small engine makes bloom filters and pages itself, also where the footer has no statistics.
    assert Blame.STATISTICS in {confirmed.blame for confirmed in checked.confirmed}
    assert checked.to_dict()["interrupted"]


def test_an_answer_that_is_right_when_asked_again_is_said_to_be_unsteady(finished_hunt):
    _, state = finished_hunt
    assert confirm(SmallEngine(), state.findings[0], write=write_stored).blame is Blame.UNSTEADY


def test_the_folder_of_a_finding_replays_it_with_the_engine_alone(tmp_path):
    """The script prints the wrong rows; here of a question that DuckDB answers rightly."""
    wrong = WRONG.engine()
    # DuckDB loses NaN itself.
    what = replace(
        capabilities(wrong, areas=("filter",)),
        types_missing=frozenset({"float32", "float64"}),
        # DuckDB does not have them.
        settings={},
    )
    (finding,) = hunt(wrong, what, Limits(examples=400, findings=1, worlds_to_shrink=50)).findings
    with Worker(find_engine("duckdb").command) as worker:
        confirmed = confirm(worker, finding, write=write_stored)
        (name,) = folder_names([confirmed])
        save_finding(worker, replace(confirmed, blame=Blame.STATISTICS), tmp_path / name, write=write_stored)
    assert name.startswith("01-filter-rows-")
    folder = tmp_path / name
    assert {path.name for path in folder.iterdir()} >= {
        "actual.json", "expected.json", "finding.json", "question.json", "replay.py", "t",
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "replay.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    expected = json.loads((folder / "expected.json").read_text())["rows"]
    assert len(ran.stdout.splitlines()) == len(expected)
    assert json.loads((folder / "finding.json").read_text())["verdict"] in name.replace("-", " ")


def test_the_folder_of_an_error_replays_it(finished_hunt, tmp_path):
    """The error is DuckDB's own, of a column that is not there."""
    _, state = finished_hunt
    (finding,) = state.findings
    absent = Call("is null", (Column("absent", "int32"),))
    question = Question(area="filter", source=Relation(table="t", where=absent), select=("rid",))
    failed = replace(
        finding,
        world=replace(finding.world, questions=(question,)),
        outcome=replace(
            finding.outcome,
            question=question,
            contradiction=Contradiction(Discrepancy.RAISED, "BinderException: of two\r\nlines"),
        ),
    )
    with Worker(find_engine("duckdb").command) as worker:
        confirmed = confirm(worker, failed, write=write_stored)
        (name,) = folder_names([confirmed])
        save_finding(worker, confirmed, tmp_path / name, write=write_stored)
    assert name == "01-filter-an-error-instead-of-rows"
    ran = subprocess.run(
        [sys.executable, "replay.py"], cwd=tmp_path / name, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "BinderException: Binder Error" in ran.stderr


def test_the_stand_tells_no_more_than_it_knows():
    """An error may be there without statistics too, and those in page headers are never taken out."""
    assert "statistics" not in Discrepancy.RAISED.value
    assert all("statistics in the footer" in one.value for one in Blame if "statistics" in one.value)
    page = (Path(__file__).parents[3] / "docs" / "reference" / "stand.md").read_text(encoding="utf-8")
    told = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("|")}
    assert {one.value for one in (*Discrepancy, *Blame)} <= told


def test_check_prints_a_verdict_and_its_status_is_the_verdict(tmp_path):
    """DuckDB alone, few examples; whether it is found wrong is its own affair."""
    arguments = ["check", "--engine", "duckdb", "--examples", "40", "--class", "filter"]
    report = tmp_path / "report.html"
    ran = CliRunner().invoke(app, [*arguments, "--json", "--report", str(report)])
    (found,) = json.loads(ran.stdout)
    assert ran.exit_code == (1 if found["findings"] else 0)
    assert found["engine"] == "duckdb"
    assert found["examples"] >= 40
    assert found["areas"] == ["filter"]
    assert "duckdb" in report.read_text(encoding="utf-8")
    plain = CliRunner().invoke(app, arguments)
    assert "40 examples of filter" in plain.stdout or "examples of filter" in plain.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--engine", "nosuch"], "there is no engine nosuch"),
        (["--engine", "duckdb", "--class", "nosuch"], "it is one of filter, limit"),
        (["--engine", "duckdb", "--class", "dml"], "duckdb answers aggregate, filter"),
        (["--engine", "duckdb", "--python", "/nowhere/python"], "cannot be started"),
        (["--engine", "duckdb", "--writer-python", "/nowhere"], "--writer-python: it runs a --writer"),
        (["--engine", "duckdb", "--corpus", "{corpus}"], "--corpus: {corpus}/duckdb/index.json: Expected"),
    ],
    ids=["engine", "class", "class of this engine", "interpreter", "writer", "corpus"],
)
def test_bad_usage_gets_one_sentence(arguments, sentence, tmp_path):
    (tmp_path / "duckdb").mkdir()
    (tmp_path / "duckdb" / "index.json").write_text("[]")
    arguments = [argument.format(corpus=tmp_path) for argument in arguments]
    sentence = sentence.format(corpus=tmp_path)
    ran = CliRunner().invoke(app, ["check", *arguments])
    assert ran.exception is not None
    assert sentence in str(ran.exception)


def test_hunts_of_two_seeds_have_no_round_in_common():
    """A hunt that goes on for long must not become the one of the next seed."""
    seeds = [set[int](), set[int]()]
    for hunt_seed, own_seeds in enumerate(seeds):
        wrong = OFTEN_WRONG.engine()
        limits = Limits(examples=150, worlds_to_shrink=0)
        state = hunt(wrong, capabilities(wrong, areas=("filter",)), limits, hunt_seed=hunt_seed)
        own_seeds.update(finding.seed for finding in state.findings)
    assert all(seeds)
    assert not seeds[0] & seeds[1]


def test_failures_of_an_earlier_hunt_are_counted_and_not_kept():
    """The second hunt knows the findings of the first, which the same questions would give again.

    Those that only resemble a finding, or wait beside another of their kind, the second may keep.
    """
    wrong = OFTEN_WRONG.engine()
    able, limits = capabilities(wrong, areas=("filter",)), Limits(examples=200, worlds_to_shrink=0)
    first = hunt(wrong, able, limits, hunt_seed=12)
    assert first.findings
    shrunk = []
    for again in (0, 1_001):
        earlier = [EarlierFinding(traits=finding.traits, again=again) for finding in first.findings]
        second = hunt(wrong, able, limits, hunt_seed=12, earlier=earlier)
        assert not any(
            before.traits <= finding.traits for before in first.findings for finding in second.findings
        )
        duplicates = second.again.total() - again * len(earlier)
        assert duplicates + second.unshrunk + len(second.findings) == second.failures
        shrinking = hunt(wrong, able, replace(limits, worlds_to_shrink=1), hunt_seed=12, earlier=earlier)
        shrunk.append(shrinking.worlds_shrinking)
    # The first duplicates are shrunk, then few, also where an earlier hunt had the first.
    assert shrunk[0] > shrunk[1]


def test_findings_of_earlier_hunts_come_first_where_duplicates_are_counted(finished_hunt):
    _, finished = finished_hunt
    (finding,) = finished.findings
    other, like_it = frozenset({"join: rows lost", "NaN"}), finding.traits | {"NULL"}
    state = Hunt(earlier=(other,), findings=[finding])
    assert [state.similar_finding(failure) for failure in (other, like_it)] == [0, 1]
    assert state.similar_finding(frozenset({"topk: rows lost"})) is None
    state.again.update([0, 0, 1])
    assert state.count_of(0) == 2
