"""The scripts of `docs/findings`: their form, and that each shows its fault and none once it is cured."""

import ast
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from finding_pages import FINDINGS, PAGES, SCRIPTS, causes, cures, groups, printed_texts, title

from skipproof.java import use_java

LINES_MAX = 20
LAST_LINES = [r'print(f"expected {expected}\nactual {actual}")', "sys.exit(expected != actual)"]
# What the scripts of a folder may import beside the standard library, the engine's own package first.
PACKAGES = {
    "arrow": ["pyarrow"],
    "clickhouse": ["chdb", "pyarrow"],
    "daft": ["daft", "pyarrow"],
    "datafusion": ["datafusion", "pyarrow"],
    "deltalake": ["deltalake", "pyarrow"],
    "duckdb": ["duckdb", "pyarrow"],
    "iceberg": ["pyiceberg", "pyarrow"],
    "polars": ["polars", "pyarrow"],
    "skipproof": ["pyspark", "pyarrow"],
    "spark": ["pyspark", "py4j", "pyarrow"],
}
# The dependency group of a script that needs another release than the one that its page is about.
GROUPS = {FINDINGS / "duckdb" / "iceberg_scan_nan.py": "duckdb-iceberg"}
# The page that names the release; what was the stand's own fault is shown by Spark.
RELEASES = {page.stem: title(page).split()[-1] for page in PAGES} | {
    "skipproof": title(FINDINGS / "spark.md").split()[-1]
}
SECONDS_MAX = 120.0
# delta-rs and Daft now and then abort as their process ends, after all output; the two lines tell the status.
ABORTED_AT_THE_END = ("terminate called without an active exception", "Python runtime state: finalizing")
BY_NAME = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: "/".join(path.parts[-2:]))

WRONG = {
    "by the engine": "import duckdb, sys\nexpected = duckdb.sql('SELECT 1').fetchall()\n",
    "by way of a name": (
        "import duckdb\nrows = duckdb.sql('SELECT 1')\nfor a in rows:\n    kept = a\nexpected = [kept]\n"
    ),
    "by adding up": "import duckdb\nexpected = []\nexpected += duckdb.sql('SELECT 1').fetchall()\n",
    "by a part of a tuple": "from duckdb import sql\nrows, expected = [1], sql('SELECT 1')\n",
}
RIGHT = (
    "import sys\nimport tempfile\nimport duckdb\nrows, engine = [(1, 2)], duckdb.connect()\n"
    "expected = [a for a, _ in rows]\nactual = [a for (a,) in engine.execute('SELECT 1').fetchall()]\n"
)


