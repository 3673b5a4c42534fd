"""Paths that need no PySpark work without it; the others end in one sentence.

`tox -e nospark` runs this in an environment that has no PySpark; here the interpreter and its children do not
find the one that is installed.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pruning import requirements
from pruning.errors import InputError, MissingPackage

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SENTENCE = "This needs PySpark, which is not installed for this Python: run `pip install 'skipproof[spark]'`"

# Python runs a module of this name when it starts, in every child that inherits PYTHONPATH too.
HIDING = """
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec

def find_others(name, path=None, target=None):
    return None if name.partition(".")[0] in ("py4j", "pyspark") else find_spec(name, path, target)

PathFinder.find_spec = find_others
"""

# Runs statements of Python and command lines, and prints what became of each.
RUNNING = """
import contextlib, io, json, sys
from skipproof.commands.cli import main

def outcome(case):
    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            if isinstance(case, str):
                exec(case, {})
            else:
                sys.argv = ["skipproof", *case]
                main()
    except SystemExit as left:
        status = int(left.code or 0)
    except BaseException as error:
        status = f"{type(error).__name__}: {error}"
    return status, out.getvalue(), err.getvalue()

cases = json.load(sys.stdin)
results = {name: outcome(case) for name, case in cases.items()}
loaded = sorted({"py4j", "pyspark"} & set(sys.modules))
json.dump({"results": results, "loaded": loaded}, sys.stdout)
"""

WRITING = "import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({'a': [1, 2]}), 'a.parquet')"
HISTORY = {"id": "one", "ops": [["w", 1, "x@1"], ["c", 1]], "vo": {"x": ["x@1"]}}

WORKING = {
    "imports": "import pruning, dynamic_tables, oracles, sim, strategies, pruning.geography"
    ", skipproof.commands.cli",
    "the plugin of pytest": "import skipproof.stand.plugin, skipproof.stand.hunt.parts",
    "collect": f"{WRITING}; import pruning; assert pruning.collect('a.parquet').num_rows == 1",
    "index": f"{WRITING}; import pruning; assert pruning.index('.', ['a']).to_dict()['files'] == 1",
    "backfill": f"{WRITING}; import pruning; assert pruning.backfill('.', ['a']).row_groups == 1",
    "skipproof --help": ["--help"],
    "skipproof check --help": ["check", "--help"],
    "skipproof describe": ["describe", "a.parquet", "--verify"],
    "skipproof index": ["index", "a.parquet"],
    "skipproof index --bounds": ["index", "a.parquet", "--bounds"],
    "skipproof campaign --help": ["campaign", "--help"],
    "skipproof history": ["history", "history.jsonl", "--require", "PL-3"],
    "skipproof simulate --help": ["simulate", "--help"],
    "skipproof prove": ["prove", "null_test"],
    "skipproof check --engine arrow": [
        "check",
        "--engine",
        "arrow",
        "--class",
        "filter",
        "--examples",
        "3",
        "--json",
    ],
}
NEEDING = {
    "prune": "from pruning import prune",
    "classify": "import pruning; pruning.classify('a = 1', 'a.parquet')",
    "plan_delete": "from pruning.dml import plan_delete",
    "within_box": "from pruning import geography; geography.within_box('a', 'b', 0, 0, 1, 1)",
    "skipproof explain": ["explain", "--table", "a=a.parquet", "SELECT * FROM a"],
    "skipproof query": ["query", "--table", "a=a.parquet", "SELECT * FROM a"],
    "skipproof demo": ["demo"],
    "skipproof prove --predicate": ["prove", "--predicate", "a = 1", "--columns", "a int"],
}
ABSENT = {"skipproof check --engine spark": ["check", "--engine", "spark", "--examples", "1"]}


# A process without PySpark runs every case.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the status, output and errors of each case, run in one process without PySpark."""
    hiding = tmp_path_factory.mktemp("hiding")
    (hiding / "sitecustomize.py").write_text(HIDING, encoding="utf-8")
    directory = tmp_path_factory.mktemp("files")
    (directory / "history.jsonl").write_text(json.dumps(HISTORY) + "\n", encoding="utf-8")
    path = os.pathsep.join([str(hiding), str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-c", RUNNING],
        input=json.dumps({**WORKING, **NEEDING, **ABSENT}),
        cwd=directory,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("case", WORKING)
def test_what_reads_no_spark_works(outcomes: dict[str, Any], case: str) -> None:
    status, _, err = outcomes["results"][case]
    assert status == 0, err
    assert "pyspark" not in err.lower()


@pytest.mark.parametrize("case", NEEDING)
def test_what_needs_spark_says_so_in_one_sentence(outcomes: dict[str, Any], case: str) -> None:
    status, out, err = outcomes["results"][case]
    if isinstance(status, str):
        assert status.startswith(f"MissingPackage: {SENTENCE}")
    else:
        assert (status, out) == (2, "")
        assert err.startswith(f"skipproof: {SENTENCE}")
        assert err.count("\n") == 1


def test_nothing_of_spark_was_imported(outcomes: dict[str, Any]) -> None:
    assert outcomes["loaded"] == []


def test_a_hunt_without_spark_asks_questions(outcomes: dict[str, Any]) -> None:
    report = json.loads(outcomes["results"]["skipproof check --engine arrow"][1])
    assert report[0]["examples"] >= 3


def test_skipproof_says_what_installs_the_engine_that_needs_spark(outcomes: dict[str, Any]) -> None:
    status, out, err = outcomes["results"]["skipproof check --engine spark"]
    assert (status, out) == (2, "")
    assert "pip install 'skipproof[spark]'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("version", ["3.4.4", "2.4", "5.0.0", "5.0.0.dev1", "10.1"])
def test_a_release_that_no_extra_allows_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(requirements, "_version", lambda: version)
    with pytest.raises(
        MissingPackage, match=rf"from 3\.5 on and before 5\.0, not {version}: run `pip install"
    ):
        requirements.require_pyspark()


@pytest.mark.parametrize("version", ["3.5.0", "3.5.1-amzn-0", "4.0.0.dev0", "4.3.0", "a vendor's own"])
def test_a_release_of_a_vendor_is_taken(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(requirements, "_version", lambda: version)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    requirements.require_pyspark()


def test_a_client_of_spark_connect_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_version", lambda: "4.1.0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"needs PySpark with Java, not its client .*: run `pip install"):
        requirements.require_pyspark()


def test_the_extra_allows_the_releases_that_are_checked() -> None:
    [line] = EXTRAS["spark"]
    first, end = (".".join(map(str, n)) for n in (requirements.PYSPARK_FIRST, requirements.PYSPARK_END))
    assert Requirement(line).specifier == SpecifierSet(f">={first},<{end}")


def test_an_installation_of_everything_has_spark_and_a_plain_one_has_not() -> None:
    assert "spark" in Requirement(EXTRAS["all"][0]).extras
    assert "pyspark" not in {Requirement(line).name for line in PROJECT["dependencies"]}


def test_the_error_is_of_bad_input_and_of_an_import() -> None:
    """So that `try: from pruning import prune; except ImportError` works as it does for other packages."""
    assert issubclass(MissingPackage, InputError)
    assert issubclass(MissingPackage, ImportError)
