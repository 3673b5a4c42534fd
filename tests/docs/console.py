"""The commands that the pages show, with the files that they need and the output that they are to have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if "adr" not in path.parts
)
# Where the pages have their lake, their findings and their reports.
SHOWN_PLACE = "/tmp/"
_FENCE = re.compile(
    r"^(?:<!-- run: (?P<run>\w+) -->\n)?^```(?P<language>\w*)(?P<options>[^\n]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Titled:
    """A block with a title: a file that lies where the commands of its page run."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page.

    Attributes:
        line: What is typed, without the prompt.
        output: What the page shows below it.
        is_deep: Whether the page leaves it to deep runs.
    """

    line: str
    output: str
    is_deep: bool

    @property
    def program(self) -> str:
        """The command's first word."""
        return self.line.split()[0]


def steps(page: Path) -> Iterator[Titled | Command]:
    """Yield the files and commands of a page, in its order."""
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        title = re.search(r'title="([^"]+)"', fence["options"])
        if title:
            yield Titled(title[1], fence["text"])
        if fence["language"] == "console":
            yield from _commands(fence["text"], is_deep=fence["run"] == "deep")


def _commands(text: str, *, is_deep: bool) -> Iterator[Command]:
    """Yield the commands of a block; a line that is indented, where a quotation mark is open, goes on."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        size = 1
        while _is_open("\n".join(lines[:size])):
            size += 1
        yield Command("\n".join(lines[:size]), "\n".join(lines[size:]), is_deep)


def _is_open(line: str) -> bool:
    """Return whether a quotation mark of the shell is open at the end."""
    quote = ""
    for character in line:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
    return bool(quote)


# What differs between machines and runs, and what stands for it.
_VOLATILE = (
    # Sizes depend on the release of the writer.
    (re.compile(r"^(  bytes ).*$", re.MULTILINE), r"\1#"),
    (re.compile(r"[\d,.]+ (bytes|KB|MB)\b"), r"# \1"),
    # Durations and rates.
    (re.compile(r"[\d,.]+ ?(ms|us|s|seconds?)\b"), r"# \1"),
    (re.compile(r"[\d,.]+ a second"), "# a second"),
    # How much an engine reads before a LIMIT ends its threads.
    (re.compile(r"\blimit \d+ of"), "limit # of"),
)
# Columns of tables that hold such figures, by their headings.
_VOLATILE_HEADING = re.compile(r"\b(seconds|KB|ms|bytes)\b")
_RULE = re.compile(r"^\s*[─━═┏┓┡┩╇┳├┤┼][\s─━═┏┓┡┩╇┳├┤┼]*$")
_BORDERS = re.compile(r"[│┃┏┓└┘┴─━┳]+")


def masked(text: str) -> str:
    """Return an output with `#` for each volatile figure, and without borders and widths of tables."""
    for pattern, sign in _VOLATILE:
        text = pattern.sub(sign, text)
    lines = text.splitlines()
    volatile: list[bool] = []
    kept = []
    for at, line in enumerate(lines):
        cells = _cells(line)
        if _RULE.match("".join(lines[at + 1 : at + 2]) or "-"):
            volatile = [bool(_VOLATILE_HEADING.search(cell)) for cell in cells]
        elif len(cells) == len(volatile):
            cells = ["#" if hidden and cell else cell for cell, hidden in zip(cells, volatile, strict=True)]
        kept.append(" ".join(" ".join(cells).split()))
    return "\n".join(line for line in kept if line)


def _cells(line: str) -> list[str]:
    """Return the cells of a line of a table, between borders or gaps; another line is one cell or several."""
    if "│" in line or "┃" in line:
        return [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]
    return [cell for cell in re.split(r"\s{2,}", _BORDERS.sub(" ", line).strip()) if cell]


def agrees(shown: str, printed: str) -> bool:
    """Return whether an output is the one shown, in which a line `...` stands for any lines."""
    parts = masked(shown).split("\n...")
    if parts[0].startswith("..."):
        parts = ["", *[part.removeprefix("...") for part in parts]]
    pattern = r"(?:\n.*)*".join(
        re.escape("\n" + part if not at and part else part) for at, part in enumerate(parts)
    )
    return re.fullmatch(pattern, "\n" + masked(printed) if printed.strip() else "") is not None
