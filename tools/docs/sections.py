"""Sections of docstrings, which stand here without blank lines between them; `mkdocstrings` loads this."""

import re
from typing import Any

import griffe

_HEADING = re.compile(r"(?<!\n)\n(?=(?:Args|Attributes|Raises|Returns|Warns|Yields):\n)")


class SeparatedSections(griffe.Extension):
    """Puts a blank line before each section, as the parser of docstrings expects."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _HEADING.sub("\n\n", obj.docstring.value)
