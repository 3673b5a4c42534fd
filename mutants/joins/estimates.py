"""Wrong estimates of what a join can exclude, and wrong reuse of what was derived before."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions.plans import Plan
from pruning.expressions.trees import Expression
from pruning.spark.drive import range_filters
from pruning.spark.drive.queries import Query
from pruning.spark.jvm.gateway import Java
from pruning.techniques.join import costs
from pruning.techniques.plan.keys import KeyBounds

_wide_blocks, _places_of_texts, _is_dense = costs.wide_blocks, costs._places_of_texts, costs.is_dense


def _nothing_is_wide(bounds: KeyBounds) -> np.ndarray:
    nowhere: np.ndarray = np.zeros(len(bounds), bool)
    return nowhere


def _a_single_block_is_wide(bounds: KeyBounds) -> np.ndarray:
    return np.ones(1, bool) if len(bounds) == 1 else _wide_blocks(bounds)


def _unknown_is_wide(bounds: KeyBounds) -> np.ndarray:
    is_known: np.ndarray = bounds.lower.is_valid().to_numpy(zero_copy_only=False)
    wide: np.ndarray = _wide_blocks(bounds) | ~is_known
    return wide


def _with_first_bytes(lanes: pa.Array, start: int) -> np.ndarray:
    return _places_of_texts(lanes, 0)


WIDTH_MUTANTS: Mapping[str, Replacement] = {
    "_nothing_is_wide": Replacement(costs, "wide_blocks", _nothing_is_wide),
    "_a_single_block_is_wide": Replacement(costs, "wide_blocks", _a_single_block_is_wide),
    "_unknown_is_wide": Replacement(costs, "wide_blocks", _unknown_is_wide),
    "_with_first_bytes": Replacement(costs, "_places_of_texts", _with_first_bytes),
    "_half_is_wide": Replacement(costs, "WIDE_MIN", 0.4),
}


def _with_all_blocks(bounds: KeyBounds, keep: np.ndarray, rows: int) -> bool:
    """Take the range of blocks that are not read, too."""
    return _is_dense(bounds, np.ones(len(keep), bool), rows)


DENSITY_MUTANTS: Mapping[str, Replacement] = {
    "never": Replacement(costs, "is_dense", lambda bounds, keep, rows: False),
    "of all blocks": Replacement(costs, "is_dense", _with_all_blocks),
    "with fewer rows": Replacement(
        costs, "is_dense", lambda bounds, keep, rows: _is_dense(bounds, keep, rows + 1)
    ),
}


def _without_metadata(
    metadata: pa.Table, keep: np.ndarray, inside: np.ndarray, conditions: Sequence[Expression | None]
) -> tuple[object, ...]:
    return (keep.tobytes(), inside.tobytes(), tuple(conditions))


def _without_kept(
    metadata: pa.Table, keep: np.ndarray, inside: np.ndarray, conditions: Sequence[Expression | None]
) -> tuple[object, ...]:
    return (id(metadata), inside.tobytes(), tuple(conditions))


def _without_files(
    metadata: pa.Table, keep: np.ndarray, inside: np.ndarray, conditions: Sequence[Expression | None]
) -> tuple[object, ...]:
    return (id(metadata), keep.tobytes(), tuple(conditions))


def _without_conditions(
    metadata: pa.Table, keep: np.ndarray, inside: np.ndarray, conditions: Sequence[Expression | None]
) -> tuple[object, ...]:
    return (id(metadata), keep.tobytes(), inside.tobytes())


# A range filter of another state of the scan would lose rows.
DERIVED_MUTANTS: Mapping[str, Replacement] = {
    mutant.__name__: Replacement(range_filters, "_state_of_files", mutant)
    for mutant in (_without_metadata, _without_kept, _without_files, _without_conditions)
}


def materialise_and_keep_nodes(self: Query, plan: Plan, leaf: Java, *, row_count: int) -> None:
    """Hold the rows of a part, whose scans stay among those that are narrowed and run."""
    self.materials[plan] = leaf
    self.row_counts[plan] = row_count
