"""HTML pages of reports: escaped, each character visible, and never half there."""

import os
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pruning.errors import InputError


def environment(folder: Path) -> Environment:
    """What renders the templates of a folder; whatever they print is escaped, and each character shows."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )


def _finalized(value: object) -> object:
    """All that a template prints passes here; what a macro returns has already."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return visible(value)


def visible(value: str) -> str:
    """A text in which each character shows, or breaks a line."""
    return "".join(
        character if character.isprintable() or character in "\n\t\u2009" else f"\\u{{{ord(character):x}}}"
        for character in value
    )


def prepare(path: Path) -> None:
    """Make the folder that a file will lie in, and write and remove a file there.

    A run calls it before it begins, so that a place that cannot be written does not cost the results.

    Raises:
        InputError: no file can be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a folder")
        beside = _beside(path)
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def write(page: str, path: Path) -> None:
    """Write the page beside its place and rename it, so that none is ever half there.

    Raises:
        InputError: it cannot be written there.
    """
    write_lines([page.encode()], path)


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write lines, line ends included, beside the place of a file and rename it.

    Raises:
        InputError: they cannot be written there.
    """
    prepare(path)
    try:
        _replace(lines, path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _replace(lines: Iterable[bytes], path: Path) -> None:
    beside = _beside(path)
    try:
        with beside.open("wb") as file:
            file.writelines(lines)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path} cannot be written: {error.strerror or error}")
