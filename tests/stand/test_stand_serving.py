"""The contract of a Python adapter: the order of its texts, and the names and types that it gets."""

import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from mutants.stand.row_runs import runs_of_any_numbers, runs_of_equal_values
from skipproof.stand.adapters import serving
from skipproof.stand.adapters.serving import Adapter, Unsupported, parse_nested_type, runs, struct_fields
from skipproof.stand.workers.workers import Died, Worker


class Recorder(Adapter):
    """Writes down what it is told; a question is the text that answers it, and `lacking` is refused."""

    def hello(self):
        return {"engine": "recorder", "version": "1", "areas": ["filter"]}

    def __init__(self) -> None:
        self.log: list[str] = []
        self.names: dict[str, Any] = {}

    def start(self) -> str:
        return "started = 1\n"

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        self.log.append("setup")
        self.names = {"log": self.log}
        return "log.append('opened')\nopened = 2\n", self.names

    def ask(self, question: dict[str, Any]) -> str:
        self.log.append("ask")
        if question == {"text": "lacking"}:
            raise Unsupported("this")
        return str(question["text"])


def answers(adapter: Recorder, *texts: str, sources: bool | str = False) -> list[dict[str, Any]]:
    asked = [{"text": text} for text in texts]
    request: dict[str, Any] = {"tables": {}, "questions": asked, "sources": sources}
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    return list(serving._answer_request(adapter, request, base)["answers"])


def test_all_questions_become_texts_before_the_tables_are_opened() -> None:
    adapter = Recorder()
    found = answers(adapter, "answer = [[started, opened]]", "lacking", "answer = [[opened]]")
    assert adapter.log == ["setup", "ask", "ask", "ask", "opened"]
    assert [each.get("rows") for each in found] == [[[1, 2]], None, [[2]]]
    assert found[1] == {"error": "Unsupported: this", "kind": "unsupported"}


def test_where_only_programs_are_asked_for_nothing_runs() -> None:
    adapter = Recorder()
    found = answers(adapter, "log.append('ran')", "lacking", sources="only")
    assert found == [
        {"source": "started = 1\nlog.append('opened')\nopened = 2\nlog.append('ran')"},
        {"error": "Unsupported: this", "kind": "unsupported"},
    ]
    assert adapter.log == ["setup", "ask", "ask"]


def test_tables_that_no_question_needs_are_not_opened() -> None:
    adapter = Recorder()
    assert [each["kind"] for each in answers(adapter, "lacking", "lacking")] == ["unsupported"] * 2
    assert "opened" not in adapter.log


def test_one_question_that_fails_leaves_the_others_their_answers() -> None:
    found = answers(Recorder(), "answer = [[1 / 0]]", "answer = [[7]]")
    assert found == [{"error": "ZeroDivisionError: division by zero", "kind": "failed"}, {"rows": [[7]]}]


def test_an_adapter_keeps_what_its_setup_has_named_to_close_it_later() -> None:
    adapter = Recorder()
    answers(adapter, "mine = 1\nanswer = []")
    assert adapter.names["opened"] == 2
    assert "mine" not in adapter.names


def test_a_source_is_the_whole_text_that_was_run() -> None:
    (found,) = answers(Recorder(), "answer = [[opened]]", sources=True)
    log: list[str] = []
    scope: dict[str, Any] = {"log": log}
    exec(found["source"], scope)
    assert scope["answer"] == [[2]]
    assert log == ["opened"]


def test_a_question_that_fails_has_a_source_that_fails_alike() -> None:
    found, other, lacking = answers(Recorder(), "answer = [[1 / 0]]", "answer = []", "lacking", sources=True)
    assert found["error"] == "ZeroDivisionError: division by zero"
    with pytest.raises(ZeroDivisionError):
        exec(found["source"], {"log": []})
    assert found["source"].removesuffix("answer = [[1 / 0]]") == other["source"].removesuffix("answer = []")
    assert "source" not in lacking


def test_questions_of_tables_that_cannot_be_opened_have_a_source_that_fails_alike_and_asks_them() -> None:
    class Shut(Recorder):
        def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
            return "raise OSError('shut')\n", {}

    error = {"error": "OSError: shut", "kind": "failed"}
    lacking = {"error": "Unsupported: this", "kind": "unsupported"}
    assert answers(Shut(), "answer = []", "lacking") == [error, lacking]
    assert answers(Shut(), "answer = []", "lacking", sources=True) == [
        error | {"source": "started = 1\nraise OSError('shut')\nanswer = []"},
        lacking,
    ]


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            "INTERNAL Error: odd\nreport it\n\nStack Trace:\n\n0  duckdb::f() + 0x1",
            ": INTERNAL Error: odd report it",
        ),
        ("panicked\nstack backtrace:\n   0: rust_begin_unwind", ": panicked"),
        ("Internal error: odd\n\nbacktrace:    0: f", ": Internal error: odd"),
        ("odd\n\nJVM stacktrace:\norg.apache.spark.SparkException", ": odd"),
        ("Stack Trace:\n0  f()", ""),
        ("", ""),
        ("no column named backtrace: or 'Stack Trace:'", ": no column named backtrace: or 'Stack Trace:'"),
    ],
)
def test_an_error_is_told_without_the_stack_of_the_engine(message: str, error: str) -> None:
    assert serving.failure(RuntimeError(message)) == {"error": f"RuntimeError{error}", "kind": "failed"}


