"""The fingerprint of the code that decides what is believed about a file.

What other code believed is not used: each doubt that was added since must apply to old files too.
"""

import functools
import hashlib
from importlib.resources import files
from pathlib import Path

# A test compares these with the imports of `pruning.metadata`.
_BELIEVING = ("arguments.py", "errors.py", "expressions", "metadata", "rules")


@functools.cache
def fingerprint() -> str:
    """Return the digest of this package's code that decides what is believed, in hexadecimal digits."""
    return fingerprint_of(Path(str(files("pruning"))))


def fingerprint_of(package: Path) -> str:
    """Return a digest of the code, in the folder of `pruning`, that decides what is believed."""
    digest = hashlib.sha256()
    for source in believing_sources(package):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def believing_sources(package: Path) -> list[Path]:
    """Return the files of the code that decides what is believed, sorted."""
    roots = [package / name for name in _BELIEVING]
    return sorted(file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py")))
