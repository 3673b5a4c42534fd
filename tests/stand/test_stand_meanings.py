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
from meaning_worlds import (
    NAN,
    NAN_AS_KEY,
    NEGATED_NAN,
    NEGATED_ZERO,
    NEGATIVE_NAN,
    NOT_IN_LIST_WITH_NULL,
    NOT_IN_NULL,
    NULL_IS_NOT_NAN,
    PACKAGES,
    SHOWN,
    ZERO_IN_LIST,
    ZERO_IS_ZERO,
    ZEROS_AS_GROUPS,
    ZEROS_IN_LIST,
    ZEROS_IN_ORDER,
    arithmetic_world,
    call_with_constants,
    world,
)
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
from strategies.engines.engine_tables import StoredTable
from strategies.engines.engine_values import TYPES
from strategies.engines.files import write_stored
from strategies.engines.questions import (
    Call,
    Column,
    Json,
    Literal,
    Question,
    Relation,
)
from strategies.engines.worlds import World, worlds

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
        (cases.hashes_both_zeros, ZEROS_IN_LIST, False),
        (cases.hashes_both_zeros, ZERO_IS_ZERO, False),
        (cases.hashes_both_zeros, ZEROS_IN_ORDER, False),
        (cases.looks_up_both_zeros, ZERO_IN_LIST, True),
        (cases.looks_up_both_zeros, ZEROS_IN_LIST, False),
        (cases.looks_up_nan, NAN_AS_KEY, True),
        (cases.looks_up_nan, NAN, False),
        (cases.compares_both_zeros, NEGATED_ZERO, False),
        (cases.compares_negated_zero, NEGATED_ZERO, True),
        (cases.compares_negated_zero, ZERO_IS_ZERO, False),
        (cases.compares_negative_nan, NEGATIVE_NAN, True),
        (cases.compares_negative_nan, NEGATED_NAN, False),
        (cases.compares_term_of_negative_nan, NEGATED_NAN, True),
        (cases.compares_term_of_negative_nan, NAN, False),
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


def test_a_product_of_floats_has_both_zeros_among_its_values() -> None:
    """They are equal, so that a set of values would have one of them."""
    column = Column("a", "float32")
    product = Call("*", (column, Literal(0.0, "float32")), "float32")
    tested = Call("in", (product, Literal(0.0, "float32")))
    question = Question(area="filter", source=Relation(table="t", where=tested), select=("a",))
    table = StoredTable(columns=(column, Column("rid", "int64")), blocks=(((0.0, 0), (-0.0, 1)),))
    assert sorted(map(str, cases.Case(question, {"t": table}).values(product))) == ["-0.0", "0.0"]
    assert cases.looks_up_both_zeros(cases.Case(question, {"t": table}))


def test_the_reference_has_no_opinion_of_a_quotient_by_zero() -> None:
    column = Column("a", "float64")
    quotient = Call("/", (column, Literal(0.0, "float64")), "float64")
    source = Relation(table="t", where=Call(">", (quotient, Literal(1.0, "float64"))))
    question = Question(area="filter", source=source, select=("a",))
    table = StoredTable(columns=(column, Column("rid", "int64")), blocks=(((1.0, 0),),))
    world = World(tables={"t": table}, settings={}, questions=(question,))
    assert Reference(world).opinion(SmallEngine().hello, question, []).none


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


class Raising(SmallEngine):
    """An engine that raises an error over files alone."""

    def __init__(self, error: str) -> None:
        super().__init__()
        self._error = error

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answers over rows in memory, or an error for each question."""
        if any("files" in table for table in request["tables"].values()):
            return {"answers": [{"error": self._error, "kind": "failed"} for _ in request["questions"]]}
        return super().ask(**request)


@pytest.mark.parametrize(
    ("error", "cell", "reason"),
    [
        ("Out of Range Error: Overflow in subtraction", -(2**31), "integers beyond their type"),
        # Nothing exceeds its type.
        ("Out of Range Error: Overflow in subtraction", 5, ""),
        ("Internal Error: a vector of another type", -(2**31), ""),
    ],
)
def test_an_error_of_what_exceeds_its_type_is_no_contradiction(error: str, cell: int, reason: str) -> None:
    """The plan decides if it is computed; any other error contradicts."""
    (outcome,) = examine(Raising(error), arithmetic_world("-", 2, ">", 2**30, cell))
    assert (outcome.refused, outcome.contradiction is None) == (reason, bool(reason))


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
