"""The pages of `docs/findings`: their template, index, links, scripts and counts, and the releases."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "docs" / "findings"
SCRIPTS = sorted(FINDINGS.rglob("*.py"))
INDEX = FINDINGS / "index.md"
PAGES = sorted(set(FINDINGS.glob("*.md")) - {INDEX})
# The pages of the engines that are pinned, and their packages.
ENGINES = {
    "datafusion": "datafusion",
    "deltalake": "deltalake",
    "duckdb": "duckdb",
    "iceberg": "pyiceberg",
    "polars": "polars",
}
# Groups that have to be installed apart, and the package of which they need different releases.
APART = {frozenset({"engines", "tpch"}): "duckdb"}
# The sections of a page that are not causes.
OTHER_SECTIONS = {"Causes that other pages have", "Other faults of the stand", "The hunt", "The hunts"}
EFFECTS = {"rows lost", "rows added", "wrong value", "wrong order", "error", "false alarm"}
# A cause is about 15 lines of text, and some lines of what its script printed.
TEXT_LINES_MAX = 20
PRINTED_LINES_MAX = 10
LINK = r"\[([^\]]+)\]\(([^)]+)\)"
FOUND_BY = re.compile(r"the hunt of `([\w-]+)`: (\d+) findings?, seen (\d+) times?\b")


class Section(NamedTuple):
    heading: str
    lines: list[str]


class Count(NamedTuple):
    findings: int
    seen: int | None


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause on the page of an engine."""

    page: Path
    engine: str
    section: Section

    @property
    def target(self) -> str:
        """The target of links from the index."""
        return f"{self.page.name}#{anchor(self.section.heading)}"

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The name and the text of each part, in order, without what scripts printed."""
        pieces = re.split(
            r"^\*\*([\w -]+)\*\*: ", "\n".join(lines_outside_fences(self.section.lines)), flags=re.MULTILINE
        )
        assert not pieces[0].strip(), f"{self.target} begins with text that is in no part"
        return [(name, " ".join(text.split())) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)]

    @property
    def hunt_counts(self) -> tuple[str, Count] | None:
        """The hunt that found it and how often; None for a cause that no whole hunt found."""
        match = FOUND_BY.match(dict(self.parts)["Found by"])
        return (match[1], Count(int(match[2]), int(match[3]))) if match else None


def lines_outside_fences(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of fenced blocks."""
    inside = False
    for line in lines:
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield line


def sections(page: Path) -> list[Section]:
    """The sections below the headings of the second level."""
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines_outside_fences(lines) if line.startswith("## ")]
    starts = [lines.index(head) for head in heads]
    return [
        Section(lines[start].removeprefix("## "), lines[start + 1 : end])
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]


