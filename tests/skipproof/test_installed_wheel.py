"""The wheel, installed in an environment of its own: what hides one of its packages is named."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest
from needs import needs_package

from pruning.siblings import PACKAGES

ROOT = Path(__file__).parents[2]
BUILDING = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
OWN_TEST = "def test_own():\n    pass\n"

pytest.importorskip("setuptools", "77", reason="builds the wheel; the group `tests` of pyproject.toml has it")


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that has the wheel, and takes what the wheel depends on from the tests' environment."""

    binaries: Path
    library: Path

    def run(
        self, *arguments: str, cwd: Path, program: str = "python", path: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with `path` as PYTHONPATH."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        if path is not None:
            environment["PYTHONPATH"] = str(path)
        return subprocess.run(
            [str(self.binaries / program), *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel and install it, from a copy, so that the checkout stays as it is."""
    directory = tmp_path_factory.mktemp("wheel")
    source, home = directory / "source", directory / "environment"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-c", BUILDING, str(directory)], cwd=source, check=True, capture_output=True
    )
    [wheel] = directory.glob("*.whl")
    venv.create(home, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home), "install")
    alone = ("--no-deps", "--no-index", "--no-compile")
    subprocess.run([*pip, *alone, str(wheel)], check=True, capture_output=True)
    paths = {"base": str(home), "platbase": str(home)}
    library = Path(sysconfig.get_path("purelib", "venv", paths))
    others = [path for path in sys.path if Path(path).name in ("dist-packages", "site-packages")]
    (library / "others.pth").write_text("\n".join(others), encoding="utf-8")
    return Installed(Path(sysconfig.get_path("scripts", "venv", paths)), library)


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


def test_the_wheel_starts_beside_folders_that_are_no_packages(installed: Installed, project: Path) -> None:
    for package in PACKAGES:
        (project / package).mkdir()
    done = installed.run("--help", cwd=project, program="skipproof", path=project)
    assert (done.returncode, done.stderr) == (0, "")
    done = installed.run("-c", "import skipproof; print(skipproof.__file__)", cwd=project)
    assert Path(done.stdout.strip()) == installed.library / "skipproof" / "__init__.py"


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "skipproof"])
def test_the_command_line_names_the_folder_that_hides_a_package(
    installed: Installed, project: Path, package: str
) -> None:
    folder = hide(project, package)
    done = installed.run("-m", "skipproof", "history", "nothing.jsonl", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"skipproof: {sentence(folder, installed.library)}")
    assert done.stderr.count("\n") == 1


def test_the_installed_command_names_it_too_where_it_is_on_the_path(
    installed: Installed, project: Path
) -> None:
    folder = hide(project, "sim")
    done = installed.run("--help", cwd=project, program="skipproof", path=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"skipproof: {sentence(folder, installed.library)}")


def test_a_file_hides_a_package_as_a_folder_does(installed: Installed, project: Path) -> None:
    (project / "sim.py").touch()
    done = installed.run("-m", "skipproof", "--help", cwd=project)
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"skipproof: The file {project / 'sim.py'} hides skipproof's own package `sim`"
    )


def test_pruning_warns_and_works(installed: Installed, project: Path) -> None:
    """It needs none of the packages that may be hidden."""
    folders = [hide(project, name) for name in PACKAGES if name != "pruning"]
    code = (
        "import pyarrow as pa, pyarrow.parquet as pq, pruning; "
        "pq.write_table(pa.table({'a': [1]}), 'a.parquet'); "
        "print(pruning.collect('a.parquet').num_rows)"
    )
    done = installed.run("-c", code, cwd=project)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert sentence(folders[0], installed.library) in done.stderr
    assert done.stderr.count("UserWarning") == 1


def test_a_hunt_in_pytest_names_the_folder_and_other_runs_go_on(installed: Installed, project: Path) -> None:
    folder = hide(project, "strategies")
    arguments = ("-m", "pytest", "-p", "no:cacheprovider", "-q")
    done = installed.run(*arguments, "--skipproof-engine", "arrow", cwd=project)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert sentence(folder, installed.library) in done.stderr
    assert "Traceback" not in done.stderr
    done = installed.run("-W", "error", *arguments, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_folder_that_collecting_puts_on_the_path_is_named_by_the_hunt(
    installed: Installed, project: Path, processes: str
) -> None:
    folder = hide(project, "oracles")
    arguments = ("-P", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", processes)
    done = installed.run(*arguments, "--skipproof-engine", "arrow", "-k", "filter-0", cwd=project)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert sentence(folder, installed.library) in done.stdout
    assert "Traceback" not in done.stdout


def test_a_worker_names_the_folder_that_hides_pruning(installed: Installed, project: Path) -> None:
    needs_package("pyspark")
    folder = hide(project, "pruning")
    worker = installed.library / "skipproof" / "stand" / "workers" / "worker.py"
    done = installed.run(str(worker), "skipproof", cwd=project, path=project)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(sentence(folder, installed.library))
    assert done.stderr.count("\n") == 1


def test_a_worker_and_its_engine_hide_no_module_of_each_other(installed: Installed, project: Path) -> None:
    """Adapters are found though the user has a package of that name; modules beside `worker.py` are not."""
    hide(project, "adapters")
    (project / "pyarrow.py").write_text("import adapters, report; raise SystemExit(report.__file__)")
    (project / "report.py").touch()
    worker = installed.library / "skipproof" / "stand" / "workers" / "worker.py"
    done = installed.run(str(worker), "arrow", cwd=project, path=project)
    assert done.stderr == f"{project / 'report.py'}\n"


def test_the_installed_command_hunts_with_its_own_worker_and_writes_its_report(
    installed: Installed, project: Path
) -> None:
    """Adapters, templates and the plugin are found by path, where no checkout is."""
    asked = ("check", "--engine", "arrow", "--examples", "2", "--report", "hunt.html", "--findings", "found")
    done = installed.run("-P", "-m", "skipproof", *asked, cwd=project)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
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
    done = installed.run(*arguments, cwd=project)
    assert done.returncode == 0, done.stdout


def test_committed_sets_and_scenarios_are_installed(installed: Installed, project: Path) -> None:
    code = (
        "from strategies.predicates.committed import read, TEXT_AND_TIME_PATH\n"
        "from strategies.queries.committed_queries import read_queries\n"
        "print(*(len(next(cases).predicates) for cases in (read(), read(TEXT_AND_TIME_PATH))))\n"
        "print(next(read_queries()).sql[:6])\n"
    )
    done = installed.run("-P", "-c", code, cwd=project)
    assert (done.stdout, done.stderr) == ("40 40\nSELECT\n", "")
    scenario = installed.library / "sim" / "scenarios" / "dimension-update.toml"
    done = installed.run("-P", "-m", "skipproof", "simulate", str(scenario), "--seed", "1", cwd=project)
    assert done.returncode == 0, done.stderr
