"""Workers that die, hang or talk nonsense harm neither the stand nor the questions after."""

import json
import sys
from textwrap import dedent

import pytest

from skipproof.stand.engines import UnknownEngine, engine, names
from skipproof.stand.workers import Died, TimedOut, Worker, WorkerError

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
        sys.stderr.write('out of luck')
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
    with pytest.raises(UnknownEngine, match="there is no engine nosuch; there are .*duckdb.*spark"):
        engine("nosuch")
    assert "polars" in names()
    assert engine("duckdb", python="/opt/old/bin/python").command[0] == "/opt/old/bin/python"
