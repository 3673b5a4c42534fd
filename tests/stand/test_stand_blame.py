"""A finding blames the form that is wrong, and names only conditions that were tried."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from oracles.answers.contradictions import Contradiction, Discrepancy, Oracle
from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.examining import examine
from skipproof.stand.hunt.findings import (
    Blame,
    ConfirmedFinding,
    blame_text,
    confirm,
    finding_summary,
    folder_texts,
)
from skipproof.stand.hunt.hunting import Finding
from skipproof.stand.reference import meanings
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.meanings import MeaningDifference
from skipproof.stand.workers.workers import EngineClient, TimedOut, Worker
from strategies.engines.engine_tables import ORC, StoredLayout, StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import Column, Json, Question, Relation
from strategies.engines.worlds import World

A, RID = Column("a", "int32"), Column("rid", "int64")
# Ends with every question of files.
DYING = """
from skipproof.stand.adapters.serving import Adapter, flattened, main

class Dying(Adapter):
    def hello(self):
        return {"engine": "dying", "version": "1", "areas": ["filter"]}
    def setup(self, tables, settings):
        return f"held = {flattened(tables['t']) if 'blocks' in tables['t'] else 'None'}\\n", {}
    def ask(self, question):
        return "import os\\nanswer = held or os._exit(3)\\n"

main(Dying())
"""
ALL = Question(area="filter", source=Relation(table="t"), select=("a", "rid"))
FIRST = Question(area="limit", source=Relation(table="t"), select=("a", "rid"), limit=3)


class Losing(SmallEngine):
    """An engine that loses the first row of each answer over some forms of a table."""

    def __init__(self, loses: Callable[[Mapping[str, Json]], bool], *, tables: str = "files") -> None:
        super().__init__(tables=tables)
        self._loses = loses

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answers, with a program that names the form."""
        table = request["tables"]["t"]
        answers = super().ask(**request)["answers"]
        first = int(self._loses(table))
        source = "plain" if table.get("statistics") is False else "pruned"
        return {"answers": [one | {"rows": one["rows"][first:], "source": source} for one in answers]}


def confirm_failure(
    engine: EngineClient, question: Question = ALL, *, beside: StoredTable | None = None, **layout: Any
) -> ConfirmedFinding:
    """Confirm the only failure of an engine in a world of two blocks, and of another table beside."""
    table = StoredTable(columns=(A, RID), blocks=(((1, 0),), ((2, 1),)), layout=StoredLayout(**layout))
    tables = {"t": table} if beside is None else {"t": table, "u": beside}
    world = World(tables=tables, settings={}, questions=(question,))
    (outcome,) = examine(engine, world)
    assert outcome.contradiction is not None
    found = traits(world, outcome.question, outcome.contradiction)
    finding = Finding(world=world, outcome=outcome, traits=found, seed=0, examples=1, seconds=0.0)
    return confirm(engine, finding, write=write_stored)


def wrong(one: ConfirmedFinding) -> Contradiction:
    """Return the contradiction of the answer that a finding blames."""
    assert one.finding.outcome.contradiction is not None
    return one.finding.outcome.contradiction


def is_pruned(table: Mapping[str, Json]) -> bool:
    """Of a table in the engine's own format."""
    return table.get("statistics", True) is not False


def test_of_a_table_in_an_engines_own_format_no_footer_is_blamed() -> None:
    one = confirm_failure(Losing(is_pruned, tables="own"))
    assert one.blame is Blame.TABLE
    assert wrong(one).verdict is Discrepancy.LOST
    assert one.source == "pruned"


def test_a_reader_of_tables_of_another_library_is_compared_with_its_memory() -> None:
    """Its plain form is no table of the format."""
    engine = Losing(is_pruned, tables="own")
    engine.hello = replace(engine.hello, engine="small-format", reader="small")
    assert confirm_failure(engine).blame is Blame.MEMORY


