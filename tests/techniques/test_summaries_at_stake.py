"""JOIN-6: what a build side's rows cannot exclude is known before they are run."""

import numpy as np
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from joining import Join, bounds_of, column_of, joins, summarised
from searches import find

from mutants.joins.key_summaries import ENCLOSING_MUTANTS
from pruning.expressions.types import INTEGER
from pruning.techniques.join.summaries import summarise


def kept(join: Join) -> np.ndarray:
    """The blocks that no part of the build side would exclude, by all of its values."""
    return summarised(join).kept_by_any_part(bounds_of(join.known, join.table.columns[0]))


def excluded_by_parts(join: Join) -> list[np.ndarray]:
    """The blocks that each part with a value excludes."""
    bounds = bounds_of(join.known, join.table.columns[0])
    each = [summarise(join.types[0], column_of(join, part, 0), bytes_max=10_000) for part in join.parts]
    return [part.excludes(bounds, null_safe=join.null_safe[0]) for part in each if part.value_count]


def is_wrong(join: Join) -> bool:
    """Whether some part excludes a block that none would."""
    return any(bool((kept(join) & excluded).any()) for excluded in excluded_by_parts(join))


@examples(3)
@given(joins())
def test_no_part_excludes_what_none_would(join: Join) -> None:
    """JOIN-6."""
    event(f"kept {bool(kept(join).any())}, excluded {any(part.any() for part in excluded_by_parts(join))}")
    assert not is_wrong(join)


def test_joins_reaches_blocks_of_both_kinds() -> None:
    """Without this, JOIN-6 could hold because no block is kept, or none is excluded."""

    def reached(join: Join) -> bool:
        return bool(kept(join).any()) and any(bool(part.any()) for part in excluded_by_parts(join))

    find(joins([INTEGER]), reached, settings=unshrunk(4_000))


@pytest.mark.parametrize("mutant", ENCLOSING_MUTANTS)
def test_a_block_that_a_part_may_exclude_is_not_called_kept(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JOIN-6 kills each mutant."""
    monkeypatch.setattr(*ENCLOSING_MUTANTS[mutant])
    find(joins([INTEGER]), is_wrong, settings=unshrunk(4_000))
