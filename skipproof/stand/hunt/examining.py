"""Examines one world: asks an engine every question in both forms, and compares the answers.

The pruned form of a table has files or statistics; the plain form gives the engine nothing to prune by. The
answers are also compared with those of the reference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from oracles.answers.contradictions import (
    Contradiction,
    Discrepancy,
    find_contradiction,
    has_several_answers,
    whole_questions,
)
from oracles.files.counterfactual_files import write_forgetful
from skipproof.stand.reference.opinions import Reference
from skipproof.stand.workers.workers import Died, EngineClient, Hello, TimedOut
from strategies.engines.engine_tables import ORC, StoredLayout, StoredTable
from strategies.engines.files import partitions, write_stored
from strategies.engines.questions import Json, Question
from strategies.engines.worlds import World

# The words for the end of a worker in an answer; saved findings contain them.
_ENDS = {Died: "Died", TimedOut: "TimedOut"}
_NOT_ASKED = {"error": "not asked after a question that took too long", "kind": "unsupported"}

Write: TypeAlias = Callable[[StoredTable, Path], list[Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """The result of one question.

    Attributes:
        question: The question; without LIMIT and OFFSET if the reference contradicts the answer.
        contradiction: The contradiction between the answers, or None.
        refused: The reason why the two answers could not be compared, or empty.
        with_statistics, without: The answers over the pruned form and over the plain form.
        reference: The reference's answer, if it contradicts the engine.
        no_opinion: The reason why the reference did not judge the answer, or empty.
        features: The decisions that the engine tells of the question, if it was asked for them.
    """

    question: Question
    contradiction: Contradiction | None = None
    refused: str = ""
    with_statistics: Json = None
    without: Json = None
    reference: Json = None
    no_opinion: str = ""
    features: tuple[str, ...] = ()

    @property
    def expected(self) -> Json:
        """The right answer, without LIMIT and OFFSET."""
        return self.without if self.reference is None else self.reference


def examine(
    worker: EngineClient, world: World, *, write: Write = write_stored, with_features: bool = False
) -> list[QuestionResult]:
    """Ask every question of a world over its pruned form and over its plain form, and compare the answers.

    The reference first judges the answer over the plain form, because the other answer is compared with it.

    Args:
        with_features: Also ask for the engine's decisions over the pruned form, if it tells them.
    Raises:
        WorkerError: the engine ended and does not start again.
    """
    with TemporaryDirectory(prefix="skipproof-") as directory:
        pruned = {
            name: pruned_form(worker, table, Path(directory) / name, write)
            for name, table in world.tables.items()
        }
        actual = ask_each(
            worker, pruned, world, world.questions, features=with_features and worker.hello.features
        )
        plain = {name: plain_form(worker, table) for name, table in world.tables.items()}
        whole, positions = whole_questions(world.questions)
        answers = ask_each(worker, plain, world, whole)
        expected = [answers[position] for position in positions]
    outcomes = [
        _compare_answers(question, answer, whole_answer)
        for question, answer, whole_answer in zip(world.questions, actual, expected, strict=True)
    ]
    reference = Reference(world)
    return [
        replace(
            _compare_with_reference(outcome, worker.hello, reference),
            features=tuple(answer.get("features", ())),
        )
        for outcome, answer in zip(outcomes, actual, strict=True)
    ]


def pruned_form(worker: EngineClient, table: StoredTable, directory: Path, write: Write) -> Json:
    """Return the form of a table that the engine may prune; its files are written into a new directory."""
    if worker.hello.tables == "own":
        options = dict(table.layout.format_options)
        return table.json | ({"layout": options} if options else {})
    directory.mkdir()
    paths = write(table, directory)
    if table.layout.forgotten:
        paths = [_drop_statistics(path, table.layout) for path in paths]
    form: dict[str, Json] = {"columns": _columns(table), "files": [str(path) for path in paths]}
    if any(path.suffix == ".orc" for path in paths):
        form["format"] = ORC
    if table.layout.evolution:
        form["schemas_differ"] = True
    if table.layout.partitioned:
        form["partitions"] = partitions(table)
    return form


def _columns(table: StoredTable) -> list[Json]:
    """Return the columns of a table's files in JSON, those inside of others with their paths."""
    paths = {column["name"]: list(table.path(column["name"])) for column in table.json["columns"]}
    return [
        column | ({"path": paths[column["name"]]} if len(paths[column["name"]]) > 1 else {})
        for column in table.json["columns"]
    ]


