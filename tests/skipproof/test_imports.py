"""Who may import whom, and that the check of it can fail."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("pruning", "dynamic_tables", "oracles", "sim", "strategies", "skipproof", "mutants")
LINT = (
    sys.executable,
    "-c",
    "from importlinter.cli import lint_imports_command as main; main()",
    "--no-cache",
)

FORBIDDEN = [
    ("pruning/planted.py", "import skipproof.commands.demo"),
    ("pruning/planted.py", "import oracles.bags"),
    ("pruning/planted.py", "from strategies.base.tables import Table"),
    ("oracles/planted.py", "from pruning.rules.sets.truths import Match"),
    ("oracles/planted.py", "def late():\n    from pruning.metadata.table.schema import LOCATOR"),
    ("oracles/isolation/planted.py", "from oracles.isolation_brute_force import judge"),
    ("strategies/planted.py", "import oracles.bags"),
    ("strategies/base/planted.py", "from pruning.rules.sets import truths"),
    ("pruning/rules/sets/planted.py", "import pyspark"),
    ("pruning/rules/sets/planted.py", "from pruning.metadata.table import schema"),
    # One step back from room to room, in each package.
    ("pruning/metadata/files/planted.py", "from pruning.verdicts import bounding"),
    ("pruning/rules/sets/planted.py", "from pruning.rules.program import builder"),
    ("pruning/rules/interpreters/arrow/planted.py", "from pruning.rules.interpreters import exact"),
    ("pruning/metadata/footers/planted.py", "from pruning.metadata.table import schema"),
    ("pruning/spark/jvm/planted.py", "from pruning.spark.lake import tables"),
    ("pruning/techniques/plan/planted.py", "from pruning.techniques import limit"),
    ("dynamic_tables/values/planted.py", "from dynamic_tables.maintenance import algebra"),
    ("oracles/meaning/planted.py", "from oracles.optimum import domains"),
    ("strategies/base/planted.py", "from strategies.predicates import scope"),
    ("sim/kernel/planted.py", "from sim.scans import events"),
    ("sim/scans/events.py", "from sim.scans import run"),
    ("sim/refreshes/model.py", "from sim.refreshes import run"),
    ("skipproof/stand/workers/planted.py", "from skipproof.commands import cli"),
    ("skipproof/stand/workers/planted.py", "from skipproof.stand.hunt import causes"),
    ("strategies/base/planted.py", "from mutants import stores"),
    # A module that no layer names.
    ("sim/scans/planted.py", "import json"),
    ("pruning/planted.py", "import json"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(LINT, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages and their contracts, to break."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_every_import_goes_in_an_allowed_direction() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("where", "line"), FORBIDDEN)
def test_a_forbidden_import_is_caught(copy: Path, where: str, line: str) -> None:
    with (copy / where).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = lint(copy)
    assert done.returncode == 1
    assert where.removesuffix(".py").rpartition("/")[2] in done.stdout


def imported(package: Path) -> Iterator[str]:
    """Every module that the files of a package import, by its full name; also inside functions."""
    for file in sorted(package.rglob("*.py")):
        yield from of_file(file)


def of_file(file: Path) -> Iterator[str]:
    """Every module that one file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def test_expressions_import_nothing_but_themselves_and_the_standard_library() -> None:
    allowed = ("pruning.expressions", *sys.stdlib_module_names)
    foreign = [name for name in imported(ROOT / "pruning" / "expressions") if not within(name, *allowed)]
    assert foreign == []


def test_only_modules_of_sql_know_the_parser_of_sql() -> None:
    files = [file for file in (ROOT / "dynamic_tables").rglob("*.py") if "sql" not in file.parts]
    assert [name for file in files for name in of_file(file) if within(name, "sqlglot")] == []


def test_rules_read_no_files() -> None:
    files = ("pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset", "os", "pathlib", "io")
    assert [name for name in imported(ROOT / "pruning" / "rules") if within(name, *files)] == []


def test_imports_are_seen_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os.path\ndef f():\n    from pyarrow import fs\n", encoding="utf-8")
    assert set(imported(tmp_path)) == {"os.path", "pyarrow", "pyarrow.fs"}
