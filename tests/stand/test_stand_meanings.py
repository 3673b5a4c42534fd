"""The second opinion convicts engines that are wrong in both forms; the list that silences it is true."""

import importlib.util
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from needs import needs_package

from oracles.answers.contradictions import Oracle, find_contradiction, without_limit
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE
from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.findings import Blame, confirm, folder_texts
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.reference import cases, meanings
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.meanings import DECLARED_ENGINES, MEANINGS, OWN, MeaningDifference
from skipproof.stand.reference.opinions import Opinion, Reference
from skipproof.stand.workers.workers import Hello, Worker
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_questions import World, worlds
from strategies.engines.engine_tables import StoredTable
from strategies.engines.engine_values import TYPES
from strategies.engines.files import write_stored
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    Subquery,
    Term,
)

ROW_NUMBER = Column("rid", "int64")
PACKAGES = {
    "arrow": "pyarrow", "chdb": "chdb", "chdb-tables": "chdb", "daft": "daft", "datafusion": "datafusion",
    "deltalake": "deltalake", "duckdb": "duckdb", "duckdb-tables": "duckdb", "iceberg": "pyiceberg",
    "polars": "polars",
}  # fmt: skip
SCANNED = {"reader": "pyarrow"}


def world(type_: str, cells: list[Json], where: Term | None = None, **asked: Any) -> World:
    """One table of a column and the row numbers, and a question about it."""
    columns = (Column("a", type_), ROW_NUMBER)
    table = StoredTable(columns=columns, blocks=(tuple((cell, row) for row, cell in enumerate(cells)),))
    told = {"area": "filter", "source": Relation(table="t", where=where), "select": ("a", "rid"), **asked}
    return World(tables={"t": table}, settings={}, questions=(Question(**told),))


def call_with_constants(function: str, type_: str, *values: Json) -> Call:
    """Return a call of the column and constants."""
    return Call(function, (Column("a", type_), *(Literal(value, type_) for value in values)))


def as_deletes(asked: World) -> World:
    """Return the world with each filter replaced by a delete of the same rows."""
    questions = tuple(replace(one, area="dml", change="delete") for one in asked.questions)
    return replace(asked, questions=questions)


def extreme(type_: str, cells: list[Json]) -> World:
    return world(
        type_, cells, area="aggregate", select=(), aggregates=(Aggregate("max", Column("a", type_)),)
    )


def arithmetic_world(operator: str, operand: int, comparison: str, value: int, cell: int) -> World:
    left = Call(operator, (Column("a", "int32"), Literal(operand, "int32")), "int32")
    return world("int32", [cell], Call(comparison, (left, Literal(value, "int32"))))


