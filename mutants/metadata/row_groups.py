"""Ways to read some row groups of files that are wrong in one way each."""

from collections.abc import Callable, Mapping

from mutants.replacements import Replacement
from pruning.spark.drive.leaf_tables import LeafTables
from pruning.spark.jvm import compiling
from pruning.spark.lake import row_groups

_source_of = compiling.source_of


def _changed(text: str, wrong: str) -> Callable[[str, str], str]:
    """Return a function that gives sources of Java classes with one text in the place of another."""
    return lambda name, package: _source_of(name, package).replace(text, wrong)


MUTANTS: Mapping[str, Replacement] = {
    "Parquet's reader is not asked": Replacement(
        compiling, "source_of", _changed("return isRead(parts, file, configuration)", "return true")
    ),
    "pieces overlap": Replacement(
        compiling,
        "source_of",
        _changed("{starts[first], starts[i + 1],", "{starts[first], starts[starts.length - 1],"),
    ),
    "the last row group is left out": Replacement(
        compiling, "source_of", _changed("(readers[i] == DROPPED)", "(readers[i] == DROPPED || i == 9)")
    ),
    "a piece is read from the start of its file": Replacement(
        compiling, "source_of", _changed("part, triples[k], file.getLen()", "part, 0L, file.getLen()")
    ),
    "columns that are not read have conditions": Replacement(
        compiling, "source_of", _changed("if (!names.contains(references[i]))", "if (false)")
    ),
    "a piece is a file": Replacement(
        compiling, "source_of", _changed("Long.valueOf(whole.getLen())", "Long.valueOf(end - start)")
    ),
    "row groups that are not read have rows": Replacement(
        LeafTables, "_read_named", lambda tables, row_groups, *question: tables._blocks.read(*question)
    ),
    "nothing is rounded": Replacement(row_groups, "_ROUNDED", ()),
    "bounds hold NaN": Replacement(row_groups, "_may_lose_rows", lambda condition, pushed: False),
}
