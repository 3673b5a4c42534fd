"""PROP-1 to PROP-4: verdicts on metadata alone, against a second opinion in plain Python.

No Spark is asked here, so that many cases can be; `test_oracle.py` asks Spark the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from searches import find

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import Expression, Mode
from pruning.metadata.views.lanes import Blocks
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Input
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks, compile_predicate
from strategies.base.layouts import tables
from strategies.base.metadata import metadata, metadata_pairs
from strategies.base.tables import Block, Table
from strategies.base.values import TYPES
from strategies.predicates.predicates import predicates

MODES = tuple(Mode)


@dataclass(frozen=True, slots=True)
class Case:
    """A table, a predicate over it, and block metadata that is true of it."""

    table: Table
    predicate: Expression
    metadata: pa.Table


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases of any type; shrink to one column and one comparison."""
    table = draw(tables())
    predicate = draw(predicates(table, max_leaves=8, modes=MODES))
    return Case(table, predicate, draw(metadata(table)))


def answers(table: Table, block: Block, predicate: Expression) -> list[object]:
    """The predicate's truth on each row of a block on which it does not raise, as far as it is known."""
    truths: list[object] = []
    for row in block:
        try:
            truths.append(evaluate(predicate, table.as_mapping(row)))
        except (Overflow, NoSecondOpinion):  # releases of Spark or Java differ on a few values
            continue
    return truths


def verdicts(predicate: Expression, known: pa.Table) -> list[Match]:
    """The verdict on each block."""
    return [Match(code) for code in classify_blocks(predicate, known).to_pylist()]


@examples(8)
@given(cases())
def test_no_block_called_none_holds_a_matching_row(case: Case) -> None:
    """PROP-1."""
    for block, verdict in zip(case.table.blocks, verdicts(case.predicate, case.metadata), strict=True):
        event(f"verdict {verdict.name}")
        if verdict is Match.NONE:
            assert True not in answers(case.table, block, case.predicate)


@examples(8)
@given(cases())
def test_each_block_called_all_holds_only_matching_rows(case: Case) -> None:
    """PROP-2."""
    for block, verdict in zip(case.table.blocks, verdicts(case.predicate, case.metadata), strict=True):
        if verdict is Match.ALL:
            assert block
            assert set(answers(case.table, block, case.predicate)) <= {True}


@examples(8)
@given(st.data())
def test_weaker_metadata_never_makes_a_verdict_bolder(data: st.DataObject) -> None:
    """PROP-3. What weak metadata proves, strong metadata of the same rows proves too.

    Strong metadata may tell NONE where weak metadata tells ALL: where no row has an answer, because each
    one raises, both hold.
    """
    table = data.draw(tables())
    predicate = data.draw(predicates(table, max_leaves=8, modes=MODES))
    strong, weak = data.draw(metadata_pairs(table))
    both = zip(verdicts(predicate, strong), verdicts(predicate, weak), strict=True)
    for block, (bold, timid) in zip(table.blocks, both, strict=True):
        if (bold, timid) == (Match.NONE, Match.ALL):
            assert not answers(table, block, predicate)
        else:
            assert timid in (Match.SOME, bold)


def input_cells(inputs: dict[Input, pa.Array], block: int) -> dict[Input, object]:
    """What a program asks of one block, as exact Python values."""
    cells: dict[Input, object] = {}
    for input_, lanes in inputs.items():
        cell = lanes[block].as_py()
        is_boolean = input_.type is not None and input_.type.kind.value == "boolean"
        cells[input_] = bool(cell) if is_boolean and cell is not None else cell
    return cells


@examples(8)
@given(cases())
def test_the_arrow_and_the_exact_interpreter_agree(case: Case) -> None:
    """PROP-4. On whole programs, block by block."""
    program = compile_predicate(case.predicate)
    inputs = dict(Blocks.of(case.metadata).inputs(program, 0, case.metadata.num_rows))
    plain = classify_blocks(case.predicate, case.metadata, refined=False).to_pylist()
    for block, verdict in enumerate(plain):
        may_true, may_false, may_null = exact.run(program, input_cells(inputs, block))
        always = may_true and not may_false and not may_null
        assert verdict == (Match.ALL if always else Match.SOME if may_true else Match.NONE)


@pytest.mark.parametrize("verdict", Match)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_cases_reach_each_verdict_in_each_type(verdict: Match, type_: object) -> None:
    """Without this, PROP-1 to PROP-4 could hold because nothing is ever pruned."""

    @st.composite
    def of_type(draw: st.DrawFn) -> tuple[Table, Sequence[Match]]:
        table = draw(tables([type_], max_rows=2))
        predicate = draw(predicates(table, max_leaves=2))
        return table, verdicts(predicate, draw(metadata(table)))

    def reached(drawn: tuple[Table, Sequence[Match]]) -> bool:
        table, found = drawn
        return any(block and one is verdict for block, one in zip(table.blocks, found, strict=True))

    # Any such case will do, so none is made smaller.
    generate = settings(max_examples=2_000, database=None, phases=[Phase.generate])
    find(of_type(), reached, settings=generate)
