"""Count how often each class of bugs, and each pair of a class of data and one of questions, is reached.

A question reaches a class if the property is on a column that it reads, and taking it away changes which rows
are read or evaluated, or the answer. It reaches a pair if it reaches both on the same column.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.hunt.examining import pruned_form
from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.hunt.reach.cell_classes import DataClass
from skipproof.stand.hunt.reach.data_classes import DATA_CLASSES
from skipproof.stand.hunt.reach.query_classes import QUERY_CLASSES
from skipproof.stand.hunt.reach.scenes import (
    Decisions,
    Scene,
    TruthMemory,
    decide,
    open_table,
    prepare,
)
from skipproof.stand.hunt.reach.terms import columns_read
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.tables import Table
from strategies.engines.files import write_stored
from strategies.engines.questions import Json
from strategies.engines.worlds import World

# A class of data and a class of questions.
Pair: TypeAlias = tuple[str, str]

_NO_TEXTS = "no function of the language makes a text of {}, and LIKE is of texts"
# The pairs that cannot be reached, each with the reason.
IMPOSSIBLE: Mapping[Pair, str] = {
    ("NAN", "LIKE"): _NO_TEXTS.format("a float"),
    ("NEGZERO", "LIKE"): _NO_TEXTS.format("a float"),
    ("DECIMAL", "LIKE"): _NO_TEXTS.format("a decimal"),
    ("UINT", "LIKE"): _NO_TEXTS.format("an integer without a sign"),
}
# The pairs that published bugs have most often.
FREQUENT: tuple[Pair, ...] = (
    ("NOSTATS", "NULLSAFE"), ("NAN", "NEG"), ("NULLS", "NULLSAFE"), ("DICT", "NULLSAFE"),
    ("BADSTATS", "NULLSAFE"), ("ALLNULL", "TOPK"), ("PART", "EXPR"), ("EMPTY", "JOIN"), ("EMPTY", "NULLSAFE"),
    ("PAGE", "TOPK"), ("DICT", "NEG"), ("PART", "NEG"), ("NULLS", "NEG"), ("OVERFLOW", "EXPR"),
    ("PART", "JOIN"), ("NAN", "IN"), ("SCHEMA", "AGG"), ("NULLS", "AGG"), ("NULLS", "JOIN"),
    ("NULLS", "LIMIT"), ("NOSTATS", "TOPK"), ("NOSTATS", "AGG"), ("NAN", "NULLSAFE"), ("ALLNULL", "OR"),
)  # fmt: skip
FREQUENT_MIN, OTHER_MIN = 50, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The classes that one question reaches.

    Attributes:
        data, queries: The columns on which it reaches each class of data, and each class of questions.
        is_empty: Whether the answer has no rows.
    """

    data: Mapping[str, frozenset[str]]
    queries: Mapping[str, frozenset[str]]
    is_empty: bool = False

    @property
    def pairs(self) -> Iterator[Pair]:
        """The pairs that it reaches."""
        for data_class, columns in self.data.items():
            for query_class, others in self.queries.items():
                if columns & others:
                    yield data_class, query_class


@dataclass(kw_only=True)
class Tally:
    """The counts of a number of questions.

    Attributes:
        plans: The distinct questions without literals, numbers of rows and repeated members of lists.
        refused: The questions that the small engine cannot answer.
    """

    questions: int = 0
    worlds: int = 0
    refused: int = 0
    non_empty: int = 0
    plans: set[str] = field(default_factory=set)
    classes: Counter[str] = field(default_factory=Counter)
    pairs: Counter[Pair] = field(default_factory=Counter)

    def add(self, question: Json, reach: Reach | None) -> None:
        """Count one question; its reach is None if the small engine cannot answer it."""
        self.questions += 1
        self.plans.add(json.dumps(normalized_question(question), sort_keys=True))
        if reach is None:
            self.refused += 1
            return
        self.non_empty += not reach.is_empty
        self.classes.update([*reach.data, *reach.queries])
        self.pairs.update(reach.pairs)


def scenes(world: World, directory: Path) -> Iterator[Scene]:
    """Write the files of a world into a directory, open them, and yield a scene for each question."""
    engine = SmallEngine()
    forms = {
        name: pruned_form(engine, table, directory / name, write_stored)
        for name, table in world.tables.items()
    }
    tables = {name: open_table(form, world.tables[name]) for name, form in forms.items()}
    for question in world.questions:
        # What is asked again is asked once, and nothing is prepared: no class is about that.
        yield Scene(
            question=replace(question, repeat=1, prepared=False).json(),
            stored=world.tables,
            tables=tables,
            settings=world.settings,
        )


