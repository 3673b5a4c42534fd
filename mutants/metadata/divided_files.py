"""Block metadata of divided files that is wrong in one way each."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.versioned import divided_files

_with_stated_fields = divided_files._with_stated_fields


def _all_stated(lanes: Mapping[str, pa.Array], stated: pa.Array) -> Any:
    return _with_stated_fields(lanes, pa.array([True] * len(stated), pa.bool_()))


MUTANTS: Mapping[str, Replacement] = {
    "a file's counts are those of each part": Replacement(
        divided_files, "_counts_of_parts", lambda counts, file_rows, rows: counts
    ),
    "all that is known is stated": Replacement(divided_files, "_with_stated_fields", _all_stated),
}
