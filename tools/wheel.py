"""The wheel: a copy of its sources to build from, what it may hold, and environments to install it into.

Only the standard library is imported, so that this runs where nothing of the project is installed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT = "pyproject.toml"
# What the build reads beside the packages.
_FILES = (PYPROJECT, "README.md", "LICENSE")
# Folders that never ship, at any depth: tests, and code that is wrong on purpose.
_FORBIDDEN = frozenset({"mutants", "tests"})


def shipped_packages() -> tuple[str, ...]:
    """Return the names of the top-level packages that pyproject.toml puts into the wheel."""
    with open(ROOT / PYPROJECT, "rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["packages"]["find"]["include"]
    return tuple(pattern.removesuffix("*") for pattern in patterns)


def copy_sources(directory: Path) -> None:
    """Copy what the wheel is built from into a new directory.

    So building leaves the checkout as it is, and nothing that an earlier build left there (`build`,
    `*.egg-info`) gets into the wheel.
    """
    directory.mkdir()
    for name in _FILES:
        shutil.copy(ROOT / name, directory)
    for package in shipped_packages():
        shutil.copytree(ROOT / package, directory / package, ignore=shutil.ignore_patterns("__pycache__"))


def wheel_problems(wheel: Path, source: Path) -> list[str]:
    """Return a sentence for each file that the wheel should not hold, and for each that it lacks.

    Args:
        source: The directory that `copy_sources` made and that the wheel was built from.
    """
    with zipfile.ZipFile(wheel) as archive:
        held_files = {name for name in archive.namelist() if not _is_metadata(name)}
    source_files = {
        path.relative_to(source).as_posix()
        for package in shipped_packages()
        for path in (source / package).rglob("*")
        if path.is_file()
    }
    forbidden_files = {name for name in held_files if _FORBIDDEN.intersection(name.split("/")[:-1])}
    return [
        *(f"{wheel.name} holds {name}, which must not ship" for name in sorted(forbidden_files)),
        *(
            f"{wheel.name} holds {name}, which is not of a shipped package"
            for name in sorted(held_files - source_files - forbidden_files)
        ),
        *(f"{wheel.name} lacks {name}" for name in sorted(source_files - held_files)),
    ]


def _is_metadata(name: str) -> bool:
    return name.split("/")[0].endswith(".dist-info")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in a directory of its own.

    Attributes:
        home: The directory.
        binaries: The folder of its programs.
        library: The folder that packages are installed into.
    """

    home: Path
    binaries: Path
    library: Path

    def install(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pip install` for this environment with the pip of the running interpreter.

        Raises:
            subprocess.CalledProcessError: pip failed.
        """
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.home))
        return subprocess.run(
            [*pip, "install", "--no-compile", *arguments], check=True, capture_output=True, text=True
        )

    def run(
        self, *arguments: str, cwd: Path, program: str = "python", path: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with `path` as PYTHONPATH."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        if path is not None:
            variables["PYTHONPATH"] = str(path)
        return subprocess.run(
            [str(self.binaries / program), *arguments],
            cwd=cwd,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def create_environment(home: Path) -> Environment:
    """Create an empty virtual environment; it has no pip, because `install` brings its own."""
    venv.create(home, with_pip=False)
    paths = {"base": str(home), "platbase": str(home)}
    return Environment(
        home,
        Path(sysconfig.get_path("scripts", "venv", paths)),
        Path(sysconfig.get_path("purelib", "venv", paths)),
    )
