"""`skipproof prove`: verdicts and statuses, what it prints, and one sentence for what cannot be proved."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mutants.rules.table import MUTANTS
from pruning.rules.compile.table import RULES
from skipproof.commands import proving
from skipproof.commands.endings import FAILED, HELD, VIOLATED
from skipproof.commands.proving import ProofRun
from skipproof.proofs import catalogue, prover
from skipproof.proofs.axioms import AXIOMS
from skipproof.proofs.catalogue import RULE_NAMES, family_of, select, statements
from skipproof.proofs.generic_mutants import GENERIC_MUTANTS
from skipproof.proofs.prover import Failure
from skipproof.proofs.running import ProofReport
from skipproof.proofs.subjects.table import SUBJECTS

Run = Callable[..., tuple[int, str, str]]
PROPERTIES = Path(__file__).parents[2] / "docs" / "reference" / "properties.md"


def report(*failures: Failure) -> ProofReport:
    """A report of a proof with these failures."""
    return ProofReport(
        name="a proof",
        sql="(`a` = 1)",
        operations=1,
        claims=1,
        axioms=(),
        failures=failures,
        exact=True,
        seconds=0.0,
        mutants={},
    )


def break_rule(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Put a mutant in the place of the rule that it breaks."""
    mutant = MUTANTS[name]
    monkeypatch.setattr(prover, "RULES", {**RULES, mutant.breaks: mutant.rule})


def test_a_rule_is_proved_and_its_mutants_are_refuted(run: Run) -> None:
    status, out, _ = run("prove", "upper", "--json")
    document = json.loads(out)
    assert status == HELD
    assert [proof["name"] for proof in document["proofs"]] == [
        "text: upper",
        "text: upper =",
        "text: NOT upper =",
    ]
    assert document["verdicts"] == {"proved": 3}
    for proof in document["proofs"]:
        assert proof["failures"] == []
        assert "refuted" in proof["mutants"].values()
        assert set(proof["mutants"]) == {mutant.__name__ for mutant in GENERIC_MUTANTS}
    assert document["axioms"]["PREIMAGE"] == AXIOMS["PREIMAGE"]
    assert set(document["rules"]) == {"upper"}


def test_a_proof_is_shown_with_claim_premises_axioms_time_and_mutants(run: Run) -> None:
    status, out, err = run("prove", "patterns: startswith")
    assert status == HELD
    for label in (
        "claim ",
        "premises ",
        "axiom     PREFIX: ",
        "mutants   refuted: NothingPossible",
        "starts_with ",
    ):
        assert any(line.startswith(label) for line in out.splitlines()), label
    assert "1 of 1 proved" in out
    assert "1/1 patterns: startswith" in err


