"""Decisions about joins by ranges that are wrong in one way each."""

from collections.abc import Mapping

from mutants.replacements import Replacement
from pruning.spark.drive.join import range_joins, range_unions
from pruning.techniques.join.range_cuts import RangePlan, SideBlocks

_UNCOPIED = {name: reason for name, reason in range_unions._UNCOPIED.items() if name != "PYTHON_UDF"}

# Each joins by ranges what stays as it is, or the other way round: the rows are right, and the costs are not.
DECISION_MUTANTS: Mapping[str, Replacement] = {
    "ranges always pay": Replacement(RangePlan, "pays", lambda self, open_bytes: True),
    "ranges never pay": Replacement(RangePlan, "pays", lambda self, open_bytes: False),
    "a shuffle serves one join": Replacement(range_joins, "serves_others", lambda root, join: False),
    "functions in Python are copied": Replacement(range_unions, "_UNCOPIED", _UNCOPIED),
    "each join is shuffled": Replacement(range_joins, "is_shuffled", lambda query, join: True),
    "the driver has room for any slices": Replacement(range_joins, "_DRIVER_SHARE", 1e-9),
}
# Rows that are lost: Spark pads a cut that is compared with such a column, and not for the other side.
CHAR_MUTANT = Replacement(range_joins, "_CHAR", "no such mark")
# A slice that is larger in memory than what may be broadcast.
SIZE_MUTANT = Replacement(
    SideBlocks, "broadcast_bytes", property(lambda side: side.row_bytes * side.row_counts)
)
# The report has the rows that one range gave, for those of the table.
ROWS_MUTANT = Replacement(range_unions, "attribute_ids", lambda attributes: [])