def imported_modules(tree: ast.Module) -> dict[str, str]:
    """The names that a script imports, and the packages that they are of."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(part.asname or part.name).partition(".")[0]: part.name for part in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {part.asname or part.name: node.module or "" for part in node.names}
    return {name: module.partition(".")[0] for name, module in names.items()}


def bindings(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that a statement binds, with the expression that it is of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in assignment_pairs(target, node.value)]
        elif isinstance(node, ast.AugAssign):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For):
            pairs = [(node.target, node.iter)]
        else:
            continue
        for target, value in pairs:
            yield from ((name.id, value) for name in ast.walk(target) if isinstance(name, ast.Name))


def assignment_pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with their values, part by part where both are tuples."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def free_names(expression: ast.expr) -> set[str]:
    """The names that an expression reads, without those of its own comprehensions and functions."""
    names = [node for node in ast.walk(expression) if isinstance(node, ast.Name)]
    own = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(expression) if isinstance(node, ast.arg)}
    return {name.id for name in names} - own


def packages_of_expected(text: str) -> set[str]:
    """The packages beside the standard library from which a script computes what it expects."""
    tree = ast.parse(text)
    modules = imported_modules(tree)
    names, read = {"expected"}, set[str]()
    while names:
        read |= names
        names = {name for bound, of in bindings(tree) if bound in names for name in free_names(of)} - read
    return {modules[name] for name in read & modules.keys()} - sys.stdlib_module_names


@BY_NAME
def test_a_script_has_the_form_that_trackers_ask_for(script: Path) -> None:
    """It is short, needs the engine alone, and knows no place of this machine; ruff keeps its style."""
    text = script.read_text(encoding="utf-8")
    packages = {*PACKAGES[script.parent.name], *needed_releases(script), *sys.stdlib_module_names}
    assert len(text.splitlines()) <= LINES_MAX
    assert text.splitlines()[-2:] == LAST_LINES
    assert set(imported_modules(ast.parse(text)).values()) <= packages
    assert not any(place in text for place in ("/tmp", "/home", "/var", "/root", "/work", ":\\", "~/"))


@BY_NAME
def test_a_script_expects_what_plain_python_says(script: Path) -> None:
    assert packages_of_expected(script.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_script_that_expects_what_an_engine_says_is_told(text: str) -> None:
    assert packages_of_expected(text) == {"duckdb"}


def test_an_answer_beside_what_is_expected_does_no_harm() -> None:
    assert packages_of_expected(RIGHT) == set()


@pytest.mark.parametrize("script", GROUPS, ids=lambda path: path.stem)
def test_a_script_with_a_group_of_its_own_needs_a_release_that_its_page_names_too(script: Path) -> None:
    """If the page were about that release, the script would need no group of its own."""
    assert script in SCRIPTS
    engine, page = PACKAGES[script.parent.name][0], script.parent.with_suffix(".md")
    release = needed_releases(script)[engine]
    assert release != RELEASES[script.parent.name]
    (section,) = [cause.section for cause in causes() if f"/{script.name})" in "\n".join(cause.section.lines)]
    assert release in section.heading
    assert release in page.read_text(encoding="utf-8").partition("\n## ")[0]


def test_the_scripts_of_a_page_need_the_engine_of_the_page() -> None:
    """The faults of the stand are shown by the engines, and the page of another engine may have one."""
    assert {script.parent.name for script in SCRIPTS} == PACKAGES.keys()
    shown = printed_texts()
    for cause in causes():
        text = "\n".join(cause.section.lines)
        scripts = [script for script in shown if f"]({script.parent.name}/{script.name})" in text]
        assert scripts, cause.target
        if cause.page.stem != "skipproof":
            assert {script.parent.name for script in scripts} == {cause.page.stem}


def test_the_pages_have_an_expected_and_an_actual_answer_of_each_script() -> None:
    for script, text in printed_texts().items():
        (name, expected), (other, actual) = (line.split(" ", 1) for line in text.splitlines())
        assert (name, other) == ("expected", "actual"), script.name
        assert expected != actual, script.name


def test_every_cure_is_of_one_place_in_its_script() -> None:
    for script, of_script in cures().items():
        text = script.read_text(encoding="utf-8")
        assert of_script or any(
            script.name in "".join(cause.section.lines) and dict(cause.parts)["Cure"].startswith("none: ")
            for cause in causes()
        ), script.name
        for cure in of_script:
            assert text.count(cure.old) == 1, (script.name, cure)


@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path.parent.name == "arrow"], ids=lambda path: path.stem
)
def test_a_script_of_pyarrow_shows_its_fault_within_this_process(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The deep run does so with all engines, each script in a process of its own."""
    skip_other_releases(script)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script))
    assert ended.value.code is True
    assert capsys.readouterr().out == printed_texts()[script]


@pytest.mark.deep
@BY_NAME
def test_a_script_shows_its_fault_and_none_once_it_is_cured(script: Path, tmp_path: Path) -> None:
    """It exits with 1 and prints what its page has, and with 0 after each cure."""
    skip_other_releases(script)
    if PACKAGES[script.parent.name][0] == "pyspark":
        use_java()
    text = script.read_text(encoding="utf-8")
    status, printed = run(text, tmp_path / "wrong")
    assert status == 1, printed
    expected, actual = printed.splitlines()
    assert (expected[:9], actual[:7]) == ("expected ", "actual ")
    assert printed == printed_texts().get(script, printed)
    for number, cure in enumerate(cures()[script]):
        status, printed = run(text.replace(cure.old, cure.new), tmp_path / str(number))
        assert status == 0, (cure, printed)
        assert printed.splitlines() == [expected, expected.replace("expected ", "actual ", 1)], cure


def needed_releases(script: Path) -> dict[str, str]:
    """The release of each package that a script needs in one release alone."""
    if script not in GROUPS:
        return {PACKAGES[script.parent.name][0]: RELEASES[script.parent.name]}
    pins = {requirement.name: requirement.specifier for requirement in groups()[GROUPS[script]]}
    return {package: str(pin).removeprefix("==") for package, pin in pins.items()}


def skip_other_releases(script: Path) -> None:
    """Skip where what a script needs is not installed in the release that its finding is about."""
    for package, release in needed_releases(script).items():
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed = "missing"
        if installed != release:
            reason = f"{package} is {installed}, and the finding is about {release}"
            pytest.skip(f"{reason}; pyproject.toml names the group that has it")


def run(text: str, directory: Path) -> tuple[int, str]:
    """Run a script whose temporary files are below a new directory; return its status and what it printed."""
    directory.mkdir()
    (directory / "script.py").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "script.py"],
        cwd=directory,
        env=os.environ | {"TMPDIR": str(directory), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if ended.returncode == -signal.SIGABRT and any(sign in ended.stderr for sign in ABORTED_AT_THE_END):
        expected, actual = ended.stdout.splitlines()
        return int(expected.removeprefix("expected ") != actual.removeprefix("actual ")), ended.stdout
    return ended.returncode, ended.stdout
