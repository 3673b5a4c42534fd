"""The installed wheel: it works alone, and names a folder that hides one of its packages."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from needs import needs_package

from pruning.siblings import PACKAGES
from tools.wheel import Environment, copy_sources, create_environment, shipped_packages, wheel_problems

BUILDING = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
OWN_TEST = "def test_own():\n    pass\n"

pytest.importorskip("setuptools", "77", reason="builds the wheel; the group `tests` of pyproject.toml has it")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the wheel and of its sources, which are in `source`."""
    directory = tmp_path_factory.mktemp("wheel")
    copy_sources(directory / "source")
    subprocess.run(
        [sys.executable, "-c", BUILDING, str(directory)],
        cwd=directory / "source",
        check=True,
        capture_output=True,
    )
    return directory


@pytest.fixture(scope="module")
def wheel(directory: Path) -> Path:
    """The wheel."""
    [wheel] = directory.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def environment(directory: Path, wheel: Path) -> Environment:
    """Return an environment with the wheel, whose dependencies come from the tests' environment."""
    environment = create_environment(directory / "environment")
    environment.install("--no-deps", "--no-index", str(wheel))
    others = [path for path in sys.path if Path(path).name in ("dist-packages", "site-packages")]
    (environment.library / "others.pth").write_text("\n".join(others), encoding="utf-8")
    return environment


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's folder, with one test."""
    (tmp_path / "test_own.py").write_text(OWN_TEST, encoding="utf-8")
    return tmp_path


def hide(project: Path, package: str) -> Path:
    """Add a package of the user's own; return its folder."""
    folder = project / package
    folder.mkdir()
    (folder / "__init__.py").touch()
    return folder


def sentence(folder: Path, library: Path) -> str:
    """The beginning of the sentence about a folder."""
    return (
        f"The folder {folder} hides skipproof's own package `{folder.name}`, which lies in {library}: rename"
    )


def test_the_wheel_holds_the_files_of_the_shipped_packages_alone(wheel: Path, directory: Path) -> None:
    assert sorted(shipped_packages()) == sorted(PACKAGES)
    assert wheel_problems(wheel, directory / "source") == []


def test_a_file_that_must_not_ship_and_one_that_is_missing_are_named(tmp_path: Path) -> None:
    """Otherwise the test above could hold of any wheel."""
    (tmp_path / "sim").mkdir()
    (tmp_path / "sim" / "small.toml").touch()
    wheel = tmp_path / "skipproof.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("mutants/a.py", "sim/tests/b.py", "bench/c.py", "skipproof-0.1.0.dist-info/RECORD"):
            archive.writestr(name, "")
    assert wheel_problems(wheel, tmp_path) == [
        "skipproof.whl holds mutants/a.py, which must not ship",
        "skipproof.whl holds sim/tests/b.py, which must not ship",
        "skipproof.whl holds bench/c.py, which is not of a shipped package",
        "skipproof.whl lacks sim/small.toml",
    ]


def test_the_wheel_starts_beside_folders_that_are_no_packages(
    environment: Environment, project: Path
) -> None:
    for package in PACKAGES:
        (project / package).mkdir()
    done = environment.run("--help", cwd=project, program="skipproof", path=project)
    assert (done.returncode, done.stderr) == (0, "")
    done = environment.run("-c", "import skipproof; print(skipproof.__file__)", cwd=project)
    assert Path(done.stdout.strip()) == environment.library / "skipproof" / "__init__.py"


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "skipproof"])
def test_the_command_line_names_the_folder_that_hides_a_package(
    environment: Environment, project: Path, package: str
) -> None:
    folder = hide(project, package)
    done = environment.run("-m", "skipproof", "history", "nothing.jsonl", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"skipproof: {sentence(folder, environment.library)}")
    assert done.stderr.count("\n") == 1


def test_the_installed_command_names_it_too_where_it_is_on_the_path(
    environment: Environment, project: Path
) -> None:
    folder = hide(project, "sim")
    done = environment.run("--help", cwd=project, program="skipproof", path=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"skipproof: {sentence(folder, environment.library)}")


def test_a_file_hides_a_package_as_a_folder_does(environment: Environment, project: Path) -> None:
    (project / "sim.py").touch()
    done = environment.run("-m", "skipproof", "--help", cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"skipproof: The file {project / 'sim.py'} hides skipproof's own package `sim`"
    )


