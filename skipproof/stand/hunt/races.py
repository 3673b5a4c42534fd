"""Races: a question that is asked again and again is answered rightly at one time and wrongly at another.

Each answer is judged by itself, against all answers that are right: two right answers may differ.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from oracles.answers.contradictions import Contradiction, Discrepancy, find_contradiction
from skipproof.stand.hunt.examining import QuestionResult, Write, ask_each, pruned_form
from skipproof.stand.workers.workers import EngineClient, Hello
from strategies.engines.questions import Json
from strategies.engines.worlds import World

# Filters that a query makes while it runs, which its threads share, come of these classes of questions.
_CLASSES_OF_SHARED_FILTERS = frozenset({"aggregate", "join", "topk"})
# A question is asked so many times with several threads; if one answer is wrong, `REPEATS` times.
_TIMES, REPEATS = 5, 20

Forms: TypeAlias = Mapping[str, Json]
# An answer with its contradiction, None if it is right.
JudgedAnswer: TypeAlias = tuple[Contradiction | None, Json]
# Returns the answers to the question of a world that is asked so many times.
AskTimes: TypeAlias = Callable[[World, int], Sequence[JudgedAnswer]]


@dataclass(frozen=True, slots=True)
class RaceCount:
    """The wrong answers to a question that was asked `REPEATS` times.

    Attributes:
        wrong: Their number with the settings of the finding.
        wrong_single: Their number with one thread; None if the engine has no switch for it.
    """

    wrong: int
    wrong_single: int | None

    @property
    def is_race(self) -> bool:
        """Tell whether the answers are wrong with several threads only."""
        return self.wrong > 0 and self.wrong_single == 0

    def __str__(self) -> str:
        text = f"{self.wrong} of {REPEATS} wrong"
        if self.wrong_single is None:
            return text
        name = "a race" if self.is_race else "no race"
        return f"{name}: {text}, {self.wrong_single} of {REPEATS} single-threaded"


def parallel_worlds(hello: Hello, world: World) -> Iterator[World]:
    """Yield the world at each degree of parallelism above one thread that the engine has a value for."""
    for switch, single in hello.single_threaded.items():
        for value in hello.settings.get(switch, ()):
            if value != single:
                yield replace(world, settings={**world.settings, switch: value})


def count_race(hello: Hello, world: World, ask_times: AskTimes) -> RaceCount:
    """Ask a question `REPEATS` times with the settings of its world, and as often with one thread."""
    wrong = _count_wrong(ask_times(world, REPEATS))
    if not hello.single_threaded:
        return RaceCount(wrong, None)
    single = replace(world, settings={**world.settings, **hello.single_threaded})
    return RaceCount(wrong, _count_wrong(ask_times(single, REPEATS)))


def find_disagreement(hello: Hello, world: World, ask_times: AskTimes) -> RaceCount | None:
    """Ask the question of a finding a few times; count how often it is wrong if not every answer is."""
    if _count_wrong(ask_times(world, _TIMES)) == _TIMES:
        return None
    return count_race(hello, world, ask_times)


def question_to_ask_again(
    outcomes: Sequence[QuestionResult], times: Counter[str]
) -> tuple[str, QuestionResult] | None:
    """Return the result of the right one of some questions to ask with several threads, and its kind.

    The kind is the class of a question whose threads share filters, or empty. Of several questions it is the
    first of the kind that was asked again the fewest times; None if no answer is right.

    Args:
        times: The number of questions of each kind that were asked again.
    """
    kinds = [
        (outcome.question.area if outcome.question.area in _CLASSES_OF_SHARED_FILTERS else "", outcome)
        for outcome in outcomes
        if outcome.contradiction is None and not outcome.refused and is_asked_again(outcome)
    ]
    return min(kinds, key=lambda kind: times[kind[0]], default=None)


def find_race(
    worker: EngineClient, world: World, outcome: QuestionResult, *, write: Write
) -> tuple[World, QuestionResult] | None:
    """Ask a question that was answered rightly a few times with several threads, if the engine has a switch.

    Returns:
        A world with the one question in which an answer was wrong, and one was again among `REPEATS`, with
        its result; None if there is none.
    """
    parallels = list(parallel_worlds(worker.hello, replace(world, questions=(outcome.question,))))
    if not parallels:
        return None
    expected = outcome.without["rows"]
    with TemporaryDirectory(prefix="skipproof-") as directory:
        forms = {
            name: pruned_form(worker, table, Path(directory) / name, write)
            for name, table in world.tables.items()
        }
        ask_times = asker(worker, forms, expected)
        for parallel in parallels:
            if not _count_wrong(ask_times(parallel, _TIMES)):
                continue
            for contradiction, answer in ask_times(parallel, REPEATS):
                if contradiction is not None:
                    result = replace(outcome, contradiction=contradiction, with_statistics=answer)
                    return parallel, result
    return None


def asker(worker: EngineClient, forms: Forms, expected: Json) -> AskTimes:
    """Return a function that asks the one question of a world about some forms of its tables.

    Args:
        expected: The rows of the right answer, without LIMIT and OFFSET.
    """

    def ask_times(world: World, times: int) -> Sequence[JudgedAnswer]:
        (question,) = world.questions

        def contradiction(answer: Mapping[str, Any]) -> Contradiction | None:
            if "rows" in answer:
                return find_contradiction(question, answer["rows"], expected)
            if answer.get("kind") == "unsupported":
                return None
            return Contradiction(Discrepancy.RAISED, str(answer["error"]))

        answers = ask_each(worker, forms, world, [question] * times)
        return [(contradiction(answer), answer) for answer in answers]

    return ask_times


def is_asked_again(outcome: QuestionResult) -> bool:
    """Tell whether a question can be asked again in one session: a change is done once."""
    return outcome.question.change is None


def _count_wrong(answers: Sequence[JudgedAnswer]) -> int:
    """Return the number of wrong answers."""
    return sum(contradiction is not None for contradiction, _ in answers)
