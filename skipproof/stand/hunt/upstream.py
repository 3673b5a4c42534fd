"""Reports of findings in the form that trackers of engines ask for: a text, and a script of a few lines.

The script holds the files that it reads, needs the engine alone, prints the expected and the actual answer,
and exits with 1 where they contradict each other. It is run once before it is written down.
"""

import ast
import base64
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from oracles.answers.contradictions import (
    Discrepancy,
    Oracle,
    expected_count,
    has_several_answers,
    without_limit,
)
from skipproof.stand.hunt.examining import Write, ask_each, plain_form, pruned_form
from skipproof.stand.hunt.findings import Blame, ConfirmedFinding, blame_text
from skipproof.stand.hunt.writing import writer_releases
from skipproof.stand.workers.workers import EngineClient, Hello
from strategies.engines.questions import Column, Question

_SECONDS_MAX = 120.0
_WIDTH_MAX = 200
# Statements of which the second time changes nothing.
_REPEATABLE = (ast.Import, ast.ImportFrom, ast.FunctionDef)
# The package that has an engine, where its name is another.
_PACKAGES = {
    "arrow": "pyarrow",
    "duckdb-tables": "duckdb",
    "iceberg": "pyiceberg",
    "skipproof": "pyspark",
    "spark": "pyspark",
}
_TRACKERS = {
    "arrow": "https://github.com/apache/arrow/issues",
    "datafusion": "https://github.com/apache/datafusion/issues",
    "deltalake": "https://github.com/delta-io/delta-rs/issues",
    "duckdb": "https://github.com/duckdb/duckdb/issues",
    "duckdb-tables": "https://github.com/duckdb/duckdb/issues",
    "iceberg": "https://github.com/apache/iceberg-python/issues",
    "polars": "https://github.com/pola-rs/polars/issues",
    "spark": "https://issues.apache.org/jira/projects/SPARK/issues",
}
_ISSUE = """\
# {engine} {version}: {title}

{difference}
{writers}
## To reproduce

{reproduced} It prints:

```text
{printed}
```

The script:

```python
{script}```

## Expected

{expected}

## What makes it right

{cures}

## Known

No tracker was searched for it. Threads about it would be in {tracker}.
"""
_SHOWN = "`python reproduce.py`, with `{requirement}` installed, exits with 1."
_NOT_SHOWN = "`python reproduce.py`, with `{requirement}` installed, did not show it when it was run."


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamReport:
    """A report of one finding.

    Attributes:
        script: The text of `reproduce.py`.
        issue: The text of `issue.md`.
        is_shown: Whether the script showed the fault when it was run: it exited with 1, and by an error only
            if the finding is one.
    """

    script: str
    issue: str
    is_shown: bool


def upstream_report(
    worker: EngineClient, confirmed: ConfirmedFinding, *, write: Write, python: str | None = None
) -> UpstreamReport:
    """Return the report of a finding, whose script was run once.

    Args:
        python: The interpreter that has the engine, by default this one.
    """
    script = _script(worker, confirmed, write)
    status, printed = _run(script, python or sys.executable)
    is_shown = status == 1 and _is_kind(confirmed, printed)
    issue = _issue(worker.hello, confirmed, script, printed, is_shown=is_shown)
    return UpstreamReport(script=script, issue=issue, is_shown=is_shown)


def _is_kind(confirmed: ConfirmedFinding, printed: str) -> bool:
    """Tell whether a script printed an answer, or none if the finding is an error."""
    contradiction = confirmed.finding.outcome.contradiction
    assert contradiction is not None
    answers = any(line.partition(" ")[0] == "actual" for line in printed.splitlines())
    return answers is not (contradiction.verdict is Discrepancy.RAISED)


def save_report(report: UpstreamReport, folder: Path) -> None:
    """Write both files of a report into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reproduce.py").write_text(report.script, encoding="utf-8")
    (folder / "issue.md").write_text(report.issue, encoding="utf-8")


def _script(worker: EngineClient, confirmed: ConfirmedFinding, write: Write) -> str:
    """Return the script of a finding.

    Where the engine contradicts itself, it asks over tables with nothing to prune by first. Where only the
    reference contradicts it, the expected rows are the reference's.
    """
    world, question = confirmed.finding.world, confirmed.finding.outcome.question
    contradiction = confirmed.finding.outcome.contradiction
    assert contradiction is not None
    with TemporaryDirectory(prefix="skipproof-") as directory:
        root = Path(directory)
        pruned = {
            name: pruned_form(worker, table, root / name, write) for name, table in world.tables.items()
        }
        plain = {name: plain_form(worker, table) for name, table in world.tables.items()}
        files = sorted(path for path in root.rglob("*") if path.is_file())
        contents = {
            str(path.relative_to(root)): base64.b64encode(path.read_bytes()).decode()
            for path in (files if confirmed.blame is not Blame.PLAIN else ())
        }
        by_itself = contradiction.oracle is Oracle.ITSELF
        wrong = plain if confirmed.blame is Blame.PLAIN else pruned
        (actual,) = ask_each(worker, wrong, world, [question], sources="only")
        (whole,) = ask_each(worker, plain, world, [without_limit(question)], sources="only")
    first = list(_lines_of_program(whole["source"], "expected") if by_itself else _lines_of_rows(confirmed))
    second = list(_lines_of_program(actual["source"].replace(f"{directory}/", ""), "actual"))
    lines = [
        f"# {worker.hello.engine} {worker.hello.version}: {contradiction.verdict.value}",
        *_lines_of_files(contents),
        *first,
        *_without_repeated(second, first),
        f"sys.exit(not ({_is_right_text(question, confirmed) if by_itself else _IS_SAME}))",
    ]
    return "\n".join(lines) + "\n"


_IS_SAME = "sorted(actual) == sorted(expected)"
_ROWS = "[tuple(map(str, row)) for row in {}]"


def _lines_of_files(contents: dict[str, str]) -> Iterator[str]:
    """Yield the lines that write the files of a script into a new directory."""
    yield "import base64, collections, os, pathlib, sys, tempfile"
    if contents:
        yield "os.chdir(tempfile.mkdtemp())"
        yield f"files = {contents!r}"
        yield "for path, content in files.items():"
        yield "    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)"
        yield "    pathlib.Path(path).write_bytes(base64.b64decode(content))"


def _without_repeated(lines: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return the lines of a program without the imports and definitions that one before it has, too."""
    earlier = set(map(ast.dump, ast.parse("\n".join(before)).body))
    return [
        line
        for node in ast.parse("\n".join(lines)).body
        if not isinstance(node, _REPEATABLE) or ast.dump(node) not in earlier
        for line in lines[node.lineno - 1 : node.end_lineno]
    ]


