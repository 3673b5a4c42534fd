"""The drawing of questions is general: it names no release and no report of a bug."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import TypeVar

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

import skipproof.stand.hunt
import strategies.engines
from oracles.answers.contradictions import without_limit
from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.hunt.rounds import ROUND, Rounds, row_count, work_of_questions
from skipproof.stand.reference.engine import SmallEngine
from strategies.constants import no_constants_of_modules
from strategies.engines.capabilities import Capabilities, ConditionScope, Operand, Options
from strategies.engines.conditions import condition
from strategies.engines.engine_questions import LIMITED
from strategies.engines.engine_rows import LARGE, ONCE, ValuePool, value_pools
from strategies.engines.engine_tables import Writers
from strategies.engines.engine_values import INTEGERS
from strategies.engines.joins import LEFT
from strategies.engines.questions import Call, Column, Json, Literal, Question, Relation, Term, subterms
from strategies.engines.terms import value_of
from strategies.engines.worlds import World, worlds

T = TypeVar("T")
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


def examples(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """At least so many examples, in rounds: Hypothesis mostly varies what it drew in the same run."""
    of_runs: list[T] = []
    for number in range(-(-count // ROUND)):

        @seed(number)
        @settings(max_examples=ROUND, phases=(Phase.generate,), database=None, deadline=None)
        @given(strategy)
        def look(example: T) -> None:
            of_runs.append(example)

        with no_constants_of_modules():
            look()
    return of_runs


def large_worlds(count: int) -> list[World]:
    """The worlds of large tables that are always drawn first."""
    return examples(worlds(capabilities(SmallEngine()), repeats=LARGE), count)


def far_limits(of_run: Sequence[World]) -> float:
    """The share of questions of large tables whose OFFSET is at the end of a block, or beyond, unfiltered."""
    counts: Counter[bool] = Counter()
    for world in of_run:
        first = next((len(block) for block in world.tables[LEFT].blocks if len(block) > 1), 0)
        for question in world.questions if first else ():
            counts[question.offset >= first - 1 and question.source.where is None] += 1
    return counts[True] / counts.total()


def test_large_tables_are_asked_for_what_needs_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant asks them for what small ones are asked for."""
    share = far_limits(large_worlds(60))
    monkeypatch.setattr(ConditionScope, "is_large", False)
    assert share > 0.1 > far_limits(large_worlds(60))


def share_of_order(of_run: Sequence[World]) -> float:
    """The share of questions with an order and a LIMIT."""
    areas = Counter(question.area for world in of_run for question in world.questions)
    return areas["topk"] / areas.total()


def test_large_tables_are_mostly_asked_for_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant asks them for each class as often as small ones are asked."""
    share = share_of_order(large_worlds(60))
    monkeypatch.setattr(strategies.engines.worlds, "_MORE_OF_LARGE", {})
    assert share > 0.45 > share_of_order(large_worlds(60))


def share_of_integers(*, is_large: bool) -> float:
    """The share of pools of values that are of signed integers."""
    return mean(pool.type in INTEGERS for pool in examples(value_pools(is_large=is_large), 270))


def test_large_tables_have_integers_more_often() -> None:
    assert share_of_integers(is_large=True) > 0.35 > share_of_integers(is_large=False)


def test_questions_about_limit_of_large_tables_come_in_several_that_share_an_answer() -> None:
    """Those of small tables do not, because their answers take little time."""
    rounds, of_rounds = Rounds(capabilities(SmallEngine()), 0), list[World]()
    for _ in range(60):
        rounds.draw(of_rounds.append)
    sizes: dict[bool, list[int]] = {True: [], False: []}
    for world in of_rounds:
        counts = Counter(without_limit(question) for question in world.questions if question.area in LIMITED)
        sizes[row_count(world) > 2_000] += counts.values()
    assert mean(sizes[True]) > 2.5 > 2 > mean(sizes[False])


def test_one_question_of_a_large_table_is_one_if_no_more_are_wanted() -> None:
    of_runs = examples(worlds(capabilities(SmallEngine()), questions_max=1, repeats=LARGE), 45)
    assert {len(world.questions) for world in of_runs} == {1}
    assert {world.questions[0].area for world in of_runs}.issuperset(LIMITED)


def share_of_changes() -> float:
    """The share of small tables that a question changes, of an engine with few classes of questions."""
    able = replace(capabilities(SmallEngine()), areas=("dml", "filter", "limit"))
    of_runs = examples(worlds(able, questions_max=1, repeats=ONCE), 90)
    return mean(world.questions[0].area == "dml" for world in of_runs)


def test_changes_are_drawn_more_often_because_their_worlds_take_little_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mutant draws them as often as each other class."""
    share = share_of_changes()
    monkeypatch.setattr(strategies.engines.worlds, "_MORE_CHANGES", 0)
    assert share > 0.35 > share_of_changes()


