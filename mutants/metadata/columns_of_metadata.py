"""Ways to read the metadata of the columns that a predicate names that are wrong in one way each."""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.store import collecting
from pruning.metadata.table.partial import with_columns_read
from pruning.metadata.table.schema import columns_only
from pruning.spark.drive import predicates
from pruning.spark.drive.named_columns import named_columns

with_data_facts = collecting.with_data_facts


def _footers_alone(metadata: pa.Table, listing: Any, columns: Collection[str] | None = None) -> pa.Table:
    return with_data_facts(metadata, listing) if columns is None else metadata


def _by_leaf_names(table: pa.Table, columns: Collection[str]) -> pa.Table:
    return with_columns_read(columns_only(table, list(columns)), columns)


def _without_names_of_functions(spark: Any, predicate: str) -> Collection[str] | None:
    names = named_columns(spark, predicate)
    return None if names is None else frozenset(names) - {"current_user"}


MUTANTS: Mapping[str, Replacement] = {
    "what was indexed is left out": Replacement(collecting, "with_data_facts", _footers_alone),
    "fields of structs are left out": Replacement(collecting, "only_columns", _by_leaf_names),
    "names of functions are no columns": Replacement(
        predicates, "named_columns", _without_names_of_functions
    ),
}
