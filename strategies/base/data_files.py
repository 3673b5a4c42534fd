"""The data files of this package, found wherever it is installed."""

from importlib.resources import files
from pathlib import Path


def data_file(name: str) -> Path:
    """Return the path of a file in the folder `sets` of this package, which need not exist yet."""
    return Path(str(files("strategies"))) / "sets" / name
