"""HTML pages of reports: escaped, with every character visible, and written atomically."""

import os
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pruning.errors import InputError


def template_environment(folder: Path) -> Environment:
    """Return the environment of a folder's templates; it escapes output and makes each character visible."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible_output,
    )


def _visible_output(value: object) -> object:
    """Make the text that a template prints visible; the output of a macro is visible already."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return visible_text(value)


def visible_text(value: str) -> str:
    """Return a text in which each character is visible or breaks the line."""
    return "".join(
        character if character.isprintable() or character in "\n\t\u2009" else f"\\u{{{ord(character):x}}}"
        for character in value
    )


def counted_noun(number: int, singular: str, plural: str = "") -> str:
    """Return a number and its noun, as `1 cause` and `2 causes`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def check_writable(path: Path) -> None:
    """Make the folder of a file, and check that a file can be written there.

    Called before a run begins, so that its results are not lost because they cannot be written.

    Raises:
        InputError: no file can be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a folder")
        beside = _temporary_path(path)
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def write_page(page: str, path: Path) -> None:
    """Write a page atomically, by renaming a temporary file beside it.

    Raises:
        InputError: it cannot be written there.
    """
    write_lines([page.encode()], path)


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write lines, which include their line ends, atomically: rename a temporary file beside the file.

    Raises:
        InputError: they cannot be written there.
    """
    check_writable(path)
    try:
        _write_and_rename(lines, path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _write_and_rename(lines: Iterable[bytes], path: Path) -> None:
    """Write lines into a temporary file, and rename it."""
    beside = _temporary_path(path)
    try:
        with beside.open("wb") as file:
            file.writelines(lines)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _temporary_path(path: Path) -> Path:
    """Return the path of the temporary file beside a file."""
    return path.with_name(f".{path.name}.new")


def _unwritable(path: Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    return InputError(f"{path} cannot be written: {error.strerror or error}")