def test_pruning_warns_and_works(environment: Environment, project: Path) -> None:
    """It needs none of the packages that may be hidden."""
    folders = [hide(project, name) for name in PACKAGES if name != "pruning"]
    code = (
        "import pyarrow as pa, pyarrow.parquet as pq, pruning; "
        "pq.write_table(pa.table({'a': [1]}), 'a.parquet'); "
        "print(pruning.collect('a.parquet').num_rows)"
    )
    done = environment.run("-c", code, cwd=project)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert sentence(folders[0], environment.library) in done.stderr
    assert done.stderr.count("UserWarning") == 1


def test_a_hunt_in_pytest_names_the_folder_and_other_runs_go_on(
    environment: Environment, project: Path
) -> None:
    folder = hide(project, "strategies")
    arguments = ("-m", "pytest", "-p", "no:cacheprovider", "-q")
    done = environment.run(*arguments, "--skipproof-engine", "arrow", cwd=project)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert sentence(folder, environment.library) in done.stderr
    assert "Traceback" not in done.stderr
    done = environment.run("-W", "error", *arguments, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_folder_that_collecting_puts_on_the_path_is_named_by_the_hunt(
    environment: Environment, project: Path, processes: str
) -> None:
    folder = hide(project, "oracles")
    arguments = ("-P", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", processes)
    done = environment.run(*arguments, "--skipproof-engine", "arrow", "-k", "filter-0", cwd=project)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert sentence(folder, environment.library) in done.stdout
    assert "Traceback" not in done.stdout


def test_a_worker_names_the_folder_that_hides_pruning(environment: Environment, project: Path) -> None:
    needs_package("pyspark")
    folder = hide(project, "pruning")
    worker = environment.library / "skipproof" / "stand" / "workers" / "worker.py"
    done = environment.run(str(worker), "skipproof", cwd=project, path=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(sentence(folder, environment.library))
    assert done.stderr.count("\n") == 1


def test_a_worker_and_its_engine_hide_no_module_of_each_other(
    environment: Environment, project: Path
) -> None:
    """Adapters are found even if the user has a package `adapters`; modules beside `worker.py` are hidden."""
    hide(project, "adapters")
    (project / "pyarrow.py").write_text("import adapters, report; raise SystemExit(report.__file__)")
    (project / "report.py").touch()
    worker = environment.library / "skipproof" / "stand" / "workers" / "worker.py"
    done = environment.run(str(worker), "arrow", cwd=project, path=project)
    assert done.stderr == f"{project / 'report.py'}\n"


def test_the_installed_command_hunts_with_its_own_worker_and_writes_its_report(
    environment: Environment, project: Path
) -> None:
    """Adapters, templates and the plugin are found by path, where no checkout is."""
    asked = ("check", "--engine", "arrow", "--examples", "2", "--report", "hunt.html", "--findings", "found")
    done = environment.run("-P", "-m", "skipproof", *asked, cwd=project)
    # A slow machine is told of the progress every two seconds.
    others = [line for line in done.stderr.splitlines() if not re.match(r"\[ *\d+ s\] ", line)]
    assert (done.returncode in (0, 1), others) == (True, [])
    assert (project / "hunt.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    arguments = (
        "-P",
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "--skipproof-engine",
        "arrow",
        "-k",
        "own",
    )
    done = environment.run(*arguments, cwd=project)
    assert done.returncode == 0, done.stdout


def test_the_installed_command_proves_a_rule(environment: Environment, project: Path) -> None:
    """The prover and what it proves are in the wheel, the mutants of single rules are not."""
    done = environment.run("-P", "-m", "skipproof", "prove", "is_null", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    proofs = json.loads(done.stdout)["proofs"]
    assert {proof["verdict"] for proof in proofs} == {"proved"}
    done = environment.run("-P", "-c", "import mutants", cwd=project)
    assert "No module named 'mutants'" in done.stderr


def test_committed_sets_and_scenarios_are_installed(environment: Environment, project: Path) -> None:
    code = (
        "from strategies.predicates.committed import read, TEXT_AND_TIME_PATH\n"
        "from strategies.queries.committed_queries import PATH, SOURCES_PATH, read_queries\n"
        "print(*(len(next(cases).predicates) for cases in (read(), read(TEXT_AND_TIME_PATH))))\n"
        "print(*(next(read_queries(path)).sql[:6] for path in (PATH, SOURCES_PATH)))\n"
    )
    done = environment.run("-P", "-c", code, cwd=project)
    assert (done.stdout, done.stderr) == ("40 40\nSELECT SELECT\n", "")
    scenario = environment.library / "sim" / "scenarios" / "dimension-update.toml"
    done = environment.run("-P", "-m", "skipproof", "simulate", str(scenario), "--seed", "1", cwd=project)
    assert done.returncode == 0, done.stderr
