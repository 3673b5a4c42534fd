"""The committed sets: tables and predicates over them, drawn once and kept as data.

One has numbers and comparisons, the other text and time, each table under a session's time zone. They are
kept
so that figures of two versions of the rules come from the same cases; `bench/draw_set.py` draws them anew. A
line of a file is a table with its predicates.

"""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pruning.expressions.trees import Expression
from strategies.base.codec import decode, decode_table, encode, encode_table
from strategies.base.data_files import data_file
from strategies.base.metadata import BlockFacts, Facts, exact_facts
from strategies.base.tables import Table

PATH = data_file("committed_set.jsonl.gz")
TEXT_AND_TIME_PATH = data_file("text_and_time_set.jsonl.gz")


@dataclass(frozen=True, slots=True)
class TableCases:
    """A table and predicates over it.

    Attributes:
        footer: True if metadata is as a Parquet footer has it.
        zone: The session's time zone, which the meaning of the predicates depends on.
    """

    table: Table
    predicates: tuple[Expression, ...]
    footer: bool
    zone: str = "UTC"

    @property
    def facts(self) -> Facts:
        """The table's block metadata: exact, except for the counts of NaN that no footer has."""
        facts = exact_facts(self.table)
        return tuple(map(_as_footer, facts)) if self.footer else facts


def read(path: Path = PATH, *, every: int = 1) -> Iterator[TableCases]:
    """Read the set, or each `every`-th table of it, in order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for ordinal, line in enumerate(lines):
            if ordinal % every == 0:
                stored = json.loads(line)
                predicates = tuple(decode(predicate) for predicate in stored["predicates"])
                yield TableCases(
                    decode_table(stored), predicates, stored["footer"], stored.get("zone", "UTC")
                )


def write(cases: Iterable[TableCases], path: Path = PATH) -> None:
    """Write the set; equal sets give equal files."""
    lines = (
        json.dumps(
            encode_table(case.table)
            | {"footer": case.footer, "zone": case.zone}
            | {"predicates": [encode(predicate) for predicate in case.predicates]},
            separators=(",", ":"),
        )
        for case in cases
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0))


def _as_footer(block: BlockFacts) -> BlockFacts:
    return replace(block, columns=tuple(replace(column, nan_count=None) for column in block.columns))