NAN = world("float64", ["NaN"], call_with_constants("=", "float64", "NaN"))
NAN_ABOVE = world("float64", ["NaN"], call_with_constants(">", "float64", 0.0))
NEGATIVE_NAN = world("float64", ["-NaN"], call_with_constants("<", "float64", "NaN"))
NANOSECOND = Literal(-1, "timestamp(ns)")
WRITTEN_NANOSECOND = world(
    "timestamp(ns)", [0], call_with_constants("=", "timestamp(ns)", 0), area="dml", change="a", to=NANOSECOND
)
BY_A = (Key(Column("a", "float64")), Key(ROW_NUMBER))
ZEROS_IN_ORDER = world("float64", [0.0, -0.0], area="topk", order=BY_A)
ZERO_IS_ZERO = world("float64", [-0.0], call_with_constants("=", "float64", 0.0))
ZERO_IN_LIST = world("float64", [-0.0], call_with_constants("in", "float64", 0.0, 1.0))
_NULLIF = Call("nullif", (Column("a", "float64"), Literal(-0.0, "float64")), "float64")
ZERO_IN_NULLIF = world("float64", [0.0], Call("is null", (_NULLIF,)))
BEYOND = arithmetic_world("-", 2, ">", 2**30, -(2**31))
NO_LIST_HAS_NULL = world("int32", [None], Call("not", (call_with_constants("in", "int32", 1, 2),)))
ALONE = world("int32", [1])
# A row without a partner, beside which an outer join puts NULL.
BESIDE_NULL = World(
    tables={
        **ALONE.tables,
        "u": StoredTable(columns=(Column("u_a", "int32"), Column("u_rid", "int64")), blocks=(((3, 0),),)),
    },
    settings={},
    questions=(
        Question(
            area="join",
            source=Relation(table="t"),
            select=("a", "rid", "u_a", "u_rid"),
            join=Join(kind="left", right=Relation(table="u"), left_key="a", right_key="u_a"),
            where=Call("not", (Call("in", (Column("u_a", "int32"), Literal(2, "int32"))),)),
        ),
    ),
)
NULL_IS_NOT_NAN = world("float64", [None], Call("not", (call_with_constants("is nan", "float64"),)))
# An int32 that is not in a column of NULL alone.
NOT_IN_NULL = World(
    tables={
        **ALONE.tables,
        "u": StoredTable(columns=(Column("u_a", "int32"), Column("u_rid", "int64")), blocks=(((None, 0),),)),
    },
    settings={},
    questions=(
        Question(
            area="subquery",
            source=Relation(
                table="t",
                where=Call(
                    "not",
                    (
                        Subquery(
                            kind="in",
                            relation=Relation(table="u"),
                            column=Column("u_a", "int32"),
                            operand=Column("a", "int32"),
                        ),
                    ),
                ),
            ),
            select=("rid",),
        ),
    ),
)
ZEROS_AS_GROUPS = world(
    "float64",
    [0.0, -0.0],
    area="aggregate",
    select=(),
    group=Column("a", "float64"),
    aggregates=(Aggregate("count"),),
)
NAN_AS_KEY = World(
    tables={
        **NAN.tables,
        "u": StoredTable(
            columns=(Column("u_a", "float64"), Column("u_rid", "int64")), blocks=((("NaN", 0),),)
        ),
    },
    settings={},
    questions=(
        Question(
            area="join",
            source=Relation(table="t"),
            select=("rid", "u_rid"),
            join=Join(kind="inner", right=Relation(table="u"), left_key="a", right_key="u_a"),
        ),
    ),
)
NOT_IN_LIST_WITH_NULL = world("int32", [1], Call("not", (call_with_constants("in", "int32", None, 2),)))
# The smallest worlds that an engine answers otherwise than the reference, with the entry that says so.
SHOWN: list[tuple[str, str, dict[str, str], World]] = [
    ("NaN by IEEE 754", "arrow", {}, NAN),
    ("NaN by IEEE 754", "deltalake", SCANNED, NAN),
    ("NaN by IEEE 754", "iceberg", {}, NAN_ABOVE),
    ("NaN by IEEE 754", "iceberg", {}, as_deletes(NAN_ABOVE)),
    *[("NaN by IEEE 754", name, {}, NAN_ABOVE) for name in ("chdb", "chdb-tables")],
    *[("zeros that are hashed", name, {}, ZEROS_AS_GROUPS) for name in ("chdb", "chdb-tables")],
    *[("not in a list with NULL", name, {}, NOT_IN_LIST_WITH_NULL) for name in ("chdb", "chdb-tables")],
    *[("not in a subquery with NULL", name, {}, NOT_IN_NULL) for name in ("chdb", "chdb-tables")],
    *[("integers beyond their type", name, {}, BEYOND) for name in ("chdb", "chdb-tables", "daft")],
    ("the sign of NaN", "daft", {}, NEGATIVE_NAN),
    ("the sign of zero", "daft", {}, ZERO_IS_ZERO),
    ("NaN that is looked up", "daft", {}, NAN_AS_KEY),
    ("the sign of NaN", "datafusion", {}, NEGATIVE_NAN),
    ("the sign of NaN", "deltalake", {}, NEGATIVE_NAN),
    ("the order of zeros", "datafusion", {}, ZEROS_IN_ORDER),
    ("the order of zeros", "deltalake", {}, ZEROS_IN_ORDER),
    ("zeros in NULLIF", "datafusion", {}, ZERO_IN_NULLIF),
    ("zeros in NULLIF", "deltalake", {}, ZERO_IN_NULLIF),
    ("zeros that are looked up", "arrow", {}, ZERO_IN_LIST),
    ("zeros that are looked up", "deltalake", SCANNED, ZERO_IN_LIST),
    ("zeros that are looked up", "iceberg", {}, ZERO_IN_LIST),
    ("the maximum with NaN", "polars", {}, extreme("float64", ["NaN", 1.0])),
    ("integers beyond their type", "datafusion", {}, BEYOND),
    ("integers beyond their type", "deltalake", {}, BEYOND),
    ("integers beyond their type", "duckdb", {}, BEYOND),
    ("integers beyond their type", "duckdb-tables", {}, BEYOND),
    ("the remainder of a negative integer", "polars", {}, arithmetic_world("%", 3, "=", 2, -1)),
    ("the remainder of a negative integer", "polars", {}, arithmetic_world("//", 2, "=", -2, -3)),
    (
        "not in a list with NULL",
        "polars",
        {},
        NOT_IN_LIST_WITH_NULL,
    ),
    ("NULL is not in a list", "arrow", {}, NO_LIST_HAS_NULL),
    ("NULL is not in a list", "arrow", {}, BESIDE_NULL),
    ("NULL is not in a list", "deltalake", SCANNED, NO_LIST_HAS_NULL),
    ("nanoseconds as microseconds", "duckdb", {}, world("timestamp(ns)", [-1])),
    ("nanoseconds as microseconds", "duckdb-tables", {}, world("timestamp(ns)", [-1])),
    ("nanoseconds as microseconds", "duckdb-tables", {}, WRITTEN_NANOSECOND),
]
# Classes in which an engine of which nothing is known may differ.
OF_UNKNOWN_ENGINES = {"NaN", "the sign of zero", "casts beyond a type"}
WORLDS_OF_SPARK = 14


