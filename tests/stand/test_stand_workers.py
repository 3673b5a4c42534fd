"""Workers that die, hang or talk nonsense harm neither the stand nor the questions after."""

import json
import sys
import tempfile
from contextlib import nullcontext
from textwrap import dedent

import pytest

from skipproof.stand.workers.engines import UnknownEngine, engine_names, find_engine
from skipproof.stand.workers.workers import Died, TimedOut, Worker, WorkerError

HELLO = {"protocol": 1, "engine": "odd", "version": "1", "areas": ["filter"]}


def command(tmp_path, body, hello=HELLO):
    """A worker that answers the request `r` with what `body` makes of it."""
    program = tmp_path / "worker.py"
    start = f"import json, sys, time, os\nprint({json.dumps(hello)!r}, flush=True)\n"
    loop = "for line in sys.stdin:\n    r = json.loads(line)\n"
    program.write_text(start + loop + "".join(f"    {line}\n" for line in dedent(body).splitlines()))
    return [sys.executable, str(program)]


ECHO = "print(json.dumps({'id': r['id'], 'answers': r['questions']}), flush=True)"


def test_a_worker_says_what_it_is_and_answers(tmp_path):
    with Worker(command(tmp_path, ECHO)) as worker:
        assert worker.hello.engine == "odd"
        assert worker.hello.areas == {"filter"}
        assert worker.ask(questions=["é\n"])["answers"] == ["é\n"]


def test_a_worker_that_dies_is_started_again(tmp_path):
    body = f"""
    if r['questions'] == ['die']:
        print('out of luck', file=sys.stderr, flush=True)
        os._exit(3)
    {ECHO}
    """
    with Worker(command(tmp_path, body)) as worker:
        with pytest.raises(Died, match="status 3: out of luck"):
            worker.ask(questions=["die"])
        assert worker.ask(questions=["live"])["answers"] == ["live"]


def test_a_worker_that_hangs_is_ended_and_started_again(tmp_path):
    body = f"""
    if r['questions'] == ['hang']:
        time.sleep(600)
    {ECHO}
    """
    with Worker(command(tmp_path, body), seconds_max=1.0) as worker:
        with pytest.raises(TimedOut, match="within 1 s"):
            worker.ask(questions=["hang"])
        assert worker.ask(questions=["go on"])["answers"] == ["go on"]


LEAVES = f"""
import tempfile
tempfile.mkdtemp()
if r['questions'] == ['die']:
    os._exit(3)
if r['questions'] == ['hang']:
    time.sleep(600)
{ECHO}
"""


@pytest.mark.parametrize("end", ["die", "hang", "live"])
def test_a_worker_leaves_nothing_in_the_directory_for_temporary_files(tmp_path, monkeypatch, end):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with Worker(command(tmp_path, LEAVES), seconds_max=2.0) as worker:
        worker.ask(questions=["live"])
        with pytest.raises((Died, TimedOut)) if end != "live" else nullcontext():
            worker.ask(questions=[end])
        # In the first one's place, after it has gone.
        worker.ask(questions=["live"])
        assert len(list(temporary.iterdir())) == 1
    assert list(temporary.iterdir()) == []


def test_a_worker_that_does_not_start_leaves_nothing_either(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for program in (["/nowhere"], [sys.executable, "-c", "import tempfile; tempfile.mkdtemp()"]):
        with pytest.raises(WorkerError):
            Worker(program)
    with pytest.raises(WorkerError):
        Worker(command(tmp_path, ECHO, HELLO | {"protocol": 2}))
    assert list(temporary.iterdir()) == []


def test_a_request_too_long_for_a_worker_that_died_harms_no_later_one(tmp_path):
    program = tmp_path / "deaf.py"
    program.write_text(
        f"import json, os, sys\nprint({json.dumps(HELLO)!r}, flush=True)\n"
        "line = sys.stdin.read(10)\nos._exit(4)\n"
    )
    with Worker([sys.executable, str(program)]) as worker:
        for _ in range(2):
            with pytest.raises(Died, match="status 4"):
                worker.ask(questions=["x" * 1_000_000])


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("print('good morning', flush=True)", "no JSON"),
        ("print('[1]', flush=True)", "no JSON object"),
        ("print(json.dumps({'id': 77}), flush=True)", "a reply to 77"),
    ],
    ids=["words", "a list", "another's reply"],
)
def test_a_worker_that_talks_nonsense_counts_as_dead(tmp_path, body, what):
    with Worker(command(tmp_path, body)) as worker, pytest.raises(Died, match=what):
        worker.ask(questions=[])


@pytest.mark.parametrize(
    ("hello", "what"),
    [
        ({**HELLO, "protocol": 2}, "speaks protocol 2; this stand speaks 1"),
        ({"protocol": 1, "engine": "odd"}, "lacks version, areas"),
    ],
    ids=["another protocol", "too little"],
)
def test_a_worker_that_is_not_one_of_ours_is_refused(tmp_path, hello, what):
    with pytest.raises(WorkerError, match=what):
        Worker(command(tmp_path, ECHO, hello))


def test_a_program_that_does_not_start_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(WorkerError, match="cannot be started"):
        Worker([str(tmp_path / "nowhere")])
    with pytest.raises(WorkerError, match="ended with status 1"):
        Worker([sys.executable, "-c", "import sys; sys.exit('no engine here')"])


def test_an_unknown_engine_is_refused_with_the_names_of_those_there_are():
    with pytest.raises(UnknownEngine, match=r"there is no engine nosuch; there are .*duckdb.*spark"):
        find_engine("nosuch")
    assert "polars" in engine_names()
    assert find_engine("duckdb", python="/opt/old/bin/python").command[0] == "/opt/old/bin/python"
