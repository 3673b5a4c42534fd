"""Findings are grouped into causes by the variations of their worlds that make the engine's answer right."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from rich.console import Console

from mutants.small_engine.catalogue import MUTANTS
from mutants.small_engine.mutating import compose
from oracles.answers.contradictions import Contradiction, Discrepancy
from skipproof.commands.checking import CheckRequest, EngineHunt, show_hunt
from skipproof.stand.hunt import cures, rewriting
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, traits
from skipproof.stand.hunt.cures import Signature, find_signature
from skipproof.stand.hunt.examining import examine
from skipproof.stand.hunt.findings import confirm_all, folder_names, save_finding
from skipproof.stand.hunt.grouping import find_causes, group_findings
from skipproof.stand.hunt.rewriting import expression_forms
from skipproof.stand.hunt.state import Fence, Finding, Hunt
from skipproof.stand.hunt.varying import Cure, CureKind
from skipproof.stand.reference.engine import SmallEngine, answer_from_all_rows
from skipproof.stand.reference.tables import NOTHING, from_blocks
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_rows import SMALL
from strategies.engines.engine_tables import StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import Call, Column, Json, Key, Literal, Question, Relation, Term
from strategies.engines.worlds import World, worlds

RID = Column("rid", "int64")
# Forms that mean the same in SQL.
SAME = {
    "OR of = instead of IN",
    "two comparisons instead of BETWEEN",
    "NOT pushed in",
    "operands swapped",
    "CAST of what fits instead of TRY_CAST",
}


def engine(*names: str) -> SmallEngine:
    return compose(*(mutant for mutant in MUTANTS if mutant.name in names))


def finding(
    wrong: SmallEngine, where: Term, *cells: Json, type_: str = "int32", limit: int | None = None
) -> Finding:
    """Return the finding that a condition on a column of one block is."""
    rows = tuple((cell, row) for row, cell in enumerate(cells))
    question = Question(
        area="filter" if limit is None else "limit",
        source=Relation(table="t", where=where),
        select=("a", "rid"),
        limit=limit,
    )
    table = StoredTable(columns=(Column("a", type_), RID), blocks=(rows,))
    world = World(tables={"t": table}, settings={}, questions=(question,))
    (outcome,) = examine(wrong, world)
    assert outcome.contradiction is not None
    own_traits = traits(world, question, outcome.contradiction)
    return Finding(world=world, outcome=outcome, traits=own_traits, seed=4, examples=7, seconds=0.0)


def call(function: str, *literals: Json, type_: str = "int32") -> Call:
    return Call(function, (Column("a", type_), *(Literal(value, type_) for value in literals)))


def names(wrong: SmallEngine, one_finding: Finding) -> set[str]:
    return {cure.name for cure in find_signature(wrong, one_finding, write=write_stored).cures}


DIFFERS_WRONG = engine("nulls differ")
DIFFERS = finding(DIFFERS_WRONG, call("!=", 1), None, 2)


def test_null_is_what_cures_a_mutant_of_null() -> None:
    cured = names(DIFFERS_WRONG, DIFFERS)
    assert "without NULL" in cured
    assert not cured & {"without NaN", "without bounds", "NOT pushed in", "statistics=no bounds"}


@pytest.mark.parametrize(
    ("literal", "cell", "type_", "expected"),
    [
        (0.0, -0.0, "float64", {"signed zero"}),
        (-0.0, 0.0, "float64", {"a -0.0 literal"}),
        (0.0, 0.0, "float32", set()),
        ("NaN", 0.0, "float32", {"a NaN literal"}),
        (0, 0, "int64", set()),
    ],
)
def test_odd_values_are_traits_of_columns_and_of_constants(
    literal: Json, cell: Json, type_: str, expected: set[str]
) -> None:
    """A bloom filter of 0.0 loses it for -0.0, and the reverse."""
    question = Question(
        area="filter", source=Relation(table="t", where=call("=", literal, type_=type_)), select=("a",)
    )
    table = StoredTable(columns=(Column("a", type_),), blocks=(((cell,),),))
    wrong = Contradiction(Discrepancy.LOST, "0 rows instead of 1")
    own_traits = traits(World(tables={"t": table}, settings={}, questions=(question,)), question, wrong)
    assert own_traits & {"signed zero", "a -0.0 literal", "NaN", "a NaN literal"} == expected


def test_variations_are_asked_only_as_long_as_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that hangs would keep a campaign from its next slice for an hour."""
    monkeypatch.setattr(cures, "_SECONDS_TO_VARY", -1.0)
    assert names(DIFFERS_WRONG, DIFFERS) == set()