class Convinced(SmallEngine):
    """An engine that ends every LIKE pattern at its first escape, in whatever form a table is."""

    def __init__(self, engine: str = "convinced", **differs: list[str]) -> None:
        super().__init__()
        self.hello = replace(
            self.hello,
            engine=engine,
            differs=frozenset(word for words in differs.values() for word in words),
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answers to questions with every pattern cut."""
        questions = [_cut(question) for question in request["questions"]]
        return super().ask(**{**request, "questions": questions})


def _cut(part: Json) -> Json:
    if isinstance(part, dict) and part.get("call") == "like":
        first, pattern = part["of"]
        return part | {"of": [first, pattern | {"literal": pattern["literal"].split("\\")[0] + "%"}]}
    if isinstance(part, dict):
        return {name: _cut(inner) for name, inner in part.items()}
    return [_cut(inner) for inner in part] if isinstance(part, list) else part


LIKE = world("string", ["foo_x", "foobar"], call_with_constants("like", "string", "foo\\_%"))


def run_hunt(asked: SmallEngine) -> Hunt:
    limits = Limits(examples=600, findings=1, seconds_to_shrink=600.0, worlds_to_shrink=200)
    what = replace(
        capabilities(asked, areas=("filter", "limit")), types_missing=frozenset(TYPES) - {"string"}
    )
    return hunt(asked, what, limits, hunt_seed=3)


@pytest.fixture(scope="module")
def hunt_of_convinced() -> Hunt:
    return run_hunt(Convinced())


def test_an_engine_that_is_wrong_in_both_forms_is_convicted(hunt_of_convinced: Hunt) -> None:
    (finding,) = hunt_of_convinced.findings
    wrong = finding.outcome.contradiction
    assert wrong is not None
    assert wrong.oracle is Oracle.REFERENCE
    assert {AGAINST_THE_REFERENCE, "pattern", "text"} <= finding.traits
    assert finding.outcome.with_statistics["rows"] == finding.outcome.without["rows"]


def test_such_an_engine_agrees_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second opinion nothing is found."""
    everything = MeaningDifference(name="everything", applies=lambda case: True, reason="For this test.")
    monkeypatch.setattr(meanings, "MEANINGS", (everything,))
    found = run_hunt(Convinced())
    assert found.findings == []
    assert found.examples >= 600
    assert set(found.no_opinion) == {"everything"}


def test_a_worker_says_itself_what_it_means_otherwise() -> None:
    found = run_hunt(Convinced(functions=["like"]))
    assert found.findings == []
    assert found.no_opinion[OWN] > 0


def test_what_the_reference_finds_is_blamed_on_both_forms_and_told(hunt_of_convinced: Hunt) -> None:
    (finding,) = hunt_of_convinced.findings
    worker = Convinced()
    confirmed = confirm(worker, finding, write=write_stored)
    assert confirmed.blame is Blame.REFERENCE
    assert confirmed.expected == finding.outcome.reference
    texts = folder_texts(worker, replace(confirmed, source="answer = []"))
    assert json.loads(texts["finding.json"])["oracle"] == "the reference"
    assert f"# Right, by the reference: {json.dumps(confirmed.expected['rows'])}\n" in texts["replay.py"]
    assert confirm(SmallEngine(), finding, write=write_stored).blame is Blame.UNSTEADY


def test_a_finding_of_each_oracle_is_never_taken_for_one_of_the_other(hunt_of_convinced: Hunt) -> None:
    (finding,) = hunt_of_convinced.findings
    state = Hunt(findings=[finding])
    assert state.similar_finding(finding.traits) == 0
    itself = finding.traits - {AGAINST_THE_REFERENCE}
    assert state.similar_finding(itself) is None
    assert Hunt(findings=[replace(finding, traits=itself)]).similar_finding(finding.traits) is None


def test_what_is_beyond_a_limit_is_judged_without_it() -> None:
    """An engine that may give any row is asked which rows it could give."""
    limited = replace(LIKE.questions[0], area="limit", limit=0)
    (outcome,) = examine(Convinced(), replace(LIKE, questions=(limited,)))
    assert outcome.question == without_limit(limited)
    assert outcome.expected == {"rows": [["foo_x", 0]]}
    assert outcome.with_statistics == {"rows": [["foo_x", 0], ["foobar", 1]]}


def test_the_list_is_told_in_sentences_and_is_of_known_engines() -> None:
    for entry in MEANINGS:
        assert re.fullmatch(r"[^.].*\.", entry.reason), entry
        assert re.match(r"https://", entry.source or "https://"), entry
        assert {*entry.engines, *entry.agreeing} <= set(DECLARED_ENGINES)
        assert not (entry.engines and entry.agreeing)


@pytest.mark.parametrize(
    ("predicate", "asked", "is_in_class"),
    [
        (cases.hashes_both_zeros, ZEROS_AS_GROUPS, True),
        (cases.hashes_both_zeros, ZERO_IN_LIST, True),
        (cases.hashes_both_zeros, ZERO_IS_ZERO, False),
        (cases.hashes_both_zeros, ZEROS_IN_ORDER, False),
        (cases.looks_up_nan, NAN_AS_KEY, True),
        (cases.looks_up_nan, NAN, False),
        (cases.negates_in_subquery_with_null, NOT_IN_NULL, True),
        (cases.negates_in_subquery_with_null, NOT_IN_LIST_WITH_NULL, False),
    ],
)
def test_a_class_of_questions_is_narrow(
    predicate: Callable[[cases.Case], bool], asked: World, is_in_class: bool
) -> None:
    assert predicate(cases.Case(asked.questions[0], asked.tables)) is is_in_class


def test_a_cast_to_a_date_has_days_as_values() -> None:
    """Else a count of microseconds would be taken for a count of days, and the year for one out of range."""
    moment = Column("a", "timestamp(us)")
    day = Call("day", (Call("cast", (moment,), "date"),), "int8")
    negative = Call("negate", (day,), "int8")
    asked = world("timestamp(us)", [-1, None], Call("=", (negative, Literal(1, "int8"))))
    case = cases.Case(asked.questions[0], asked.tables)
    assert set(case.values(day)) == {31, None}
    assert not cases.overflows(case)


def test_a_range_of_versions_is_kept() -> None:
    entry = MeaningDifference(
        name="old", engines=("duckdb",), versions="<1.2", applies=lambda case: True, reason="Old."
    )
    told = [entry.is_of("duckdb", one) for one in ("1.1.0", "1.1.9.dev3", "1.2", "2.0.0")]
    assert told == [True, True, False, False]
    assert not entry.is_of("polars", "1.1.0")
    assert entry.is_of("duckdb", "main at noon")


def test_every_entry_is_shown_by_an_engine_or_is_for_unknown_ones() -> None:
    shown = {(name, asked) for name, asked, _, _ in SHOWN}
    for entry in MEANINGS:
        asked = entry.engines or tuple(name for name in PACKAGES if name not in entry.agreeing)
        assert {(entry.name, name) for name in asked if _is_installed(entry, name)} <= shown, entry.name
        assert asked or entry.name in OF_UNKNOWN_ENGINES
        assert entry.is_of("unknown", "1") or entry.engines


def _is_installed(entry: MeaningDifference, name: str) -> bool:
    """Tell whether an engine is installed in a version to which an entry applies."""
    package = PACKAGES.get(name)
    if package is None or importlib.util.find_spec(package) is None:
        return False
    return entry.is_of(name, version(package))


@pytest.mark.parametrize(
    ("entry", "name", "switches", "shown"),
    SHOWN,
    ids=[f"{name}: {entry}, {shown.questions[0].area}" for entry, name, _, shown in SHOWN],
)
def test_an_entry_is_still_true(
    engine_worker: Callable[[str], Worker], entry: str, name: str, switches: dict[str, str], shown: World
) -> None:
    """Else it hides what it should not, and is to be taken out."""
    needs_package(PACKAGES[name])
    (outcome,) = examine(engine_worker(name), replace(shown, settings=switches))
    assert (outcome.refused, outcome.contradiction, outcome.no_opinion) == ("", None, entry)
    assert _differs(outcome, shown)


def _differs(outcome: QuestionResult, shown: World) -> bool:
    right = Reference(shown).answer(without_limit(outcome.question))
    assert right is not None
    return find_contradiction(outcome.question, outcome.without["rows"], right) is not None


@pytest.mark.parametrize("name", ["NaN", "-0.0", "arithmetic that fits", "NOT IN"])
def test_the_reference_has_an_opinion_next_to_what_is_declared(name: str) -> None:
    """An exclusion takes in no more than it says."""
    worlds = {
        "NaN": world("float64", ["NaN"], call_with_constants("is nan", "float64")),
        "-0.0": world("float64", [-0.0], call_with_constants("<", "float64", 1.0)),
        "arithmetic that fits": arithmetic_world("-", 2, ">", 2**30, 5),
        "NOT IN": world("int32", [1, 3], Call("not", (call_with_constants("in", "int32", 1, 2),))),
    }
    (outcome,) = examine(SmallEngine(), worlds[name])
    for engine_name in (*DECLARED_ENGINES, "unknown"):
        hello = replace(SmallEngine().hello, engine=engine_name)
        opinion = Reference(worlds[name]).opinion(hello, outcome.question, outcome.without["rows"])
        assert (opinion.none, opinion.contradiction) == ("", None), engine_name


def test_differences_are_words_of_the_first_line() -> None:
    said = {"protocol": 1, "engine": "e", "version": "1", "areas": []}
    assert Hello.from_message(said).differs == frozenset()
    differs = {"functions": ["like"], "types": ["float64"], "joins": ["not in"]}
    assert Hello.from_message({**said, "differs": differs}).differs == {"like", "float64", "not in"}


@pytest.mark.spark
def test_the_reference_means_what_spark_means(engine_worker: Callable[[str], Worker]) -> None:
    """The reference agrees with every answer of Spark: on NaN, zeros, NULL, texts, times and joins."""
    worker = engine_worker("spark")
    (outcome,) = examine(worker, NULL_IS_NOT_NAN)
    assert (outcome.refused, outcome.no_opinion) == ("", "NULL is not NaN")
    assert _differs(outcome, NULL_IS_NOT_NAN)
    judged = [_opinions(worker, drawn) for drawn in _draw_worlds(capabilities(worker))]
    opinions = [opinion for each in judged for opinion in each]
    assert [str(one) for one in opinions if one.contradiction is not None] == []
    assert {one.none for one in opinions} <= {"", "NULL is not NaN"}
    assert sum(not one.none for one in opinions) >= WORLDS_OF_SPARK


def _opinions(worker: Worker, drawn: World) -> list[Opinion]:
    """Return the reference's opinions on Spark's answers over the plain form, without refused ones."""
    tables = {name: table.json for name, table in drawn.tables.items()}
    asked = [without_limit(question) for question in drawn.questions]
    reply = worker.ask(tables=tables, settings={}, questions=[question.json() for question in asked])
    answers = zip(asked, reply["answers"], strict=True)
    reference = Reference(drawn)
    return [
        reference.opinion(worker.hello, question, answer["rows"])
        for question, answer in answers
        if "rows" in answer
    ]


def _draw_worlds(what: Capabilities) -> list[World]:
    found: list[World] = []

    @seed(11)
    @settings(max_examples=WORLDS_OF_SPARK, phases=(Phase.generate,), database=None, deadline=None)
    @given(worlds(what, questions_max=2))
    def keeps(drawn: World) -> None:
        found.append(drawn)

    keeps()
    return found