def _drop_statistics(path: Path, layout: StoredLayout) -> Path:
    """Replace a file by one whose footer lacks some statistics."""
    beside = path.with_suffix(".new")
    return write_forgetful(path, beside, layout.forgotten, row_groups=layout.forgotten_in).replace(path)


def plain_form(worker: EngineClient, table: StoredTable) -> Json:
    """Return the form of a table of the same types that gives the engine nothing to prune by."""
    if worker.hello.tables != "own":
        return table.json
    options = {
        name: value
        for name, value in table.layout.format_options.items()
        if name in worker.hello.schema_options
    }
    return table.json | {"statistics": False} | ({"layout": options} if options else {})


def ask_each(
    worker: EngineClient,
    tables: Mapping[str, Json],
    world: World,
    questions: Sequence[Question],
    *,
    sources: bool | Literal["only"] = False,
    features: bool = False,
) -> list[dict[str, Any]]:
    """Ask questions together, and return an answer for each; if the worker ends, ask smaller parts of them.

    Each part is the square root of them: few requests make the tables anew, and few wait for the time limit.
    After a question that alone takes too long, the remaining ones are not asked, so that an engine that hangs
    often does not use up the time of the hunt.
    """
    try:
        reply = worker.ask(
            tables=tables,
            settings=world.settings,
            questions=[question.json() for question in questions],
            sources=sources,
            **({"features": True} if features else {}),
        )
        return list(reply["answers"]) if "answers" in reply else [reply] * len(questions)
    except (Died, TimedOut) as error:
        if len(questions) == 1:
            return [{"error": f"{_ENDS[type(error)]}: {error}", "kind": "failed"}]
        size = isqrt(len(questions))
    answers: list[dict[str, Any]] = []
    for start in range(0, len(questions), size):
        some = questions[start : start + size]
        answers += ask_each(worker, tables, world, some, sources=sources, features=features)
        if answers[-1] is _NOT_ASKED or str(answers[-1].get("error")).startswith(f"{_ENDS[TimedOut]}: "):
            break
    return answers + [_NOT_ASKED] * (len(questions) - len(answers))


def is_worker_end(answer: Mapping[str, Any]) -> bool:
    """Tell whether an answer says that the worker ended, so that it has no program or rows."""
    return str(answer.get("error")).startswith(tuple(f"{name}: " for name in _ENDS.values()))


def _compare_answers(question: Question, actual: dict[str, Any], whole: dict[str, Any]) -> QuestionResult:
    """Compare the answer over the pruned form with the answer over the plain form."""
    if "rows" not in whole:
        return QuestionResult(
            question=question, refused=str(whole.get("error")), with_statistics=actual, without=whole
        )
    if "rows" in actual:
        wrong = find_contradiction(question, actual["rows"], whole["rows"])
    elif actual.get("kind") == "unsupported":
        return QuestionResult(
            question=question, refused=actual["error"], with_statistics=actual, without=whole
        )
    else:
        wrong = Contradiction(Discrepancy.RAISED, actual["error"])
    return QuestionResult(question=question, contradiction=wrong, with_statistics=actual, without=whole)


def _compare_with_reference(outcome: QuestionResult, hello: Hello, reference: Reference) -> QuestionResult:
    """Return the result itself, or a new one if the reference contradicts the answer over the plain form.

    In that case the plain answer is no measure for the pruned answer, whether the two agree or not. An error
    that an engine may raise is refused.
    """
    wrong = outcome.contradiction
    if outcome.refused:
        return outcome
    if wrong is not None and wrong.verdict is Discrepancy.RAISED:
        reason = reference.reason_to_raise(hello, outcome.question, wrong.difference)
        return replace(outcome, contradiction=None, refused=reason) if reason else outcome
    opinion = reference.opinion(hello, outcome.question, outcome.without["rows"])
    if opinion.contradiction is None:
        return replace(outcome, no_opinion=opinion.none)
    # The wrong rows may lie beyond the LIMIT, so both forms are known to be wrong only if LIMIT leaves no
    # choice.
    is_both = wrong is None and not has_several_answers(outcome.question)
    return QuestionResult(
        question=opinion.question,
        contradiction=opinion.contradiction,
        with_statistics=outcome.with_statistics if is_both else outcome.without,
        without=outcome.without,
        reference={"rows": opinion.rows},
    )