@pytest.mark.parametrize("question", [ALL, FIRST], ids=["whole", "LIMIT"])
def test_the_form_with_nothing_to_prune_by_is_accused_where_it_alone_is_wrong(question: Question) -> None:
    """It loses a row; the other has not one too many."""
    one = confirm_failure(Losing(lambda table: not is_pruned(table), tables="own"), question)
    assert one.blame is Blame.PLAIN
    assert (wrong(one).oracle, wrong(one).verdict) == (Oracle.REFERENCE, Discrepancy.LOST)
    assert one.actual["rows"] == [[2, 1]]
    assert one.expected["rows"] == [[1, 0], [2, 1]]
    assert one.source == "plain"


def test_where_the_reference_has_no_opinion_a_finding_tells_that_either_form_may_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The form with nothing to prune by is at times the wrong one, and was always called right."""
    doubt = "the reference has no opinion (everything), so that either form may be wrong"
    engine = Losing(is_pruned, tables="own")
    judged = confirm_failure(engine)
    entry = MeaningDifference(name="everything", applies=lambda case: True, reason="For this test.")
    monkeypatch.setattr(meanings, "MEANINGS", (entry,))
    unjudged = confirm_failure(engine)
    for confirmed, is_open in ((judged, False), (unjudged, True)):
        assert blame_text(confirmed) == Blame.TABLE.value + (f"; but {doubt}" if is_open else "")
        assert (f"\n# But {doubt}.\n" in folder_texts(engine, confirmed)["replay.py"]) is is_open
        assert finding_summary(engine.hello, confirmed)["no_opinion"] == ("everything" if is_open else "")


class LosingOtherRows(SmallEngine):
    """An engine that loses the first row over the pruned form, and the last over the plain one."""

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answers without the row."""
        kept = slice(1, None) if is_pruned(request["tables"]["t"]) else slice(-1)
        return {
            "answers": [
                answer | {"rows": answer["rows"][kept]} for answer in super().ask(**request)["answers"]
            ]
        }


def test_the_saved_answer_is_of_the_form_that_the_program_asks() -> None:
    """Both are wrong, each in its own way."""
    confirmed = confirm_failure(LosingOtherRows(tables="own"))
    assert confirmed.blame is Blame.REFERENCE
    assert confirmed.actual["rows"] == [[2, 1]]
    assert confirmed.expected["rows"] == [[1, 0], [2, 1]]


class Interrupted(Losing):
    """An engine of which, once a failure is confirmed, some first requests for the plain form are errors.

    Args:
        error: Raised, or the text of the error that is answered.
    """

    def __init__(self, error: TimedOut | str, errors: int) -> None:
        super().__init__(is_pruned, tables="own")
        self._error, self._errors_left = error, errors

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer, or fail; a confirmation asks for programs."""
        if is_pruned(request["tables"]["t"]) or not request.get("sources") or not self._errors_left:
            return super().ask(**request)
        self._errors_left -= 1
        if isinstance(self._error, str):
            return {"answers": [{"error": self._error, "kind": "failed"}]}
        raise self._error


@pytest.mark.parametrize(
    ("error", "errors", "blame"),
    [
        (TimedOut("no reply within 5 s"), 1, Blame.TABLE),
        (TimedOut("no reply within 5 s"), 2, Blame.UNKNOWN),
        ("Error: odd", 1, Blame.UNKNOWN),
    ],
)
def test_an_answer_that_is_missing_is_not_taken_for_a_wrong_one(
    error: TimedOut | str, errors: int, blame: Blame
) -> None:
    """A worker that ended is started again; nothing is said of an engine that gives no rows."""
    assert confirm_failure(Interrupted(error, errors), FIRST).blame is blame


class LosingOfFiles(Losing):
    """An engine that loses a row where the files of one of its tables are of some kind; it reads no ORC."""

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answers, without the first row for such files."""
        if not any(map(self._loses, request["tables"].values())):
            return {"answers": [{"rows": [[1, 0], [2, 1]]} for _ in request["questions"]]}
        return {"answers": [{"rows": [[2, 1]]} for _ in request["questions"]]}


