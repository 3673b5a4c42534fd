"""Paths into lists and objects: their steps, and their text as FLATTEN shows it, such as `a.b[0]['c d']`."""

import re
from typing import TypeAlias

from pruning.errors import InputError

# A name of a member, or the ordinal of an element from 0.
Step: TypeAlias = str | int
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
STEP = re.compile(r"(?P<dot>\.?)(?P<name>[A-Za-z_][A-Za-z0-9_$]*)|\[(?P<place>\d+)\]|\['(?P<quoted>[^']*)'\]")


def extended_path(path: str, step: Step) -> str:
    """Return the text of a path with one more step; a name that is no identifier is quoted in brackets."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if PLAIN_NAME.fullmatch(step) is None:
        return f"{path}['{step}']"
    return f"{path}.{step}" if path else step


def path_steps(text: str) -> list[Step]:
    """Return the steps of a path.

    Raises:
        InputError: It is no path.

    >>> path_steps("a.b[0]['c d']")
    ['a', 'b', 0, 'c d']
    """
    steps: list[Step] = []
    end = 0
    while end < len(text):
        step = STEP.match(text, end)
        if step is None or (step["name"] and bool(step["dot"]) is (end == 0)):
            raise InputError(f"{text!r} is no path: write one like a.b[0]")
        end = step.end()
        steps.append(int(step["place"]) if step["place"] else step["name"] or step["quoted"] or "")
    return steps
