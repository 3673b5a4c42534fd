"""Puts one world to one engine: writes its files, asks both forms, and compares, with the reference too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from oracles.answers.contradictions import Contradiction, Verdict, contradiction, is_open, unlimited
from oracles.files.counterfactual_files import forgetful
from skipproof.stand.reference.opinions import Reference
from skipproof.stand.workers.workers import Asked, Died, Hello, TimedOut
from strategies.engines.engine_questions import World
from strategies.engines.engine_tables import Layout, Stored
from strategies.engines.files import partitions, write_stored
from strategies.engines.questions import Json, Question

# What an answer calls the end of a worker; findings keep these words.
_ENDS = {Died: "Died", TimedOut: "TimedOut"}
_NOT_ASKED = {"error": "not asked after a question that took too long", "kind": "unsupported"}

Write: TypeAlias = Callable[[Stored, Path], list[Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one question.

    Attributes:
        question: What was asked; without LIMIT and OFFSET where the reference contradicts.
        contradiction: What is wrong, None where nothing is.
        refused: Why the engine could not be compared with itself, empty where it could.
        with_statistics, without: The answers that were compared.
        reference: The reference's answer, where it contradicts both.
        no_opinion: Why the reference was not asked of an answer that it could judge, empty where it was.
    """

    question: Question
    contradiction: Contradiction | None = None
    refused: str = ""
    with_statistics: Json = None
    without: Json = None
    reference: Json = None
    no_opinion: str = ""

    @property
    def expected(self) -> Json:
        """The whole answer that the engine's is compared with."""
        return self.without if self.reference is None else self.reference


def examine(worker: Asked, world: World, *, write: Write = write_stored) -> list[Outcome]:
    """Ask every question of a world twice: with files, or a table, that can be pruned, and without.

    The reference is asked too: first whether the answer without is right, by which the other is measured.

    Raises:
        WorkerError: the engine ended and does not start again.
    """
    with TemporaryDirectory(prefix="skipproof-") as directory:
        pruned = {
            name: pruned_form(worker, table, Path(directory) / name, write)
            for name, table in world.tables.items()
        }
        found = ask_each(worker, pruned, world, world.questions)
        plain = {name: plain_form(worker, table) for name, table in world.tables.items()}
        whole = [unlimited(question) for question in world.questions]
        expected = ask_each(worker, plain, world, whole)
    outcomes = [
        _outcome(question, one, other)
        for question, one, other in zip(world.questions, found, expected, strict=True)
    ]
    reference = Reference(world)
    return [_judged(outcome, worker.hello, reference) for outcome in outcomes]


def pruned_form(worker: Asked, table: Stored, directory: Path, write: Write) -> Json:
    """The form of a table that the engine may prune; its files are written into a new directory."""
    if worker.hello.tables == "own":
        options = dict(table.layout.format_options)
        return table.json | ({"layout": options} if options else {})
    directory.mkdir()
    paths = write(table, directory)
    if table.layout.forgotten:
        paths = [_forgetful(path, table.layout) for path in paths]
    form: dict[str, Json] = {"columns": table.json["columns"], "files": [str(path) for path in paths]}
    if table.layout.evolution:
        form["schemas_differ"] = True
    if table.layout.partitioned:
        form["partitions"] = partitions(table)
    return form


def _forgetful(path: Path, layout: Layout) -> Path:
    """Take statistics out of a file's footer, in its place."""
    beside = path.with_suffix(".new")
    return forgetful(path, beside, layout.forgotten, row_groups=layout.forgotten_in).replace(path)


def plain_form(worker: Asked, table: Stored) -> Json:
    """The form of a table with nothing to prune by."""
    return table.json | ({"statistics": False} if worker.hello.tables == "own" else {})


def ask_each(
    worker: Asked,
    tables: Mapping[str, Json],
    world: World,
    questions: Sequence[Question],
    *,
    sources: bool | Literal["only"] = False,
) -> list[dict[str, Any]]:
    """An answer for each question; where the engine dies of one of them, the others are asked alone.

    After one that alone takes too long the rest is not asked: an engine that hangs often would take the
    hunt's time with it.
    """
    try:
        reply = worker.ask(
            tables=tables,
            settings=world.settings,
            questions=[question.json() for question in questions],
            sources=sources,
        )
        return list(reply["answers"]) if "answers" in reply else [reply] * len(questions)
    except (Died, TimedOut) as error:
        if len(questions) == 1:
            return [{"error": f"{_ENDS[type(error)]}: {error}", "kind": "failed"}]
    answers: list[dict[str, Any]] = []
    for question in questions:
        (answer,) = ask_each(worker, tables, world, [question], sources=sources)
        answers.append(answer)
        if str(answer.get("error")).startswith(f"{_ENDS[TimedOut]}: "):
            break
    return answers + [_NOT_ASKED] * (len(questions) - len(answers))


def is_of_the_end(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is that the worker ended, or was ended, so that it says nothing of its own."""
    return str(answer.get("error")).startswith(tuple(f"{name}: " for name in _ENDS.values()))


def _outcome(question: Question, found: dict[str, Any], whole: dict[str, Any]) -> Outcome:
    if "rows" not in whole:
        return Outcome(
            question=question, refused=str(whole.get("error")), with_statistics=found, without=whole
        )
    if "rows" in found:
        wrong = contradiction(question, found["rows"], whole["rows"])
    elif found.get("kind") == "unsupported":
        return Outcome(question=question, refused=found["error"], with_statistics=found, without=whole)
    else:
        wrong = Contradiction(Verdict.RAISED, found["error"])
    return Outcome(question=question, contradiction=wrong, with_statistics=found, without=whole)


def _judged(outcome: Outcome, hello: Hello, reference: Reference) -> Outcome:
    """The same outcome, or what the reference has against the answer that skipped nothing.

    Where it has, that answer is no measure of the other's rows, whether they agree or not.
    """
    wrong = outcome.contradiction
    if outcome.refused or (wrong is not None and wrong.verdict is Verdict.RAISED):
        return outcome
    opinion = reference.opinion(hello, outcome.question, outcome.without["rows"])
    if opinion.contradiction is None:
        return outcome if wrong is not None else replace(outcome, no_opinion=opinion.none)
    # What is wrong may be beyond the LIMIT.
    is_both = wrong is None and not is_open(outcome.question)
    return Outcome(
        question=opinion.question,
        contradiction=opinion.contradiction,
        with_statistics=outcome.with_statistics if is_both else outcome.without,
        without=outcome.without,
        reference={"rows": opinion.rows},
    )