def has_statistics(table: Mapping[str, Json]) -> bool:
    """Of a table in Parquet files."""
    paths = table.get("files", []) if table.get("format") != ORC else []
    return any(pq.read_metadata(path).row_group(0).column(0).is_stats_set for path in paths)


def test_files_of_orc_are_blamed_without_being_stripped() -> None:
    engine = LosingOfFiles(lambda table: table.get("format") == ORC)
    assert confirm_failure(engine, writer=ORC).blame is Blame.ORC


@pytest.mark.parametrize(
    ("loses", "blame"),
    [(has_statistics, Blame.STATISTICS), (lambda table: table.get("format") == ORC, Blame.ORC)],
)
def test_of_files_of_both_formats_those_are_blamed_that_are_at_fault(
    loses: Callable[[Mapping[str, Json]], bool], blame: Blame
) -> None:
    """A table of Parquet beside one of ORC is stripped alone."""
    table = StoredTable(columns=(Column("u_a", "int32"), Column("u_rid", "int64")), blocks=(((1, 0),),))
    assert confirm_failure(LosingOfFiles(loses), beside=table, writer=ORC).blame is blame


def test_files_without_statistics_lie_in_the_directories_of_their_partitions() -> None:
    """The engine reads the names of directories, and nothing else there is beside a table's own files."""

    def loses(table: Mapping[str, Json]) -> bool:
        files = [Path(path) for path in table.get("files", [])]
        base = {path.parent.parent for path in files}
        assert [path.parent.name for path in files] == ["a=1", "a=2"][: len(files)]
        assert {path for at in base for path in at.rglob("*.parquet")} == set(files)
        chunks = [pq.read_metadata(path).row_group(0).column(0) for path in files]
        return any(chunk.is_stats_set for chunk in chunks)

    assert confirm_failure(Losing(loses), partitioned=True, blocks_per_file=1).blame is Blame.STATISTICS


def test_an_error_is_told_although_the_other_answer_is_wrong_too() -> None:
    """The words of an error do not depend on the expected answer."""

    class Failing(Losing):
        """An engine that fails over one form and loses rows over the other."""

        def ask(self, **request: Any) -> dict[str, Any]:
            """An error, where files or statistics are."""
            if is_pruned(request["tables"]["t"]):
                return {"answers": [{"error": "Panic", "kind": "failed"} for _ in request["questions"]]}
            return super().ask(**request)

    one = confirm_failure(Failing(lambda table: not is_pruned(table), tables="own"))
    assert wrong(one).verdict is Discrepancy.RAISED


def test_what_ends_the_worker_is_replayed_too(tmp_path: Path) -> None:
    """The program is asked for, not run: it would end the worker again."""
    (tmp_path / "worker.py").write_text(DYING)
    with Worker([sys.executable, str(tmp_path / "worker.py")]) as worker:
        one = confirm_failure(worker)
        replay = folder_texts(worker, one)["replay.py"]
    assert wrong(one).verdict is Discrepancy.RAISED
    ran = subprocess.run([sys.executable, "-c", replay], capture_output=True, check=False)
    assert ran.returncode == 3


def test_what_takes_too_long_is_replayed_too() -> None:
    class Hanging(SmallEngine):
        """An engine that hangs over files, unless only its program is asked for."""

        def ask(self, **request: Any) -> dict[str, Any]:
            """As a worker that was ended; or the program."""
            if request["sources"] == "only":
                return {"answers": [{"source": "while True: pass"} for _ in request["questions"]]}
            if "files" in request["tables"]["t"]:
                raise TimedOut("no reply within 1 s")
            return super().ask(**request)

    assert confirm_failure(Hanging()).source == "while True: pass"
