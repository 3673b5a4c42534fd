"""Write the table of test times, and the list of slow tests that `make test-fast` leaves out.

    python -m pytest -n auto --junitxml=times.xml
    python tools/test_times.py times.xml tests

`TIMES.md` has seconds per folder and the slowest hundred tests; `slow_tests.txt` the tests whose cases take
more than half a second on average.

Seconds are those of the clock in the worker that ran the test, with its fixtures; on as many workers as cores
they come close to processor time. A test of a module stands for all its cases.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

SLOWEST = 100
SECONDS_OF_SLOW = 0.5


def read_times(report: str) -> dict[tuple[str, str], list[float]]:
    """Return the seconds of each case of each test, by its file and its name."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        # A test in a class has the class after its module.
        module, *classes = re.split(r"\.(?=[A-Z])", case.get("classname", ""))
        name = "::".join([*classes, case.get("name", "").partition("[")[0]])
        times[module.replace(".", "/") + ".py", name].append(float(case.get("time", 0)))
    return times


def folder_rows(times: dict[tuple[str, str], list[float]]) -> list[tuple[str, float, int]]:
    """Return folder, seconds and number of cases, the slowest folder first."""
    folders: dict[str, list[float]] = defaultdict(list)
    for (file, _), seconds in times.items():
        folders[str(PurePosixPath(file).parent)] += seconds
    rows = [(folder, sum(seconds), len(seconds)) for folder, seconds in folders.items()]
    return sorted(rows, key=lambda row: -row[1])


def table_lines(times: dict[tuple[str, str], list[float]]) -> Iterator[str]:
    """Yield both tables as Markdown."""
    folders = folder_rows(times)
    total, cases = sum(seconds for _, seconds, _ in folders), sum(count for _, _, count in folders)
    yield "# Times of the default test run\n"
    yield f"Made by `tools/test_times.py`: {cases:,} cases, {total:,.0f} seconds over all workers.\n"
    yield "| folder | seconds | cases |\n| --- | ---: | ---: |"
    for folder, total_seconds, count in folders:
        yield f"| {folder} | {total_seconds:,.0f} | {count:,} |"
    yield f"\n## The slowest {SLOWEST} tests\n"
    yield "| seconds | cases | test |\n| ---: | ---: | --- |"
    for (file, name), seconds in sorted(times.items(), key=lambda row: -sum(row[1]))[:SLOWEST]:
        yield f"| {sum(seconds):,.1f} | {len(seconds)} | {file}::{name} |"


def slow_tests(times: dict[tuple[str, str], list[float]]) -> list[str]:
    """Return the ids of the slow tests, in order."""
    return sorted(
        f"{file}::{name}"
        for (file, name), seconds in times.items()
        if sum(seconds) / len(seconds) > SECONDS_OF_SLOW
    )


def main() -> None:
    """Write the table and the list into a folder."""
    times, folder = read_times(sys.argv[1]), Path(sys.argv[2])
    (folder / "TIMES.md").write_text("\n".join([*table_lines(times), ""]), encoding="utf-8")
    (folder / "slow_tests.txt").write_text("\n".join([*slow_tests(times), ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