def title(page: Path) -> str:
    """The heading of the first level: the engine and its release."""
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def causes() -> list[Cause]:
    """The causes of all pages."""
    return [
        Cause(page, title(page), section)
        for page in PAGES
        for section in sections(page)
        if section.heading not in OTHER_SECTIONS
    ]


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def effects_of(cause: Cause) -> set[str]:
    """The effects on the answer that a cause names; quotation marks hold what the hunt called it."""
    text = re.sub(r'"[^"]*"|\([^)]*\)', "", dict(cause.parts)["Effect"].lower())
    effects = {effect for effect in EFFECTS if effect in text}
    return {"false alarm"} if "false alarm" in effects else effects


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the table in a section of a page."""
    (section,) = [section for section in sections(page) if section.heading == heading]
    paragraphs = "\n".join(section.lines).split("\n\n")
    (lines,) = [text.strip().splitlines() for text in paragraphs if text.strip().startswith("|")]
    assert all(line.startswith("|") for line in lines), (
        "text that follows a table without an empty line is a row"
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def counts_by_hunt() -> dict[str, dict[str, Count]]:
    """For each hunt the causes it found, by where they are described, with their counts."""
    counts: dict[str, dict[str, Count]] = {}
    for cause in causes():
        if cause.hunt_counts is not None:
            hunt, count = cause.hunt_counts
            counts.setdefault(hunt, {})[cause.target] = count
    for page in PAGES:
        if "Causes that other pages have" in {section.heading for section in sections(page)}:
            for link, hunt, findings, seen, _ in table(page, "Causes that other pages have"):
                ((_, target),) = re.findall(LINK, link)
                count = Count(int(findings), None if seen == "-" else int(seen))
                assert counts.setdefault(hunt.strip("`"), {}).setdefault(target, count) == count
    return counts


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


def test_every_script_is_named_by_a_page() -> None:
    linked = {
        page.parent / target
        for page in PAGES
        for _, target in re.findall(LINK, page.read_text(encoding="utf-8"))
        if target.endswith(".py")
    }
    assert linked == set(SCRIPTS)


def test_the_links_between_the_pages_lead_to_files_and_headings() -> None:
    """Links to other hosts are not followed."""
    for page in [INDEX, *PAGES]:
        for _, target in re.findall(
            LINK, "\n".join(lines_outside_fences(page.read_text(encoding="utf-8").splitlines()))
        ):
            if re.match(r"https?:", target):
                continue
            name, _, fragment = target.partition("#")
            linked = page.parent / name if name else page
            assert linked.is_file(), (page.name, target)
            if fragment:
                assert fragment in [anchor(section.heading) for section in sections(linked)], (
                    page.name,
                    target,
                )


def test_a_heading_has_the_same_anchor_on_github_and_on_the_site() -> None:
    """GitHub makes a hyphen of each space, Python-Markdown one of several; both number repeated headings."""
    for page in [INDEX, *PAGES]:
        anchors = [anchor(section.heading) for section in sections(page)]
        assert len(set(anchors)) == len(anchors), page.name
        for name in anchors:
            assert re.fullmatch(r"[a-z0-9_]+(-[a-z0-9_]+)*", name), (page.name, name)


def test_every_cause_has_the_parts_of_the_template_in_their_order() -> None:
    """The index tells the template; the last part alone may be missing."""
    template = [part.strip("*") for part, _ in table(INDEX, "How a cause is described")]
    assert len(template) > 3
    for cause in causes():
        names = [name for name, _ in cause.parts]
        assert names in (template, template[:-1]), cause.target
        assert all(text for _, text in cause.parts), cause.target
        assert re.search(r"\.py\)", dict(cause.parts)["Smallest case"]), cause.target


def test_a_cause_is_short() -> None:
    for cause in causes():
        text = [line for line in lines_outside_fences(cause.section.lines) if line]
        fences = sum(line.startswith("```") for line in cause.section.lines)
        printed = sum(map(bool, cause.section.lines)) - len(text) - fences
        assert len(text) <= TEXT_LINES_MAX, cause.target
        assert printed <= PRINTED_LINES_MAX, cause.target


def test_the_index_lists_the_causes_of_the_pages_and_nothing_else() -> None:
    rows = []
    for engine, link, *_ in table(INDEX, "Index"):
        ((heading, target),) = re.findall(LINK, link)
        rows.append((engine, heading, target))
    assert Counter(rows) == Counter((cause.engine, cause.section.heading, cause.target) for cause in causes())


def test_the_rows_of_the_index_say_what_the_pages_say() -> None:
    by_target = {cause.target: cause for cause in causes()}
    text = " ".join(INDEX.read_text(encoding="utf-8").split())
    for _, link, kind, effects, count, upstream in table(INDEX, "Index"):
        ((_, target),) = re.findall(LINK, link)
        cause = by_target[target]
        parts = dict(cause.parts)
        assert f"*{kind}*" in text, (target, kind)
        assert set(effects.split(", ")) == effects_of(cause), (target, effects)
        hunt_counts = cause.hunt_counts
        assert count == ("{0.findings} ({0.seen})".format(hunt_counts[1]) if hunt_counts else "-"), target
        if links := re.findall(LINK, upstream):
            assert all(f"({address})" in parts["Known"] for _, address in links), (target, upstream)
        elif upstream == "by design":
            assert parts["Known"].startswith("by design"), target
        else:
            assert upstream == "none found", target
            assert re.search(r"\bno (\w+ )?(thread|issue)s?\b", parts["Known"].lower()), target


def test_the_engines_are_pinned_to_the_releases_that_the_findings_are_about() -> None:
    pins = {
        package: SpecifierSet(f"=={title(FINDINGS / f'{page}.md').split()[-1]}")
        for page, package in ENGINES.items()
    }
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


def test_the_counts_of_a_hunt_are_of_one_run() -> None:
    """The causes of a hunt have together as many findings as the table of the hunts says."""
    hunts = table(INDEX, "The hunts")
    counts = counts_by_hunt()
    assert {engine.strip("`") for _, engine, *_ in hunts} == set(counts)
    for _, engine, _, _, _, findings, of_engines, of_the_stand in hunts:
        hunt = counts[engine.strip("`")]
        own = [target for target in hunt if target.startswith("skipproof.md#")]
        assert sum(count.findings for count in hunt.values()) == int(findings), engine
        assert (len(hunt) - len(own), len(own)) == (int(of_engines), int(of_the_stand)), engine
