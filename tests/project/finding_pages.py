"""The pages of `docs/findings`, read: their sections, causes, scripts and tables."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "docs" / "findings"
SCRIPTS = sorted(FINDINGS.rglob("*.py"))
INDEX = FINDINGS / "index.md"
PAGES = sorted(set(FINDINGS.glob("*.md")) - {INDEX})
# The sections of a page that are not causes.
INHERITED = "Causes that other pages have"
OTHER_SECTIONS = {INHERITED, "Other faults of the stand", "The hunt", "The hunts"}
EFFECTS = {"rows lost", "rows added", "wrong value", "wrong order", "error", "false alarm"}
LINK = r"\[([^\]]+)\]\(([^)]+)\)"
FOUND_BY = re.compile(r"the hunt of `([\w-]+)`: (\d+) findings?, seen (\d+) times?\b")
# The words of two searches, and their day.
SEARCHES = re.compile(r'none found\b[^"]* by the words "([^"]+)" or "([^"]+)" \((20\d\d-\d\d-\d\d)\)')
# A cure of a script: a text of it, and what takes its place; or the script that the next cures are of.
CURES = re.compile(r"\]\((\w+/\w+\.py)\)|\breplace `([^`]+)` by `([^`]+)`")


class Kind(Enum):
    """The kinds of causes, by what is known upstream."""

    SILENT = "silent"
    KNOWN = "known"
    DESIGN = "by design"
    ERROR = "error"
    STAND = "the stand's"


class Section(NamedTuple):
    heading: str
    lines: list[str]


class Count(NamedTuple):
    findings: int
    seen: int | None


class Cure(NamedTuple):
    """A text of a script that is replaced, so that it shows no fault."""

    old: str
    new: str


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

    @property
    def kind(self) -> Kind:
        """The kind of the cause, by the words that open the part about it."""
        opening = dict(self.parts)["Known"]
        if effects_of(self) == {"false alarm"}:
            return Kind.STAND
        if opening.startswith("by design: "):
            return Kind.DESIGN
        if effects_of(self) == {"error"}:
            return Kind.ERROR
        return Kind.SILENT if opening.startswith("none found ") else Kind.KNOWN


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


def groups() -> dict[str, list[Requirement]]:
    """The dependency groups of the project."""
    pages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return {name: [Requirement(text) for text in texts] for name, texts in pages.items()}


def printed_texts() -> dict[Path, str]:
    """The output of each script, as the fenced block after the link to it has it."""
    texts: dict[Path, str] = {}
    for cause in causes():
        name: str | None = None
        for text, fence in re.findall(
            r"(.*?)(?:^```text\n(.*?)^```$|\Z)", "\n".join(cause.section.lines), re.S | re.M
        ):
            names = [target for _, target in re.findall(LINK, text) if target.endswith(".py")]
            name = names[-1] if names else name
            if fence:
                assert name is not None
                assert FINDINGS / name not in texts, name
                texts[FINDINGS / name] = fence
    return texts


def cures() -> dict[Path, list[Cure]]:
    """The cures of each script, as its page has them; none where the page says so."""
    texts: dict[Path, list[Cure]] = {script: [] for script in SCRIPTS}
    for page in PAGES:
        for section in sections(page):
            name: str | None = None
            text = " ".join(" ".join(lines_outside_fences(section.lines)).split())
            for script, old, new in CURES.findall(text):
                name = script or name
                if not script:
                    assert name is not None
                    texts[FINDINGS / name].append(Cure(old, new))
    return texts