def test_a_rule_that_is_wrong_is_refuted_with_a_witness(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    break_rule(monkeypatch, "IS NULL without NaN")
    status, out, _ = run("prove", "null_test: IS NULL of a float")
    assert status == VIOLATED
    assert "REFUTED: [" in out
    assert "0 of 1 proved, 1 refuted" in out


def test_a_proof_that_runs_out_of_time_is_unknown_and_no_success(run: Run) -> None:
    status, out, _ = run("prove", "null_test", "--seconds", "1e-9")
    assert status == FAILED
    assert "0 of 6 proved, 6 not decided within 1e-09 s each" in out


def test_a_refuted_claim_outweighs_one_that_is_not_decided() -> None:
    refuted, undecided = (Failure("range", decided=decided, detail="") for decided in (True, False))
    statuses = [
        ((), HELD),
        ((report(),), HELD),
        ((report(), report(undecided)), FAILED),
        ((report(undecided), report(refuted)), VIOLATED),
        ((report(undecided, refuted),), VIOLATED),
    ]
    for reports, status in statuses:
        proof_run = ProofRun(title="", claim="", rules={}, reports=reports, seconds=0.0, limit_seconds=1.0)
        assert proof_run.status == status


def test_many_proofs_are_shown_by_family(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {family: dict(list(SUBJECTS[family].items())[:2]) for family in ("leaves", "null_test")}
    monkeypatch.setattr(catalogue, "SUBJECTS", few)
    monkeypatch.setattr(proving, "_SHOWN_SINGLY_MAX", 3)
    status, out, _ = run("prove")
    assert status == HELD
    assert "all rules: 4 proofs" in out
    assert [line.split()[:2] for line in out.splitlines() if "2 proved" in line] == [
        ["leaves", "2"],
        ["null_test", "2"],
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("uper",), "No rule is named 'uper': near it are upper, power, quarter."),
        (("qqq",), "No rule is named 'qqq': the families are leaves, comparison, order, boolean, null_test,"),
        (("text: uper",), "No rule is named 'text: uper': near it are text: upper"),
        (("upper", "--predicate", "a = 1"), "RULE and --predicate: give one of them"),
        (("--columns", "a int"), "--columns and --table: they are for --predicate; give it too"),
        (("--predicate", "a = 1"), "--predicate: give its columns either by --columns"),
        (
            ("--predicate", "a = 1", "--columns", "a int", "--table", "t=t"),
            "--predicate: give its columns either by",
        ),
        (
            ("--predicate", "a = 1", "--table", "t=nowhere"),
            "--table t=nowhere: there is no file or directory nowhere.",
        ),
        (("--predicate", "a = 1", "--table", "nowhere"), "--table nowhere: write it as NAME=PATH"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_bad_input_gets_one_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    status, out, err = run("prove", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"skipproof: {sentence}")
    assert err.count("\n") == 1


def test_no_time_at_all_is_bad_usage(run: Run) -> None:
    assert run("prove", "upper", "--seconds", "0")[0] == 2


def test_without_z3_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    needing = (
        "skipproof.proofs",
        "skipproof.commands.proving",
        "oracles.symbolic",
        "pruning.rules.interpreters.solver",
    )
    for name in [name for name in sys.modules if name.startswith(needing)]:
        monkeypatch.delitem(sys.modules, name)
    # A package keeps the modules that were imported from it.
    monkeypatch.delattr("skipproof.commands.proving", raising=False)
    monkeypatch.setitem(sys.modules, "z3", None)
    status, _, err = run("prove", "upper")
    assert (status, err) == (2, "skipproof: Proofs need Z3: run `pip install 'skipproof[proofs]'`.\n")


def test_each_proof_is_of_a_family_and_each_rule_has_a_proof() -> None:
    everything = set(select(None).subjects)
    assert everything == {(family, subject) for family in SUBJECTS for subject in SUBJECTS[family]}
    of_families = [pair for family in SUBJECTS for pair in select(family).subjects]
    assert sorted(of_families) == sorted(everything)
    assert all(select(name).subjects for name in RULE_NAMES)


def test_a_name_of_a_rule_and_of_a_family_means_the_same_proofs() -> None:
    both = set(RULE_NAMES) & set(SUBJECTS)
    assert both
    for name in both:
        assert family_of(RULE_NAMES[name]) == name
        of_rule = catalogue._of_rule(RULE_NAMES[name])
        assert of_rule.subjects == select(name).subjects


def test_names_are_read_as_people_write_them() -> None:
    assert select("Date-Trunc").rules == select("date_trunc").rules
    assert select(" UPPER ").subjects == select("upper").subjects


def test_rules_state_their_claims_and_premises() -> None:
    statement = next(part for part in statements(RULE_NAMES["date_trunc"]) if part.part == "range")
    assert statement.claim == "Each row's value lies in the range; rows on which it raises have none."
    assert statement.premises.startswith("Axiom ZONES; ")
    assert all(list(statements(key)) for key in RULES if key is not RULE_NAMES["opaque"])


def test_each_axiom_that_is_printed_is_documented_with_its_test() -> None:
    _, _, text = PROPERTIES.read_text(encoding="utf-8").partition("## Axioms")
    rows = [
        line.split("|")[1] for line in text.partition("## Rules")[0].splitlines() if line.startswith("| ")
    ]
    documented = {name.strip() for row in rows for name in row.split(",")}
    assert set(AXIOMS) <= documented


class TestPredicates:
    """Predicates in SQL, which Spark parses in the tests' session."""

    @pytest.fixture
    def run(self, run: Run, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
        """Runs `skipproof ARGUMENTS` in this process, and in the tests' session."""

        @contextmanager
        def this_session(settings: object = None) -> Iterator[Any]:
            yield spark

        monkeypatch.setattr("skipproof.sessions.spark_session", this_session)
        return run

    def test_the_program_of_a_predicate_is_proved(self, run: Run) -> None:
        predicate = "if(unit = 'feet', altit * 0.3048D, altit) > 1500"
        columns = "unit string, altit double, extra map<int, int>"
        status, out, err = run("prove", "--predicate", predicate, "--columns", columns, "--json")
        assert (status, err) == (HELD, "")
        document = json.loads(out)
        (proof,) = document["proofs"]
        assert (proof["verdict"], proof["claims"]) == ("proved", 3)
        assert "0.3048" in proof["sql"]
        assert "ROUNDING" in document["axioms"]
        assert proof["mutants"]["JoinsInwards"] == "refuted"

    def test_the_columns_may_be_those_of_a_file(self, run: Run, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "t.parquet")
        table = f"t={tmp_path / 't.parquet'}"
        status, out, _ = run("prove", "--predicate", "a > 1 AND s LIKE 'x%'", "--table", table)
        assert status == HELD
        assert "1 of 1 proved" in out

    def test_a_wrong_program_is_a_violation(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        break_rule(monkeypatch, "> without NaN")
        status, out, _ = run("prove", "--predicate", "x > y", "--columns", "x double, y double")
        assert status == VIOLATED
        assert "may be TRUE: REFUTED: [" in out

    @pytest.mark.parametrize(
        ("predicate", "columns", "sentence"),
        [
            ("b = 1", "a int", "The predicate 'b = 1' names the column `b`, but the columns are `a`."),
            ("a = 1", "a innt", "--columns a innt: write it as in CREATE TABLE"),
            ("a = 1 AS c", "a int", "The predicate 'a = 1 AS c' has an alias; leave it out."),
            ("rand() > 0.5", "a int", "The predicate 'rand() > 0.5' is not deterministic"),
            ("a", "a int", "The predicate 'a' cannot be used"),
        ],
    )
    def test_a_predicate_that_cannot_be_read_gets_one_sentence(
        self, run: Run, predicate: str, columns: str, sentence: str
    ) -> None:
        status, out, err = run("prove", "--predicate", predicate, "--columns", columns)
        assert (status, out) == (2, "")
        assert err.startswith(f"skipproof: {sentence}")
        assert err.count("\n") == 1
