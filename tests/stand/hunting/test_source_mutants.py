"""Mutants of the small engine's source: their operators, their names, their copies of the engine."""

import ast
import json
import math
import sys
from collections import Counter
from pathlib import Path

import pytest

from mutants.source.comparing import UNIFORM, WITH_CORPUS, compare_searches, summarize
from mutants.source.copies import EngineCopy
from mutants.source.directed import rule_violation, search_directed
from mutants.source.measuring import Measurement, Share, difference, not_told_apart, sample, share
from mutants.source.operators import OPERATORS
from mutants.source.searching import search_each, search_together
from mutants.source.source_mutants import MODULES, SourceMutant, source_mutants
from mutants.source.trivial import trivial_mutants
from skipproof.stand.reference.ranges import RangeRules
from skipproof.stand.reference.statistics import Facts

MUTANTS_MIN = 2_000
SEED = 3
# Of each kind a piece of code, a change that the kind makes of it, and the words for it.
CHANGES = {
    "comparison": ("x < y", "x <= y", "Lt to LtE"),
    "null count": ("facts.nulls", "False", "nulls to none"),
    "bound": ("range_.upper", "range_.lower", "upper exchanged"),
    "offset": ("relation['offset']", "0", "offset ignored"),
    "list": ("('<', '=')", "('=',)", "member dropped"),
    "page": ("range(start, end)", "range(start, end + -1)", "range ends earlier"),
    "race": ("a if x else b", "a if negate_each_seventh(x) else b", "condition wavers"),
    "logic": ("x and y", "x or y", "And to Or"),
    "constant": ("2", "3", "number more"),
    "arithmetic": ("x + y", "x - y", "Add to Sub"),
    "condition": ("a if x else b", "a if True else b", "condition to True"),
    "return": ("def f(x) -> bool:\n    return g(x)", "def f(x) -> bool:\n    return False", "returns False"),
    "statement": ("possible |= 4", "pass", "AugAssign deleted"),
}


def _mutant(name: str) -> SourceMutant:
    return next(mutant for mutant in source_mutants() if mutant.name == name)


def _node(code: str) -> ast.AST:
    """Return the node of a statement, or of the expression that is one."""
    (statement,) = ast.parse(code).body
    return statement.value if isinstance(statement, ast.Expr) else statement


@pytest.mark.parametrize("kind", OPERATORS)
def test_an_operator_changes_what_its_name_says(kind: str) -> None:
    code, changed, words = CHANGES[kind]
    edits = {(ast.unparse(replacement), name) for name, replacement in OPERATORS[kind](_node(code))}
    assert (changed, words) in edits


def test_every_module_has_mutants_of_many_kinds_each_of_one_name() -> None:
    mutants = source_mutants()
    assert len(mutants) >= MUTANTS_MIN
    assert {mutant.kind for mutant in mutants} == set(OPERATORS)
    assert {mutant.module for mutant in mutants} == set(MODULES)
    assert [name for name, count in Counter(mutant.name for mutant in mutants).items() if count > 1] == []


def test_mutants_compile_and_differ_from_the_source() -> None:
    """One in 400 of them, because all take seconds; a copy that does not load raises."""
    for mutant in sample(source_mutants(), None)[::400]:
        before, after = mutant.change().split("  ->  ")
        assert before != after
        assert EngineCopy(mutant, tables=mutant.tables).hello.version == mutant.key


def test_the_halves_are_of_about_the_same_size_for_any_sample() -> None:
    for some in (source_mutants(), sample(source_mutants(), 400)):
        assert 0.4 < sum(mutant.is_open for mutant in some) / len(some) < 0.6


def test_a_name_tells_the_place_without_its_line() -> None:
    """The name and the half of a mutant stay when code before it moves."""
    mutant = _mutant("ranges.RangeRules.may_be_null: Gt to GtE 1")
    assert mutant.change() == "facts.nulls > 0  ->  facts.nulls >= 0"
    assert (mutant.key, mutant.is_open) == ("492d020499bd60e8", True)


def test_the_judge_is_right_while_a_mutant_answers() -> None:
    """A copy leaves the modules of the judge alone, and no copy shares one with it."""
    before = dict(sys.modules)
    mutant = _mutant("ranges.RangeRules.may_be_null: returns False 1")
    (result,) = search_together([mutant], seed=SEED, examples=100)
    assert result.verdict
    assert sys.modules["skipproof.stand.reference.ranges"] is before["skipproof.stand.reference.ranges"]
    assert RangeRules().may_be_null(Facts(type="int64", rows=1, nulls=1))


