"""The fingerprint of a metadata cache covers all code that decides what is believed of a file."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import pruning
from pruning.metadata.table.fingerprint import believing_sources, fingerprint_of

PACKAGE = Path(pruning.__file__).parent
# `pruning/__init__.py` only says where the public functions are.
OUTSIDE = {PACKAGE / "__init__.py"}


def rooms() -> Iterator[str]:
    """Yield one file of each folder that the fingerprint covers, as a path below the package."""
    covered = believing_sources(PACKAGE)
    for folder in sorted({file.parent for file in covered}):
        yield next(str(file.relative_to(PACKAGE)) for file in covered if file.parent == folder)


def imported(source: Path) -> Iterator[Path]:
    """Yield the files of the package that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            place = PACKAGE.parent.joinpath(*name.split("."))
            yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


@pytest.mark.parametrize("changed", rooms())
def test_a_changed_file_of_any_room_changes_the_fingerprint(changed: str, tmp_path: Path) -> None:
    """A belief of older code must not be reused, whichever folder the code is in."""
    copy = tmp_path / "pruning"
    for source in believing_sources(PACKAGE):
        target = copy / source.relative_to(PACKAGE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    assert fingerprint_of(copy) == fingerprint_of(PACKAGE)
    with (copy / changed).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert fingerprint_of(copy) != fingerprint_of(PACKAGE)


def test_the_fingerprint_covers_whatever_the_metadata_code_imports() -> None:
    """A module that moves out of the covered folders, and is still imported, is missed here."""
    reached: set[Path] = set()
    waiting = list((PACKAGE / "metadata").rglob("*.py"))
    while waiting:
        source = waiting.pop()
        if source in reached or source in OUTSIDE or not source.is_relative_to(PACKAGE):
            continue
        reached.add(source)
        waiting += imported(source)
    assert reached <= set(believing_sources(PACKAGE))