@pytest.mark.parametrize(
    ("layouts", "share"), [({"rows_per_group": (1, 1_000)}, 0.1), ({"checkpoint": (1,)}, 0.5), (None, 0.1)]
)
def test_tables_are_large_more_often_where_row_groups_cannot_be_small(
    monkeypatch: pytest.MonkeyPatch, layouts: Options | None, share: float
) -> None:
    """The worlds say themselves, by a setting, that they are large."""

    def worlds_of(able: Capabilities, repeats: Sequence[int]) -> st.SearchStrategy[World]:
        is_large = {"is_large": "true"} if repeats is LARGE else {}
        question = Question(area="limit", source=Relation(table=LEFT), select=())
        return st.integers().map(lambda _: World(tables={}, settings=is_large, questions=(question,)))

    monkeypatch.setattr("skipproof.stand.hunt.rounds.worlds", worlds_of)
    monkeypatch.setattr("skipproof.stand.hunt.rounds.row_count", lambda world: 4_000 * len(world.settings))
    monkeypatch.setattr("skipproof.stand.hunt.rounds._WORK_BEFORE_LARGE", 0)
    rounds = Rounds(replace(capabilities(SmallEngine()), layouts=layouts), 0)
    works: Counter[bool] = Counter()
    while works.total() < 400:
        rounds.draw(lambda world: works.update([bool(world.settings)] * (3 if world.settings else 1)))
    assert works[True] / works.total() == pytest.approx(share, rel=0.2)


def test_questions_that_share_an_answer_are_one_piece_of_work() -> None:
    question = Question(area="limit", source=Relation(table=LEFT), select=(), limit=1)
    world = World(tables={}, settings={}, questions=(question, replace(question, limit=2)))
    assert work_of_questions(world) == 1


def share_of_one_column(count: int) -> float:
    """The share of conjunctions and disjunctions of two atoms that are of one of three columns."""
    scope = ConditionScope(capabilities(SmallEngine()), {name: ValuePool("int32", (1, 2)) for name in "abc"})
    counts: Counter[bool] = Counter()

    @settings(max_examples=count, phases=(Phase.generate,), derandomize=True, database=None, deadline=None)
    @given(st.composite(condition)(scope))
    def look(term: Term) -> None:
        for part in subterms(term):
            if isinstance(part, Call) and part.function in ("and", "or"):
                of_sides = [{p for p in subterms(side) if isinstance(p, Column)} for side in part.of]
                if all(len(columns) == 1 for columns in of_sides):
                    counts[of_sides[0] == of_sides[1]] += 1

    look()
    return counts[True] / counts.total()


def test_more_than_half_of_conjunctions_are_of_one_of_three_columns() -> None:
    """Without a preference it is two in five; an interval of a column has two sides."""
    assert 0.5 < share_of_one_column(500) < 0.8


def divisors(missing: frozenset[str]) -> set[Json]:
    """The constants by which floating point is divided, of an engine that lacks some functions."""
    able = replace(capabilities(SmallEngine()), functions_missing=missing)
    scope = ConditionScope(able, {"a": ValuePool("float64", (1.5, 10.0))})
    values: set[Json] = set()

    @settings(max_examples=250, phases=(Phase.generate,), derandomize=True, database=None, deadline=None)
    @given(st.composite(condition)(scope))
    def look(term: Term) -> None:
        for part in subterms(term):
            if isinstance(part, Call) and part.function == "/" and isinstance(part.of[1], Literal):
                values.add(part.of[1].value)

    look()
    return values


def test_an_engine_that_multiplies_by_reciprocals_divides_by_powers_of_two() -> None:
    assert 3.0 in divisors(frozenset())
    assert {2.0} <= divisors(frozenset({"rounded quotient"})) <= {0.5, 1.0, 2.0}


def share_of_extremes(term: Term) -> float:
    """The share of the least and the greatest of ten values among the constants of an operand."""
    operand = Operand(term, ValuePool("int32", tuple(range(10))))
    counts: Counter[Json] = Counter()

    constants = st.composite(value_of)(ConditionScope(capabilities(SmallEngine()), {}), operand)

    @settings(max_examples=50, phases=(Phase.generate,), derandomize=True, database=None, deadline=None)
    @given(st.lists(constants, min_size=20, max_size=20))
    def look(several: list[Json]) -> None:
        counts.update(several)

    look()
    return (counts[0] + counts[9]) / counts.total()


def test_expressions_are_compared_with_their_least_and_greatest_values() -> None:
    """An engine that is wrong about the bounds of a function skips mostly the rows at them."""
    column = Column("a", "int32")
    assert share_of_extremes(Call("abs", (column,), "int32")) > 0.4
    assert share_of_extremes(column) < 0.4


def test_the_writers_that_a_user_asked_for_write_half_of_the_tables() -> None:
    writers: Writers = {"pyarrow": {}, "reader": {}, "another": {}}
    rounds, of_rounds = Rounds(capabilities(SmallEngine(), writers=writers), 0), list[World]()
    for _ in range(30):
        rounds.draw(of_rounds.append)
    counts = Counter(table.layout.writer for world in of_rounds for table in world.tables.values())
    assert 0.4 < counts["another"] / counts.total() < 0.6