class WorldReach:
    """The reach of the questions of one world; tables without a property are made once for all questions."""

    def __init__(self) -> None:
        self._prepared: Mapping[str, Table] | None = None
        self._pairs: dict[Pair, TablePair | None] = {}

    def reach_of(self, scene: Scene) -> Reach:
        """Return the classes that the question of a scene reaches.

        Raises:
            Unsupported: the small engine cannot answer the question.
        """
        if self._prepared is None:
            self._prepared = prepare(scene)
        memory, read = TruthMemory(), columns_read(scene.question)
        decisions = decide(scene.question, self._prepared, memory)
        data: dict[str, set[str]] = {}
        for name in DATA_CLASSES:
            for column in read:
                if self._is_data_reached(name, scene, column, decisions, memory):
                    data.setdefault(name, set()).add(column)
        queries = {}
        for name, query_class in QUERY_CLASSES.items():
            columns = query_class.columns(scene)
            if columns and _differ(decisions, query_class.without(scene), self._prepared, memory):
                queries[name] = columns
        return Reach(
            data={name: frozenset(columns) for name, columns in data.items()},
            queries=queries,
            is_empty=not decisions.rows,
        )

    def _is_data_reached(
        self, name: str, scene: Scene, column: str, decisions: Decisions, memory: TruthMemory
    ) -> bool:
        """Tell whether a question reaches a class of data on a column."""
        data_class = DATA_CLASSES[name]
        if data_class.depends_on_question:
            if not data_class.is_present(scene, column):
                return False
            other = data_class.without(scene, column)
            return _differ(decisions, other.question, prepare(other), memory)
        if (name, column) not in self._pairs:
            self._pairs[name, column] = _table_pair(data_class, scene, column)
        tables = self._pairs[name, column]
        if tables is None:
            return False
        if tables.baseline is not None:
            decisions = decide(scene.question, tables.baseline, memory)
        return _differ(decisions, scene.question, tables.without, memory)


@dataclass(frozen=True, slots=True)
class TablePair:
    """The tables of a scene without a class, and those to compare with; None is the scene's own."""

    without: Mapping[str, Table]
    baseline: Mapping[str, Table] | None


def _table_pair(data_class: DataClass, scene: Scene, column: str) -> TablePair | None:
    """Return the tables without a class on a column, or None if it is not present."""
    if not data_class.is_present(scene, column):
        return None
    baseline = None if data_class.baseline is None else prepare(data_class.baseline(scene, column))
    return TablePair(prepare(data_class.without(scene, column)), baseline)


def _differ(decisions: Decisions, question: Json, tables: Mapping[str, Table], memory: TruthMemory) -> bool:
    """Tell whether another question or other tables lead to other decisions."""
    try:
        return decide(question, tables, memory).differ(decisions)
    except (Unsupported, TypeError):
        # Without the property it is no question that can be asked.
        return False


def tally_world(world: World, tally: Tally) -> None:
    """Add the questions of a world to a tally."""
    tally.worlds += 1
    reaches = WorldReach()
    with TemporaryDirectory(prefix="skipproof-") as directory:
        for scene in scenes(world, Path(directory)):
            try:
                reach = reaches.reach_of(scene)
            except Unsupported:
                reach = None
            tally.add(scene.question, reach)


def normalized_question(node: Json) -> Json:
    """Return a question without the values of literals and numbers of rows; members of lists are one."""
    if isinstance(node, list):
        return [normalized_question(child) for child in node]
    if not isinstance(node, dict):
        return node
    if "literal" in node:
        return {"literal": "NULL" if node["literal"] is None else "value", "type": node["type"]}
    numbers = {
        key: None if node[key] in (None, 0) else "number"
        for key in ("limit", "offset", "at_most")
        if key in node
    }
    changed = {key: normalized_question(child) for key, child in (node | numbers).items() if key != "repeat"}
    if changed.get("call") == "in":
        distinct = {json.dumps(member): member for member in changed["of"][1:]}
        changed["of"] = [changed["of"][0], *distinct.values()]
    return changed


def tally_hunt(
    hunt_seed: int, questions: int, progress: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Return the counts of the first questions of a hunt over the small engine."""
    able, tally = capabilities(SmallEngine()), Tally()

    def visit(world: World) -> None:
        if tally.questions < questions:
            left = world.questions[: questions - tally.questions]
            tally_world(replace(world, questions=left), tally)
            progress(tally)

    rounds = Rounds(able, hunt_seed)
    while tally.questions < questions:
        rounds.draw(visit)
    return tally
