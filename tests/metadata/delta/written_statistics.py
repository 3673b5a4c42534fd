"""Columns of a table of Delta Lake whose writers lose a part of what their statistics are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

from delta_logs import WrittenLog, add, column, inline, metadata, protocol, struct_of
from hypothesis import strategies as st
from stated_statistics import stated_bounds, statistics_json

# The types of columns, as schemas name them.
DECIMALS = ("decimal(9,2)", "decimal(38,2)")
TYPES = (
    "long",
    "byte",
    "double",
    "float",
    "string",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    *DECIMALS,
)


@dataclass(frozen=True, kw_only=True)
class WrittenRows:
    """The rows of a data file, and how its statistics were written.

    Attributes:
        rows: Values as the rules have them, with None.
        alive: Which rows no deletion vector deletes.
        writer: The habit of the writer, one of those in `_WRITERS_OF`.
        is_fresh: True if statistics are of the rows that are left.
        tight: The statistic `tightBounds`; None if it is left out.
        is_counted: False if the writer left out the number of rows.
    """

    rows: tuple[Any, ...]
    alive: tuple[bool, ...]
    writer: str = "exact"
    is_fresh: bool = False
    tight: bool | None = None
    is_counted: bool = True

    @property
    def live_rows(self) -> list[Any]:
        return [row for row, alive in zip(self.rows, self.alive, strict=True) if alive]

    def add(self, name: str, type_: str, *, is_nested: bool) -> dict[str, Any]:
        """Return the action that adds the file with a column `v`, or a field `v` of a struct `s`."""
        measured = self.live_rows if self.is_fresh else list(self.rows)
        nulls = measured.count(None)
        if is_nested and self.writer == "rust":
            # Some writers count only NULLs in structs that are none themselves.
            nulls = 0
        bounds = stated_bounds([value for value in measured if value is not None], type_, self.writer)
        stats: dict[str, Any] = {"numRecords": len(self.rows)} if self.is_counted else {}
        if self.tight is not None:
            stats["tightBounds"] = self.tight
        for key, value in (("minValues", bounds[0]), ("maxValues", bounds[1]), ("nullCount", nulls)):
            part = {} if value is None else {"v": value}
            stats[key] = {"s": part} if is_nested else part
        dead = [place for place, alive in enumerate(self.alive) if not alive]
        vector = {"deletionVector": inline(dead)} if dead else {}
        return add(name, statistics_json(stats), **vector)


def write_table(
    root: Path, type_: str, files: Sequence[WrittenRows], *, is_nested: bool = False
) -> WrittenLog:
    """Write the log of a table of one column `v`, or a struct `s` of it, and of these files."""
    field = column("v", type_)
    log = WrittenLog(root)
    adds = [file.add(str(place), type_, is_nested=is_nested) for place, file in enumerate(files)]
    fields = column("s", struct_of(field)) if is_nested else field
    return log.commit(protocol(3, "deletionVectors", "timestampNtz"), metadata(fields), *adds)


def _long_decimal(start: int, end: int) -> Decimal:
    """Return a decimal of more digits than a double has."""
    return Decimal(start * 10**16 + end).scaleb(-2, Context(prec=40))


_UNITS = ("a", "b", "?", "é", "\uffff", "\U0001f600")
_TEXTS = st.one_of(
    st.text(st.sampled_from(_UNITS), max_size=3).map(str.encode),
    st.builds(lambda start, end: b"x" * start + end, st.integers(30, 33), st.binary(max_size=3)),
)
_TIMES = st.one_of(st.integers(-3000, 3000), st.integers(-2_100_000_000_000_000, 4_000_000_000_000_000))
_SINGLES = st.floats(width=32)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "long": st.integers(-(1 << 63), (1 << 63) - 1),
    "byte": st.integers(-128, 127),
    "double": st.floats(),
    "float": _SINGLES,
    "string": _TEXTS,
    "boolean": st.booleans(),
    "date": st.integers(-100_000, 100_000),
    "timestamp": _TIMES,
    "timestamp_ntz": _TIMES,
    "decimal(9,2)": st.integers(-(10**9) + 1, 10**9 - 1).map(lambda value: Decimal(value).scaleb(-2)),
    "decimal(38,2)": st.builds(_long_decimal, st.integers(-(10**12), 10**12), st.integers(0, 10**15)),
}


# The writers whose habits matter to a type.
_WRITERS_OF = {
    "string": ("cutting", "exact", "spark", "spark 2"),
    "double": ("spark 2", "exact", "spark", "rust"),
    "float": ("spark 2", "exact", "spark", "rust"),
    "timestamp": ("toward zero", "exact", "local"),
    "timestamp_ntz": ("toward zero", "exact", "rust"),
}
_OTHER_WRITERS = ("rust", "exact")


@st.composite
def written_rows(draw: st.DrawFn, type_: str) -> WrittenRows:
    """A file of rows whose statistics are those of a writer, or of rows that are deleted since.

    Shrinks to: fewer rows, none deleted.
    """
    rows = tuple(draw(st.lists(st.none() | _VALUES[type_], max_size=4)))
    dead = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    is_fresh = draw(st.booleans())
    return WrittenRows(
        rows=rows,
        alive=tuple(not is_dead for is_dead in dead),
        writer=draw(st.sampled_from(_WRITERS_OF.get(type_, _OTHER_WRITERS))),
        is_fresh=is_fresh,
        tight=draw(st.sampled_from((None, True, False) if is_fresh or not any(dead) else (None, False))),
        is_counted=any(dead) or draw(st.booleans()),
    )


@st.composite
def written_columns(draw: st.DrawFn, types: Sequence[str] = TYPES) -> tuple[str, list[WrittenRows]]:
    """One of some types, and files with a column of it. Shrinks to: one file."""
    type_ = draw(st.sampled_from(types))
    return type_, draw(st.lists(written_rows(type_), min_size=1, max_size=3))
