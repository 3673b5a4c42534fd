"""The drawing of questions is general: it names no release and no report of a bug."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import skipproof.stand.hunt
import strategies.engines

# A release in three parts, or an engine's in two; a number of an issue or a pull request.
_SPECIFIC = re.compile(
    r"\b\d+\.\d+\.\d+\b|#\d{2,}"
    r"|\b(duckdb|polars|datafusion|pyarrow|pyiceberg|delta|iceberg|spark|clickhouse|chdb|daft)[-= ]*\d+\.\d",
    re.IGNORECASE,
)


def _specific_lines(folder: Path) -> Iterator[str]:
    """Yield the lines of a folder's modules that name a release or a report."""
    for path in sorted(folder.rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if _SPECIFIC.search(line):
                yield f"{path.name}:{number}: {line.strip()}"


@pytest.mark.parametrize("package", [strategies.engines, skipproof.stand.hunt], ids=["strategies", "hunt"])
def test_no_release_or_report_stands_in_what_is_drawn(package: ModuleType) -> None:
    """A weight for a known fault would find that one again, and tell nothing about the next."""
    (folder,) = package.__path__
    assert list(_specific_lines(Path(folder))) == []


@pytest.mark.parametrize("line", ["# polars 1.30 fails", "version == '1.5.6'", "seen in apache/arrow#5375"])
def test_a_release_or_report_would_be_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "weights.py").write_text(f"WEIGHT = 3\n{line}\n", encoding="utf-8")
    assert list(_specific_lines(tmp_path)) == [f"weights.py:2: {line}"]
