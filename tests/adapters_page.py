"""The examples of `docs/how-to/bring-an-engine.md`."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "bring-an-engine.md"
LINES_MAX = 40
# What makes the program of the page lose rows: a bound is no longer taken for a value that may be there.
SOUND, UNSOUND = "low <= literal <= high", "low < literal < high"


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(
        rf"^```{language}(?: [^\n]*)?\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def program() -> str:
    """The worker that imports nothing of skipproof."""
    return blocks("python")[0]


def broken_program() -> str:
    """The same, wrong."""
    assert SOUND in program()
    return program().replace(SOUND, UNSOUND)


def module() -> str:
    """The module of the Python class."""
    return blocks("python")[1]
