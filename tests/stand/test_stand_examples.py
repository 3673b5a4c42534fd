"""The examples of `docs/how-to/bring-an-engine.md` are short, run, and find nothing in a correct engine."""

import ast
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from adapters_page import LINES_MAX, PAGE, blocks, broken_program, module, program

from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.workers.engines import GROUP, engine_names, find_engine
from skipproof.stand.workers.workers import Worker

EXAMPLES = 30


def run_hunt(command: Sequence[str], *, examples: int = EXAMPLES) -> Hunt:
    with Worker(command) as worker:
        return hunt(
            worker,
            capabilities(worker),
            Limits(examples=examples, seconds=120, findings=1, seconds_to_shrink=2),
        )


@pytest.fixture
def installed_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the page's module and its entry point, as an installer does."""
    (tmp_path / "sqlite_on_the_stand.py").write_text(module(), encoding="utf-8")
    (declared,) = blocks("toml")
    points = tomllib.loads(declared)["project"]["entry-points"]
    metadata = tmp_path / "sqlite_on_the_stand-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sqlite-on-the-stand\nVersion: 1\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in points[GROUP].items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "sqlite_on_the_stand", raising=False)


@pytest.mark.parametrize("text", blocks("python"), ids=["the program", "the class"])
def test_an_example_fits_a_page(text: str) -> None:
    assert len(text.splitlines()) <= LINES_MAX
    assert max(map(len, text.splitlines())) <= 110


def test_the_program_imports_nothing_of_this_project() -> None:
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(program()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {"json", "operator", "sys", "pyarrow"}


def test_the_program_is_asked_and_sound(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(program(), encoding="utf-8")
    found = run_hunt([sys.executable, str(tmp_path / "plain.py")])
    assert found.findings == []
    assert found.examples >= EXAMPLES


def test_the_hunt_finds_the_program_with_one_comparison_wrong(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(broken_program(), encoding="utf-8")
    found = run_hunt([sys.executable, str(tmp_path / "plain.py")], examples=300)
    (finding,) = found.findings
    assert finding.outcome.contradiction is not None
    assert finding.outcome.contradiction.verdict.value == "rows lost"


@pytest.mark.usefixtures("installed_engine")
def test_the_class_is_found_by_its_entry_point_asked_and_sound() -> None:
    assert "sqlite" in engine_names()
    found = run_hunt(find_engine("sqlite").command)
    assert found.findings == []
    assert found.examples >= EXAMPLES


def test_the_page_names_every_option_of_the_plugin() -> None:
    from skipproof.stand import plugin

    source = Path(str(plugin.__file__)).read_text(encoding="utf-8")
    options = {word.strip('",') for word in source.split() if word.startswith('"--skipproof-')}
    told = PAGE.read_text(encoding="utf-8")
    assert options
    assert [option for option in sorted(options) if f"`{option}" not in told] == []
