"""The import contracts of the packages, and tests that each contract can fail."""

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

# A line that is planted in a folder, and the module that it must not import.
FORBIDDEN = [
    ("pruning", "import skipproof.commands.demo"),
    ("pruning", "import oracles.answers.rows"),
    ("pruning", "from strategies.base import tables"),
    ("oracles", "from pruning.rules.sets import truths"),
    ("oracles", "def late():\n    from pruning.metadata.table import schema"),
    ("oracles/isolation", "import oracles.isolation_brute_force"),
    ("strategies", "import oracles.answers.rows"),
    ("strategies/base", "from pruning.rules.sets import truths"),
    ("strategies/base", "import mutants.stores"),
    ("pruning/rules/sets", "import pyspark"),
    ("pruning/rules/sets", "from pruning.metadata.table import schema"),
    # One step back from room to room, in each package.
    ("pruning/metadata/files", "from pruning.verdicts import bounding"),
    ("pruning/rules/sets", "from pruning.rules.program import builder"),
    ("pruning/rules/interpreters/arrow", "from pruning.rules.interpreters import exact"),
    ("pruning/metadata/footers", "from pruning.metadata.table import blocks"),
    ("pruning/spark/jvm", "from pruning.spark.lake import tables"),
    ("pruning/techniques/plan", "from pruning.techniques import limit"),
    ("dynamic_tables/values", "from dynamic_tables.maintenance import algebra"),
    ("oracles/meaning", "from oracles.optimum import domains"),
    ("strategies/base", "from strategies.predicates import scope"),
    ("sim/kernel", "from sim.scans import events"),
    ("sim/scans/events.py", "from sim.scans import run"),
    ("sim/refreshes/model.py", "from sim.refreshes import run"),
    ("skipproof/stand/workers", "from skipproof.commands import cli"),
    ("skipproof/stand/workers", "from skipproof.stand.hunt import causes"),
    ("skipproof/stand/hunt", "from skipproof.stand.campaign import plan"),
    ("skipproof/proofs", "from mutants.rules import table"),
    ("skipproof/proofs/prover.py", "from skipproof.proofs.subjects import table"),
]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(LINT, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the packages and their contracts, in which a test breaks a contract."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_every_import_goes_in_an_allowed_direction() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_forbidden_import_is_caught(copy: Path) -> None:
    """Among them one step back in each package. All are planted at once, because the check takes seconds."""
    planted = [
        (plant(copy, place, line, ordinal), imported_by(line))
        for ordinal, (place, line) in enumerate(FORBIDDEN)
    ]
    done = lint(copy)
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert [(here, there) for here, there in planted if f"{here} -> {there}" not in said] == []


def test_a_module_that_no_layer_names_is_caught(copy: Path) -> None:
    for package in ("pruning", "sim/scans", "skipproof"):
        (copy / package / "planted.py").touch()
    done = lint(copy)
    assert done.returncode == 1
    assert done.stdout.count("planted") == 3


def plant(root: Path, place: str, line: str, ordinal: int) -> str:
    """Add a line to a file, or to a new file of a folder; return the name of the module."""
    file = root / place if place.endswith(".py") else root / place / f"planted_{ordinal}.py"
    with file.open("a", encoding="utf-8") as text:
        text.write(f"\n{line}\n")
    return file.relative_to(root).with_suffix("").as_posix().replace("/", ".")


def imported_by(line: str) -> str:
    """Return the module that a planted line imports."""
    [statement] = [
        node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    prefix = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    return prefix + statement.names[0].name


def imported_modules(package: Path) -> Iterator[str]:
    """Yield the full name of every module that the files of a package import, also inside functions."""
    for file in sorted(package.rglob("*.py")):
        yield from modules_imported_by(file)


def modules_imported_by(file: Path) -> Iterator[str]:
    """Yield every module that one file imports."""
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
    foreign = [
        name for name in imported_modules(ROOT / "pruning" / "expressions") if not within(name, *allowed)
    ]
    assert foreign == []


def test_only_modules_of_sql_know_the_parser_of_sql() -> None:
    files = [file for file in (ROOT / "dynamic_tables").rglob("*.py") if "sql" not in file.parts]
    assert [name for file in files for name in modules_imported_by(file) if within(name, "sqlglot")] == []


def test_rules_read_no_files() -> None:
    files = ("pyarrow.fs", "pyarrow.parquet", "pyarrow.dataset", "os", "pathlib", "io")
    assert [name for name in imported_modules(ROOT / "pruning" / "rules") if within(name, *files)] == []


def test_imports_are_seen_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os.path\ndef f():\n    from pyarrow import fs\n", encoding="utf-8")
    assert set(imported_modules(tmp_path)) == {"os.path", "pyarrow", "pyarrow.fs"}
