"""The subjects of all proofs, by family of rules and by name.

A rule uses nothing of its operands but their ranges (and narrows columns that stand alone), so a
proof over columns of any range is a proof over any operands.
"""

from collections.abc import Mapping

from pruning.expressions.trees import Expression
from skipproof.proofs.subjects import numbers, predicates, text, time

# The order in which the families are documented.
_ORDER = (
    "leaves",
    "comparison",
    "order",
    "boolean",
    "null_test",
    "membership",
    "patterns",
    "text",
    "time",
    "fields",
    "date_fields",
    "quantifiers",
    "conditional",
    "arithmetic",
    "cast",
    "magnitude",
    "rounding",
    "elementary",
    "extremes",
)
_FAMILIES = {**predicates.SUBJECTS, **text.SUBJECTS, **time.SUBJECTS, **numbers.SUBJECTS}

SUBJECTS: Mapping[str, Mapping[str, Expression]] = {family: _FAMILIES[family] for family in _ORDER}