def test_many_mutants_are_hunted_together_as_each_is_alone() -> None:
    mutants = sample(source_mutants(), 5)
    together, alone = (
        {
            result.mutant.name: (result.verdict, result.examples)
            for result in search(mutants, seed=SEED, examples=200)
        }
        for search in (search_together, search_each())
    )
    assert together == alone
    assert {bool(verdict) for verdict, _ in together.values()} == {True, False}


def test_a_mutant_that_refuses_all_questions_ends_a_search() -> None:
    """It fails with nothing to prune by too, so that none of its answers counts as an example."""
    mutant = _mutant("answering.limit_rows: condition to False 1")
    (result,) = search_together([mutant], seed=SEED, examples=5)
    assert (result.verdict, result.examples) == ("", 0)


def test_hunts_with_and_without_a_corpus_are_compared_on_the_same_mutants() -> None:
    """One mutant is wrong of plain questions, the other right."""
    wrong = _mutant("judging.TruthRules.may_match: returns False 1")
    unfound = _mutant("statistics.StatisticsRules.next_character: number more 1")
    searches = list(compare_searches([wrong, unfound], seed=SEED, examples=25, corpus_examples=100))
    for way in (UNIFORM, WITH_CORPUS):
        summary = summarize(searches, way)
        assert (summary.catches, summary.hunts) == (1, 2)
        first, second = (search for search in searches if search.way == way)
        assert 0 < first.examples <= 25
        assert first.seconds < second.seconds == second.examples == math.inf


def test_three_plain_questions_reveal_trivial_mutants_alone() -> None:
    plain = _mutant("judging.TruthRules.may_match: returns False 1")
    rare = _mutant("statistics.StatisticsRules.next_character: number more 1")
    assert trivial_mutants([plain, rare]) == {plain.name}


def test_a_loop_without_an_end_is_an_error() -> None:
    mutant = _mutant("statistics.StatisticsRules.pages: Add to Sub 2")
    assert mutant.name in trivial_mutants([mutant])


def test_the_directed_check_convicts_wrong_mutants_alone() -> None:
    """Of the correct engine and of a mutant that prunes less it says nothing."""
    assert rule_violation(None, seed=SEED, cases=20) == (20, "")
    assert rule_violation(_mutant("ranges.RangeRules.fits: returns False 1"), seed=SEED, cases=20)[1] == ""
    wrong = _mutant("ranges.RangeRules.may_be_null: returns False 1")
    assert [result.verdict for result in search_directed([wrong], seed=SEED, examples=20)] == [
        "a truth value is excluded"
    ]


def test_what_is_not_told_apart_names_mutants() -> None:
    """A name that is no mutant's any more would remove nothing; closed ones are not named."""
    names = {mutant.name if mutant.is_open else mutant.key for mutant in source_mutants()}
    assert not_told_apart() <= names


def test_a_measurement_goes_on_and_reveals_no_closed_mutant(tmp_path: Path) -> None:
    mutants = sample(source_mutants(), 6)
    measurement = Measurement(file=tmp_path / "results.jsonl", search="uniform", examples=9)
    assert list(measurement.run(mutants[:3], [SEED], search_together)) == [2, 1, 0]
    assert len(list(measurement.run(mutants, [SEED], search_together))) == 3
    lines = measurement.lines()
    assert [line["mutant"] for line in lines] == list(dict.fromkeys(line["mutant"] for line in lines))
    names = {mutant.name for mutant in mutants if not mutant.is_open}
    assert names
    assert not any(json.dumps(name)[1:-1] in measurement.file.read_text() for name in names)


def test_shares_count_a_mutant_once_for_all_seeds() -> None:
    lines = [
        {"mutant": mutant, "verdict": verdict, "examples": 10}
        for mutant, verdict in (("a", "missing"), ("a", ""), ("b", "missing"), ("b", "missing"))
    ]
    assert share(lines) == Share(1.5, 2, 10)


def test_intervals_are_those_of_the_published_example() -> None:
    """The example of Newcombe (1998), table II: 56 of 70 less 48 of 80."""
    assert difference(Share(56, 70, None), Share(48, 80, None)) == pytest.approx(
        (0.2, 0.0524, 0.3339), abs=5e-5
    )
