"""The isolation checks of a file's histories, one by one, and their printed results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from oracles.isolation import LEVELS, Result, UnusableHistory, Verdict, Witness, check
from oracles.isolation.checking import unusable
from oracles.isolation.files import Entry, UnusableFile, convert_histories, entries, reason
from oracles.isolation.notation import NUMBER_MAX
from pruning.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """The options of `skipproof history`.

    Attributes:
        required: Levels that each history has to satisfy.
        literal: Whether [D]'s clause on write-dependencies is taken as written.
        transactions: The transactions to judge, or None for all.
    """

    required: tuple[str, ...] = ()
    literal: bool = False
    transactions: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class JudgedHistory:
    """The result of one history; `failed` has the required levels that are not VALID for it."""

    place: str
    result: Result
    failed: Mapping[str, Verdict]


def parse_request(required: Sequence[str], transactions: str | None, *, literal: bool) -> HistoryRequest:
    """Return the options of the command line as a request.

    Raises:
        InputError: there is no such level, or a transaction is no number.
    """
    for level in required:
        if level not in LEVELS:
            raise InputError(f"--require {level}: it is one of {', '.join(LEVELS)}")
    if transactions is None:
        return HistoryRequest(required=tuple(required), literal=literal)
    names = [name.strip().removeprefix("T") for name in transactions.split(",")]
    digits_max = len(str(NUMBER_MAX))
    if not all(name.isascii() and name.isdigit() and len(name) <= digits_max for name in names):
        raise InputError(f"--transactions {transactions}: give numbers, as 1,2,5")
    return HistoryRequest(
        required=tuple(required), literal=literal, transactions=frozenset(int(name) for name in names)
    )


def judge_histories(path: Path, request: HistoryRequest) -> Iterator[JudgedHistory]:
    """Judge the histories of a file in turn; one that cannot be judged is UNKNOWN with a reason.

    Raises:
        InputError: the file cannot be read, or holds no history.
    """
    try:
        for entry in entries(path):
            yield _judge_entry(entry, request)
    except UnusableFile as error:
        raise InputError(f"{path}: {error}") from error


def _judge_entry(entry: Entry, request: HistoryRequest) -> JudgedHistory:
    """Judge one history of a file."""
    if entry.columns is None:
        result = unusable(entry.id, entry.problem or "")
    else:
        try:
            result = check(entry.columns, literal=request.literal, transactions=request.transactions)
        except UnusableHistory as error:
            result = unusable(entry.id, str(error))
    verdicts = {level: result.verdict(level) for level in request.required}
    failed = {level: verdict for level, verdict in verdicts.items() if verdict is not Verdict.VALID}
    place = entry.place if result.row is None else f"row {result.row + 1}"
    return JudgedHistory(place, replace(result, id=entry.id, _graph=None), failed)


def convert_file(source: Path, target: Path) -> int:
    """Write the histories of a file in the format of the target's suffix; return their number.

    Raises:
        InputError: a history cannot be read, its names cannot be written, or the file cannot.
    """
    try:
        return convert_histories(source, target)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {reason(error)}") from error


def witnesses_by_steps(result: Result) -> list[tuple[list[str], Witness]]:
    """Return each distinct witness with all phenomena that it shows, the shortest first."""
    groups: dict[frozenset[object], list[str]] = {}
    for name, witness in result.witness.items():
        groups.setdefault(frozenset(witness.steps), []).append(name)
    grouped = [(names, result.witness[names[0]]) for names in groups.values()]
    return sorted(grouped, key=lambda group: len(group[1].steps))


def headline(result: Result) -> str:
    """Return one line with a history's strongest levels and its phenomena."""
    if result.problem is not None:
        return f"{result.id}: unknown, because {result.problem}"
    levels = " and ".join(result.strongest) or "not even PL-1"
    phenomena = ", ".join(result.phenomena) or "no phenomenon"
    undecided = f"; not decided: {', '.join(result.unknown)}" if result.unknown else ""
    return f"{result.id}: {levels}; {phenomena}{undecided}"


def show_history(out: Console, judged_history: JudgedHistory) -> None:
    """Print a history for people."""
    out.print(escape(headline(judged_history.result)), soft_wrap=True)
    for names, witness in witnesses_by_steps(judged_history.result):
        first, *rest = step_sentences(witness)
        out.print(escape(f"  {', '.join(names)}: {first}"), soft_wrap=True)
        for line in rest:
            out.print(escape(f"    {line}"), soft_wrap=True)
    for level, verdict in judged_history.failed.items():
        out.print(f"  {level} is required: {verdict.value}", soft_wrap=True)


def step_sentences(witness: Witness) -> list[str]:
    """Return the steps of a witness as sentences; the last step of a cycle is the contradiction."""
    if len(witness.steps) == 1:
        return [witness.steps[0].because]
    lines = [str(step) for step in witness.steps]
    lines[-1] = f"but {lines[-1]}: a contradiction"
    if not witness.smallest:
        lines.append("(there may be a cycle of fewer steps)")
    return lines
