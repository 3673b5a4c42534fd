"""Write the table of test times: seconds per folder, and the slowest hundred tests.

    python -m pytest -n auto --junitxml=times.xml
    python tools/test_times.py times.xml > tests/TIMES.md

Seconds are those of the clock in the worker that ran the test, with its fixtures; on as many workers as cores
they come close to processor time. A test of a module stands for all its cases.
"""

import sys
from collections import defaultdict
from pathlib import PurePosixPath
from xml.etree import ElementTree

SLOWEST = 100


def test_seconds(report: str) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the seconds and the number of cases of each test, by its file and its name."""
    seconds: dict[tuple[str, str], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        name = case.get("name", "").partition("[")[0]
        before, cases = seconds[file, name]
        seconds[file, name] = before + float(case.get("time", 0)), cases + 1
    return seconds


def folder_rows(seconds: dict[tuple[str, str], tuple[float, int]]) -> list[tuple[str, float, int]]:
    """Return folder, seconds and number of cases, the slowest folder first."""
    folders: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for (file, _), (time, cases) in seconds.items():
        folder = str(PurePosixPath(file).parent)
        before, count = folders[folder]
        folders[folder] = before + time, count + cases
    return sorted(((name, *sums) for name, sums in folders.items()), key=lambda row: -row[1])


def main() -> None:
    """Print both tables as Markdown."""
    seconds = test_seconds(sys.argv[1])
    total = sum(time for time, _ in seconds.values())
    cases = sum(count for _, count in seconds.values())
    print("# Times of the default test run\n")
    print(f"Made by `tools/test_times.py`: {cases:,} cases, {total:,.0f} seconds over all workers.\n")
    print("| folder | seconds | cases |\n| --- | ---: | ---: |")
    for folder, time, count in folder_rows(seconds):
        print(f"| {folder} | {time:,.0f} | {count:,} |")
    print(f"\n## The slowest {SLOWEST} tests\n")
    print("| seconds | cases | test |\n| ---: | ---: | --- |")
    for (file, name), (time, count) in sorted(seconds.items(), key=lambda row: -row[1][0])[:SLOWEST]:
        print(f"| {time:,.1f} | {count} | {file}::{name} |")


if __name__ == "__main__":
    main()
