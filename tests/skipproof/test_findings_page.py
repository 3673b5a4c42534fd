"""`docs/findings.md`: its scripts, its counts, and the versions of engines that it is about."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "docs" / "findings").rglob("*.py"))
# The heading of an engine's findings, and its package.
ENGINES = {
    "DataFusion": "datafusion",
    "delta-rs": "deltalake",
    "DuckDB": "duckdb",
    "PyIceberg": "pyiceberg",
    "Polars": "polars",
}
# Groups that have to be installed apart, and the package of which they need different releases.
APART = {frozenset({"engines", "tpch"}): "duckdb"}


def groups() -> dict[str, list[Requirement]]:
    """The dependency groups of the project."""
    pages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return {name: [Requirement(text) for text in texts] for name, texts in pages.items()}


def specifiers(package: str) -> dict[str, SpecifierSet]:
    """The requirement of a package in each group that names it."""
    return {
        name: requirement.specifier
        for name, requirements in groups().items()
        for requirement in requirements
        if requirement.name == package
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_script_of_a_finding_writes_to_a_place_of_its_own(script: Path) -> None:
    """Two users of one machine may run it, and nothing of theirs is overwritten."""
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"/(?:var/)?tmp/|[A-Z]:\\", text)
    compile(text, script, "exec")


def test_the_engines_are_pinned_to_the_releases_that_the_findings_are_about() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    pins = {}
    for heading, package in ENGINES.items():
        (version,) = re.findall(rf"^## {heading} (\S+)$", page, re.MULTILINE)
        pins[package] = SpecifierSet(f"=={version}")
    assert {package: specifiers(package)["engines"] for package in pins} == pins


def test_groups_that_need_two_releases_of_an_engine_cannot_be_installed_together() -> None:
    """Else pip would choose the release of one, and the findings would be tried with another."""
    for package in ENGINES.values():
        asked = specifiers(package)
        (pin,) = asked["engines"]
        for name, specifier in asked.items():
            agrees = specifier.contains(Version(pin.version))
            assert agrees is (APART.get(frozenset({"engines", name})) != package), (package, name)


def test_the_groups_that_are_installed_apart_are_told_to_uv_and_in_the_contributing_guide() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["uv"]["conflicts"]
    assert {frozenset(group["group"] for group in conflict) for conflict in told} == set(APART)
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(all(f"`{group}`" in guide for group in groups_apart) for groups_apart in APART)


def test_the_counts_of_pyiceberg_are_of_one_run() -> None:
    """Each section tells as many findings and sightings as its row of the table of causes."""
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## PyIceberg .*?(?=^## )", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| \d+ \|.*?\| (\d+) \| (\d+) \|", section, re.MULTILINE)
    told = re.findall(
        r"^- \*\*Verdict\*\*:.*?(\d+) findings?\b[^,]*,\s+seen (once|\d+)", section, re.MULTILINE | re.DOTALL
    )
    counts = sorted((int(findings), 1 if seen == "once" else int(seen)) for findings, seen in told)
    assert counts == sorted((int(findings), int(seen)) for findings, seen in rows)
    (total,) = re.findall(r"\[PyIceberg [^|]*\|[^|]*\|[^|]*\|[^|]*\| (\d+) \|", page)
    # One finding was the stand's own.
    assert sum(findings for findings, _ in counts) + 1 == int(total)


def test_the_hunt_that_the_readme_shows_can_be_repeated() -> None:
    """By time alone, no two machines ask the same questions."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    hunts = re.findall(r"^    \$ skipproof check .*", page, re.MULTILINE)
    assert hunts
    assert all("--examples" in hunt and "--seconds" not in hunt for hunt in hunts)