def _lines_of_program(source: str, name: str) -> Iterator[str]:
    """Yield the lines of an engine's program, and those that name and print its answer."""
    yield from (line for line in source.splitlines() if line.strip())
    yield f"{name} = {_ROWS.format('answer')}"
    yield f"print({name!r}, *{name})"


def _lines_of_rows(confirmed: ConfirmedFinding) -> Iterator[str]:
    """Yield the lines with the rows that the reference expects, as JSON has them."""
    rows = [tuple(map(str, row)) for row in confirmed.expected["rows"]]
    yield f"expected = {rows!r}"
    yield "print('expected', *expected)"


def _is_right_text(question: Question, confirmed: ConfirmedFinding) -> str:
    """Return Python text that tells whether `actual` is right, by the whole answer in `expected`."""
    if not has_several_answers(question) and not question.order:
        return _IS_SAME
    count = expected_count(question, len(confirmed.expected["rows"]))
    among = f"len(actual) == {count} and not collections.Counter(actual) - collections.Counter(expected)"
    if not question.order:
        return among
    part = f"expected[{question.offset}:{question.offset + count}]"
    if not all(isinstance(key.by, Column) for key in question.order):
        return f"actual == {part}"
    names = [key.by.name for key in question.order if isinstance(key.by, Column)]
    key = ", ".join(f"row[{question.answer_columns.index(name)}]" for name in names)
    return f"{among} and [({key},) for row in actual] == [({key},) for row in {part}]"


def _run(script: str, python: str) -> tuple[int, str]:
    """Run a script in a directory of its own; return its exit status, and what it printed."""
    with TemporaryDirectory(prefix="skipproof-") as directory:
        path = Path(directory) / "reproduce.py"
        path.write_text(script, encoding="utf-8")
        try:
            ended = subprocess.run(
                [python, str(path)],
                cwd=directory,
                capture_output=True,
                text=True,
                timeout=_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, f"nothing within {_SECONDS_MAX:g} s"
    lines = ended.stdout.splitlines() + ended.stderr.splitlines()[-1:]
    return ended.returncode, "\n".join(line[:_WIDTH_MAX] for line in lines)


def _issue(
    hello: Hello,
    confirmed: ConfirmedFinding,
    script: str,
    printed: str,
    *,
    is_shown: bool,
) -> str:
    """Return the text of an issue."""
    contradiction = confirmed.finding.outcome.contradiction
    assert contradiction is not None
    own = contradiction.oracle is Oracle.ITSELF
    writers = dict.fromkeys(writer_releases(confirmed.finding.world, hello).values())
    return _ISSUE.format(
        engine=hello.engine,
        version=hello.version,
        title=f"{contradiction.verdict.value} ({confirmed.finding.outcome.question.area})",
        difference=contradiction.difference,
        writers=f"\nThe files were written by {' and '.join(writers)}.\n" if writers else "",
        reproduced=(_SHOWN if is_shown else _NOT_SHOWN).format(requirement=_requirement(hello)),
        printed=printed,
        script=script,
        expected="The rows that the engine itself gives of the same rows in memory."
        if own
        else "The rows of the reference, which the engine gives in no form of the tables.",
        cures="\n".join(f"- {cure}" for cure in (blame_text(confirmed), *confirmed.cures)),
        tracker=_TRACKERS.get(hello.reader or hello.engine, "the engine's tracker"),
    )


def _requirement(hello: Hello) -> str:
    """Return what pip installs for a script: the engine, and the library that writes the tables it reads."""
    reader = hello.reader or hello.engine
    package = _PACKAGES.get(reader, reader)
    if reader == hello.engine:
        return f"{package}=={hello.version}"
    version, _, library = hello.version.partition("+")
    return f"{package}=={version} {library.replace('.', '==', 1)}"