def test_another_form_of_the_question_cures_a_mutant_of_one_form() -> None:
    wrong = engine("null among members")
    assert "OR of = instead of IN" in names(wrong, finding(wrong, call("in", 2, None), 2, 3))


def test_an_empty_answer_is_no_cure_where_rows_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NULL, no row IS NULL, and none can be lost."""
    wrong = engine("null asks for all")
    lost = finding(wrong, call("is null"), None, 5)
    assert "without NULL" not in names(wrong, lost)
    monkeypatch.setattr(cures, "is_cured", lambda _, outcome: outcome.contradiction is None)
    assert "without NULL" in names(wrong, lost)


def test_findings_of_one_mutant_are_one_cause_and_those_of_another_are_not() -> None:
    """NULL in a longer condition, in a short one, and under a LIMIT; and IS NULL."""
    wrong = engine("nulls differ", "null asks for all")
    longer = Call("or", (call("!=", 1), call("<", 0)))
    findings = [
        finding(wrong, longer, None, 2),
        finding(wrong, call("is null"), None, 5),
        DIFFERS,
        finding(wrong, call("!=", 1), None, 2, limit=5),
    ]
    state = Hunt(findings=findings)
    state.again.update({0: 3, 2: 4})
    state.fenced[2] = 10
    first, second = find_causes(wrong, state, write=write_stored)
    assert (first.finding, first.others) == (findings[2], (findings[0], findings[3]))
    assert (first.count, second.count) == (3 + 3 + 4 + 10, 1)
    assert second.others == ()


CURED = Signature(cures=(Cure(CureKind.VALUES, "without NULL"),), area="filter")
SWITCHED = Signature(cures=(Cure(CureKind.SWITCH, "x=1"),), area="filter")
STATED = replace(CURED, cures=(*CURED.cures, Cure(CureKind.STATISTICS, "without bounds")))
INTEGERS = Cure(CureKind.VALUES, "integers instead of time")
OTHER = finding(DIFFERS_WRONG, Call("or", (call("!=", 1), call("<", 0))), None, 2)


@pytest.mark.parametrize(
    ("signatures", "causes"),
    [
        ((CURED, CURED), 1),
        ((CURED, SWITCHED), 2),
        ((CURED, replace(CURED, area="limit")), 2),
        # The area tells whether the filter alone is right.
        ((CURED, replace(CURED, cures=(*CURED.cures, Cure(CureKind.QUESTION, rewriting.FILTER_ALONE)))), 1),
        # Where no value matters, other functions are other causes.
        ((SWITCHED, SWITCHED), 2),
        # Where statistics cure too, they are at fault in every class and with every switch.
        ((STATED, replace(STATED, area="limit", cures=(*STATED.cures, *SWITCHED.cures))), 1),
        ((STATED, replace(STATED, cures=(*STATED.cures, Cure(CureKind.VALUES, "without NaN")))), 2),
        ((STATED, replace(STATED, cures=(*STATED.cures, INTEGERS))), 1),
        # Where nothing cures, the traits decide.
        ((replace(CURED, cures=()), replace(CURED, cures=())), 1),
    ],
    ids=[
        "equal",
        "other cures",
        "other area",
        "filter alone",
        "other functions",
        "statistics of values",
        "statistics of other values",
        "another type",
        "no cure",
    ],
)
def test_causes_have_equal_signatures(signatures: tuple[Signature, ...], causes: int) -> None:
    assert len(group_findings((DIFFERS, OTHER), signatures, (1, 1))) == causes


def test_an_expression_that_both_forms_get_wrong_is_one_cause_in_every_class() -> None:
    """Against the engine itself, the class and the statistics matter."""
    wrong_in = Signature(cures=(Cure(CureKind.EXPRESSION, "OR of = instead of IN"),), area="filter")
    elsewhere = replace(wrong_in, area="join", cures=(*wrong_in.cures, Cure(CureKind.QUESTION, "asked once")))
    for against, causes in ((frozenset({AGAINST_THE_REFERENCE}), 1), (frozenset(), 2)):
        findings = [replace(one, traits=one.traits | against) for one in (DIFFERS, OTHER)]
        assert len(group_findings(findings, (wrong_in, elsewhere), (1, 1))) == causes


def test_what_is_made_of_a_null_constant_is_one_cause_whatever_else_cures() -> None:
    """A switch that cures tells another cause."""
    no_null = Cure(CureKind.EXPRESSION, rewriting.NO_NULL_CONSTANT)
    plain = Signature(cures=(no_null,), area="filter")
    longer = replace(
        plain, area="join", cures=(no_null, Cure(CureKind.EXPRESSION, "OR of = instead of IN"), INTEGERS)
    )
    switched = replace(plain, cures=(no_null, *SWITCHED.cures))
    against = frozenset({AGAINST_THE_REFERENCE})
    findings = [replace(one, traits=one.traits | against) for one in (DIFFERS, OTHER, DIFFERS)]
    assert [
        1 + len(group.others) for group in group_findings(findings, (plain, longer, switched), (1, 1, 1))
    ] == [
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("term", "without"),
    [
        (call("in", 1, None), call("in", 1)),
        (call("in", None), Literal(False, "boolean")),
        (call("=", None), Literal(False, "boolean")),
        (call("is distinct from", None), Call("is not null", (Column("a", "int32"),))),
        (call("is not distinct from", None), Call("is null", (Column("a", "int32"),))),
        (
            Call("and", (call("=", 1), Literal(None, "boolean"))),
            Call("and", (call("=", 1), Literal(False, "boolean"))),
        ),
        (Call("not", (call("in", None, 2),)), Call("not", (call("in", 2),))),
        (call("in", 1, 2), call("in", 1, 2)),
    ],
    ids=str,
)
def test_a_form_without_null_among_constants(term: Term, without: Term) -> None:
    question = Question(area="filter", source=Relation(table="t", where=term), select=("a",))
    forms = dict(expression_forms(question))
    assert forms[rewriting.NO_NULL_CONSTANT].source.where == without


def error(words: str) -> Finding:
    contradiction = Contradiction(Discrepancy.RAISED, words)
    outcome = replace(DIFFERS.outcome, contradiction=contradiction)
    error_traits = traits(DIFFERS.world, outcome.question, contradiction)
    return replace(DIFFERS, outcome=outcome, traits=error_traits)


@pytest.mark.parametrize(
    ("first", "second", "signature", "causes"),
    [
        (DIFFERS, error("Panic: no value"), CURED, 2),
        (error("Panic: no type"), error("Panic: no value"), CURED, 2),
        (error("Panic: value 1"), error("Panic: value 2"), CURED, 1),
        (error("Vector (of STRUCT(a INT) by b)"), error("Vector (of STRUCT(x INT) by c)"), CURED, 1),
        (error("Plan (fetch=1, expr=[a"), error("Plan (fetch=20001, ex"), CURED, 1),
        (error("Panic: value 1"), error("Panic: value 2"), replace(CURED, area="join", cures=()), 1),
        # Another switch cures the second.
        (error("Panic: value 1"), error("Panic: value 2"), SWITCHED, 2),
    ],
    ids=[
        "no error",
        "other words",
        "values",
        "parentheses within parentheses",
        "cut within parentheses",
        "other class",
        "other switch",
    ],
)
def test_errors_of_the_same_words_have_one_cause_in_any_question(
    first: Finding, second: Finding, signature: Signature, causes: int
) -> None:
    assert len(group_findings((first, second), (CURED, signature), (1, 1))) == causes


def answers(world: World, question: Question) -> list[list[Json]]:
    tables = {name: from_blocks(table.json, NOTHING) for name, table in world.tables.items()}
    return sorted(answer_from_all_rows(question.json(), tables), key=str)


def differing_forms() -> set[str]:
    """Return the equivalent forms that change an answer, of some hundred drawn questions."""
    differing: set[str] = set()

    @settings(max_examples=400, phases=(Phase.generate,), database=None, derandomize=True, deadline=None)
    @given(worlds(Capabilities(areas=("filter",)), questions_max=6, repeats=SMALL))
    def compare(world: World) -> None:
        for question in world.questions:
            for name, other in expression_forms(question):
                if name in SAME and other != question and answers(world, question) != answers(world, other):
                    differing.add(name)

    compare()
    return differing


def test_equivalent_forms_have_the_same_answer() -> None:
    assert differing_forms() == set()


def test_a_column_that_replaces_a_key_is_in_the_answer() -> None:
    """The order of an answer shows by the columns that it has."""
    key = Key(Call("abs", (Column("a", "int32"),), "int32"))
    question = Question(
        area="topk", source=Relation(table="t"), select=("rid",), order=(key, Key(RID)), limit=1
    )
    (other,) = (form for name, form in expression_forms(question) if name == "a column instead of abs")
    assert (other.order[0], other.select) == (Key(Column("a", "int32")), ("rid", "a"))


@pytest.mark.parametrize(
    ("table", "entry", "name"),
    [
        (rewriting._NEGATIONS, ("<", "<="), "NOT pushed in"),
        (rewriting._SWAPPED, ("<", "<"), "operands swapped"),
    ],
)
def test_a_wrong_form_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, table: dict[str, str], entry: tuple[str, str], name: str
) -> None:
    monkeypatch.setitem(table, *entry)
    assert name in differing_forms()


def test_a_cast_of_other_values_than_those_that_fit_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "integer_range", lambda type_: (0, 1) if type_ != "int64" else (-2, 2))
    assert "CAST of what fits instead of TRY_CAST" in differing_forms()


def test_check_tells_and_saves_one_finding_for_each_cause_and_where_the_others_are(tmp_path: Path) -> None:
    wrong = DIFFERS_WRONG
    state = Hunt(
        findings=[DIFFERS, OTHER], fences=[Fence(ordinal=0, traits=frozenset({"NULL", "inequality"}))]
    )
    state.fenced[0] = 1_234
    confirmed = confirm_all(wrong, state, write=write_stored)
    request = CheckRequest(examples=1, seconds=None)
    checked = EngineHunt(
        hello=wrong.hello, request=request, areas=("filter",), hunt=state, confirmed=confirmed
    )
    out = Console(width=300, record=True, file=io.StringIO())
    show_hunt(out, checked)
    text = out.export_text()
    assert "2 findings of 1 cause," in text
    assert "1: at 7" in text
    assert "fenced off, and 1,234 more failures counted: NULL, inequality" in text
    (folder,) = folder_names(confirmed)
    save_finding(wrong, confirmed[0], tmp_path / folder, write=write_stored)
    summary = json.loads((tmp_path / folder / "finding.json").read_text(encoding="utf-8"))
    (other,) = summary["others"]
    assert (other["seed"], other["examples"], other["question"]) == (4, 7, OTHER.world.questions[0].json())
    assert "without NULL" in summary["cures"]
    assert checked.to_dict()["fences"] == [{"traits": ["NULL", "inequality"], "count": 1_234}]