JAVA = """An error occurred while calling o62.collectToPython.
: org.apache.spark.SparkException: [FAILED_READ_FILE] reading file:/t.orc.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotRead(QueryExecutionErrors.scala:920)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
CAUSED = """Caused by: java.lang.IllegalArgumentException: odd
\tat org.apache.orc.Reader.open(Reader.java:1)
\t... 8 more
Caused by: java.lang.NullPointerException: no
  number here
\tat org.apache.spark.sql.OrcFilters$.castLiteralValue(OrcFilters.scala:5)
\t... 8 more
"""


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            JAVA,
            "org.apache.spark.sql.errors.QueryExecutionErrors$.cannotRead: "
            "org.apache.spark.SparkException: [FAILED_READ_FILE] reading file:/t.orc.",
        ),
        (
            JAVA + CAUSED,
            "org.apache.spark.sql.OrcFilters$.castLiteralValue: "
            "java.lang.NullPointerException: no number here",
        ),
    ],
)
def test_of_javas_errors_the_one_that_caused_the_others_is_told(message: str, error: str) -> None:
    """Spark wraps all of them in the same words, so that its causes could not be told apart."""
    assert serving.failure(RuntimeError(message)) == {"error": f"RuntimeError: {error}", "kind": "failed"}


@pytest.mark.parametrize(
    ("type_", "word", "inside"),
    [
        ("int64", "int64", []),
        ("decimal(9, 2)", "decimal", ["9", "2"]),
        ("timestamp(us,UTC)", "timestamp", ["us", "UTC"]),
        ("list(decimal(9,2))", "list", ["decimal(9,2)"]),
        ("struct(x int64, y struct(z list(string)))", "struct", ["x int64", "y struct(z list(string))"]),
    ],
)
def test_a_type_is_taken_apart_at_its_outermost_parentheses(type_: str, word: str, inside: list[str]) -> None:
    assert parse_nested_type(type_) == (word, inside)


def test_a_struct_has_named_fields_of_any_type() -> None:
    assert struct_fields("struct(x decimal(9,2), y struct(z list(string)))") == [
        ("x", "decimal(9,2)"),
        ("y", "struct(z list(string))"),
    ]


class Ending(Recorder):
    """Ends with the question `end`: nothing is answered until it is started again."""

    starts = 0

    def start(self) -> str:
        self.starts += 1
        return f"engine = {{'over': False, 'starts': {self.starts}}}\n"

    def is_over(self, names: dict[str, Any]) -> bool:
        return bool(names["engine"]["over"])

    def ask(self, question: dict[str, Any]) -> str:
        if question["text"] == "end":
            return "engine['over'] = True\nraise RuntimeError('the end')\n"
        return "assert not engine['over']\nanswer = [[engine['starts']]]\n"


def test_an_engine_that_can_answer_nothing_more_is_started_again_for_the_next_question() -> None:
    adapter = Ending()
    found = answers(adapter, "1", "end", "2", "end")
    assert [each.get("rows") for each in found] == [[[1]], None, [[2]], None]
    assert adapter.log == ["setup", "opened", "opened", "opened"]


def test_an_engine_that_ended_while_tables_were_opened_is_started_again_for_the_next_request() -> None:
    adapter = Ending()
    base: dict[str, Any] = {}
    exec(adapter.start(), base)
    base["engine"]["over"] = True
    request = {"tables": {}, "questions": [{"text": "1"}]}
    assert serving._answer_request(adapter, request, base) == {"answers": [{"rows": [[2]]}]}


ONE_LIFE = """
from skipproof.stand.adapters.serving import Adapter, main

class OneLife(Adapter):
    ended = False
    def hello(self):
        return {"engine": "one life", "version": "1", "areas": ["filter"]}
    def setup(self, tables, settings):
        self.ended = "over" in tables
        return "", {}
    def ask(self, question):
        return "answer = [[1]]"
    def reason_to_end(self):
        return "its server ended" if self.ended else ""

main(OneLife())
"""


def test_an_engine_that_cannot_be_started_again_in_its_process_ends_it() -> None:
    """The next request starts a new one; answers of an engine that has ended would all be errors."""
    with Worker([sys.executable, "-c", ONE_LIFE]) as worker:
        with pytest.raises(Died, match="its server ended"):
            worker.ask(tables={"over": {}}, questions=[{"text": "1"}])
        assert worker.ask(tables={}, questions=[{"text": "1"}])["answers"] == [{"rows": [[1]]}]


# Rows as those of large tables: some are there several times, and their numbers mostly count up.
NUMBERED_ROWS = st.lists(
    st.tuples(st.sampled_from(([True], [1], [0.0], [-0.0], [None], ["x"])), st.sampled_from((1, 1, 1, 2))),
    max_size=8,
).map(
    lambda drawn: [
        [*values, sum(step for _, step in drawn[: at + 1])] for at, (values, _) in enumerate(drawn)
    ]
)


def text_of_runs(rows, runs_of=runs):
    """The text of rows after they were runs."""
    return repr([[*row[:-1], row[-1] + at] for row, count in runs_of(rows) for at in range(count)])


@given(NUMBERED_ROWS)
def test_runs_are_the_rows_and_no_two_could_be_one(rows) -> None:
    assert text_of_runs(rows) == repr(rows)
    for (row, count), (after, _) in pairwise(runs(rows)):
        assert repr([*row[:-1], row[-1] + count]) != repr(after)


@pytest.mark.parametrize("mutant", [runs_of_any_numbers, runs_of_equal_values])
def test_wrong_runs_are_found_out(mutant) -> None:
    assert find(NUMBERED_ROWS, lambda rows: text_of_runs(rows, mutant) != repr(rows))
