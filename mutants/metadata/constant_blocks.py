"""Single-valued blocks of which one alternative is forgotten."""

from collections.abc import Mapping
from typing import Any

from mutants.replacements import Replacement
from pruning.metadata.views import constant_blocks

_possible_values = constant_blocks._possible_values


def _without_alternative(ordinal: int) -> Replacement:
    def remaining_values(*arguments: Any) -> Any:
        one_value, pairs = _possible_values(*arguments)
        return one_value, [pair for place, pair in enumerate(pairs) if place != ordinal]

    return Replacement(constant_blocks, "_possible_values", remaining_values)


# By the order of the alternatives in `_possible_values`.
MUTANTS: Mapping[str, Replacement] = {
    "NULL forgotten": _without_alternative(1),
    "-0.0 forgotten": _without_alternative(2),
    "NaN forgotten": _without_alternative(3),
}
