"""DML-4: MERGE through a plan gives the rows, and inserts the rows, that MERGE gives."""

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from merging import Merge, is_right, merges, plan
from searches import find

from pruning.errors import InputError
from pruning.expressions.types import BYTE, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Type, decimal
from pruning.metadata.table.schema import arrow_type
from pruning.techniques.dml import source_keys
from pruning.techniques.dml.rewriting import Clause, Fate, Sizes, Then, When, merge
from strategies.base.values import TYPES


@examples(4)
@given(merges())
def test_merge_through_its_plan_gives_what_merge_gives(statement: Merge) -> None:
    """DML-4."""
    planned = plan(statement)
    event(f"fates {sorted(set(planned.fates.tolist()))}")
    event(f"joined {sorted(set(zip(planned.fates.tolist(), planned.joined.tolist(), strict=True)))}")
    assert is_right(statement, planned)


@examples(5)
@given(merges([LONG], conditions=()))
def test_merge_of_keys_alone_gives_what_merge_gives(statement: Merge) -> None:
    """DML-4, where most blocks are decided."""
    assert is_right(statement)


@pytest.mark.parametrize("fate", Fate)
@pytest.mark.parametrize("joined", [False, True])
def test_the_statements_reach_each_fate_of_blocks_read_and_not_read(fate: Fate, joined: bool) -> None:
    """Without this, the properties could hold because every block is read."""

    def reached(statement: Merge) -> bool:
        planned = plan(statement)
        here = (planned.fates == fate) & (planned.joined == joined)
        return any(block and found for block, found in zip(statement.table.blocks, here, strict=True))

    find(merges([LONG], conditions=()), reached, settings=unshrunk(2_000))


@pytest.mark.parametrize("type_", [BYTE, LONG, DOUBLE, STRING, DATE, TIMESTAMP, decimal(10, 2)], ids=str)
@examples(1)
@given(data=st.data())
def test_many_keys_are_enclosed_by_their_ends(type_: Type, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_keys, "MEMBERS_MAX", 1)
        assert is_right(data.draw(merges([type_], conditions=())))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@examples(0.4)
@given(data=st.data())
def test_keys_of_each_type_are_compared_as_spark_does(type_: Type, data: st.DataObject) -> None:
    assert is_right(data.draw(merges([type_], conditions=())))


def test_integers_beyond_the_columns_type_equal_none_of_its_values() -> None:
    found = source_keys.typed_values("a", pa.array([1, 300, None, -129], pa.int64()), BYTE)
    assert found.to_pylist() == [1, None]
    assert source_keys.typed_values("a", pa.array([2**64 - 1, 7], pa.uint64()), LONG).to_pylist() == [7]


@pytest.mark.parametrize("values", [pa.array([1.5]), pa.array(["1"]), pa.array([True]), 3])
def test_keys_of_another_type_are_refused(values: object) -> None:
    with pytest.raises(InputError, match="key `a`"):
        source_keys.typed_values("a", values, LONG)


def test_keys_are_taken_in_any_form_of_their_type() -> None:
    given_ = pa.chunked_array([pa.array(["a"], pa.large_string()), pa.array([], pa.large_string())])
    assert source_keys.typed_values("s", given_, STRING).type == arrow_type(STRING)
    assert source_keys.typed_values("s", [], STRING).to_pylist() == []


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ([], "no clause"),
        ([Clause(when=When.MATCHED, then=Then.INSERT)], "WHEN MATCHED cannot INSERT"),
        ([Clause(when=When.NOT_MATCHED, then=Then.DELETE)], "WHEN NOT MATCHED cannot DELETE"),
    ],
)
def test_statements_that_sql_does_not_know_are_refused(clauses: list[Clause], message: str) -> None:
    with pytest.raises(InputError, match=message):
        merge(Sizes(np.array([1]), np.array([1])), clauses)


def test_exclusions_of_another_number_of_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="`excluded` has 2 lanes"):
        merge(
            Sizes(np.array([1]), np.array([1])),
            [Clause(when=When.MATCHED, then=Then.DELETE)],
            excluded=np.array([True, False]),
        )
