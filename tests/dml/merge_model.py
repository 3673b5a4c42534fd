"""MERGE over rows in plain Python, and tables of both formats that other readers read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform

from pruning.dml import Then, When, WhenClause, WriteMode

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("p", pa.int64())])
FORMATS = ("delta", "iceberg")


class Row(NamedTuple):
    """A row of the table or of the source: a key, a value and a partition."""

    k: int | None
    v: int | None
    p: int | None


# A row of the table and one of the source, of which one may be missing.
Pair = tuple[Row | None, Row | None]


@dataclass(frozen=True)
class Expression:
    """An expression in Spark SQL, and the same in Python, where a TypeError is NULL."""

    sql: str
    python: Callable[[Any, Any], Any]

    def value(self, pair: Pair) -> Any:
        """Return its value for a pair."""
        try:
            return self.python(*pair)
        except TypeError:
            return None


@dataclass(frozen=True)
class ModelClause:
    """A WHEN clause; `values` of None is `*`."""

    when: When
    then: Then
    condition: Expression | None = None
    values: tuple[tuple[str, Expression], ...] | None = None

    @property
    def clause(self) -> WhenClause:
        """The clause, as `merge` takes it."""
        values: Any = "*" if self.values is None else {name: value.sql for name, value in self.values}
        return WhenClause(
            when=self.when,
            then=self.then,
            condition=self.condition.sql if self.condition else None,
            values=None if self.then is Then.DELETE else values,
        )

    def applies(self, pair: Pair) -> bool:
        """Tell whether the clause applies to a pair of its kind."""
        return self.condition is None or self.condition.value(pair) is True

    def row(self, pair: Pair) -> Row | None:
        """Return the row that it makes of a pair; None if there is none then."""
        target, source = pair
        if self.then is Then.DELETE:
            return None
        if self.values is None:
            return source
        values = {name: value.value(pair) for name, value in self.values}
        return Row(**(target._asdict() if target else dict.fromkeys(Row._fields)) | values)


class SeveralMatches(Exception):
    """Several rows of the source would change a row."""


def merged_rows(
    rows: Sequence[Row], source: Sequence[Row], clauses: Sequence[ModelClause], on: Expression | None
) -> list[Row]:
    """Return the rows of a table after a MERGE by the keys `k`.

    Raises:
        SeveralMatches: as the class says.
    """

    def is_match(target: Row, other: Row) -> bool:
        has_equal_keys = target.k is not None and target.k == other.k
        return has_equal_keys and (on is None or on.value((target, other)) is True)

    def first(when: When, pair: Pair) -> ModelClause | None:
        return next((clause for clause in clauses if clause.when is when and clause.applies(pair)), None)

    matched = [clause for clause in clauses if clause.when is When.MATCHED]
    only_deletes = [(clause.then, clause.condition) for clause in matched] == [(Then.DELETE, None)]
    new: list[Row | None] = []
    for target in rows:
        pairs: list[Pair] = [(target, other) for other in source if is_match(target, other)]
        when = When.MATCHED if pairs else When.NOT_MATCHED_BY_SOURCE
        changes = [(first(when, pair), pair) for pair in pairs or [(target, None)]]
        applied = [(clause, pair) for clause, pair in changes if clause]
        if len(applied) > 1 and not only_deletes:
            raise SeveralMatches
        new.append(applied[0][0].row(applied[0][1]) if applied else target)
    for other in source:
        insert = first(When.NOT_MATCHED, (None, other))
        if insert and not any(is_match(target, other) for target in rows):
            new.append(insert.row((None, other)))
    return [row for row in new if row is not None]


def _e(sql: str, python: Callable[[Any, Any], Any]) -> Expression:
    return Expression(sql, python)


_SUM = _e("target.v + source.v", lambda t, s: t.v + s.v)
_NOT_NULL = _e("source.v IS NOT NULL", lambda t, s: s.v is not None)
_NEXT_P = _e("target.p + 1", lambda t, s: t.p + 1)
ON = (
    None,
    _e("target.p < 2 AND source.v > 1", lambda t, s: _and(_less(t.p, 2), _less(1, s.v))),
    _e("target.v <= 3", lambda t, s: _less(t.v, 4)),
)
_CONDITIONS = {
    When.MATCHED: (
        None,
        _NOT_NULL,
        _e("target.v > 2", lambda t, s: _less(2, t.v)),
        _e("target.p < 1 AND source.v < target.v", lambda t, s: _and(_less(t.p, 1), _less(s.v, t.v))),
    ),
    When.NOT_MATCHED: (None, _NOT_NULL, _e("source.k > 3", lambda t, s: _less(3, s.k))),
    When.NOT_MATCHED_BY_SOURCE: (
        None,
        _e("target.p = 0", lambda t, s: t.p == 0),
        _e("target.k > 2 OR v IS NULL", lambda t, s: t.v is None or _less(2, t.k)),
    ),
}
_VALUES = {
    (When.MATCHED, Then.UPDATE): (
        None,
        (("v", _SUM),),
        (("p", _NEXT_P), ("v", _e("source.v", lambda t, s: s.v))),
    ),
    (When.NOT_MATCHED, Then.INSERT): (
        None,
        (("k", _e("k", lambda t, s: s.k)), ("p", _e("1", lambda t, s: 1))),
    ),
    (When.NOT_MATCHED_BY_SOURCE, Then.UPDATE): (
        (("v", _e("-v", lambda t, s: -t.v)),),
        (("p", _NEXT_P),),
    ),
    (When.MATCHED, Then.DELETE): (None,),
    (When.NOT_MATCHED_BY_SOURCE, Then.DELETE): (None,),
}


def _less(left: int | None, right: int | None) -> bool | None:
    return None if left is None or right is None else left < right


def _and(left: bool | None, right: bool | None) -> bool | None:
    return False if left is False or right is False else left and right


def model_clauses() -> st.SearchStrategy[list[ModelClause]]:
    """Clauses of all kinds, in any order, each of which can apply. Shrinks to: one, without condition."""

    def of_kind(kind: tuple[When, Then]) -> st.SearchStrategy[ModelClause]:
        return st.builds(
            ModelClause,
            st.just(kind[0]),
            st.just(kind[1]),
            st.sampled_from(_CONDITIONS[kind[0]]),
            st.sampled_from(_VALUES[kind]),
        )

    clauses = st.lists(st.sampled_from(list(_VALUES)).flatmap(of_kind), min_size=1, max_size=4)
    return clauses.map(_reachable)


def _reachable(clauses: list[ModelClause]) -> list[ModelClause]:
    """Return clauses without those behind one of their kind that has no condition."""
    return [
        clause
        for place, clause in enumerate(clauses)
        if all(other.when is not clause.when or other.condition for other in clauses[:place])
    ]


def rows(max_size: int, keys: st.SearchStrategy[int | None]) -> st.SearchStrategy[list[Row]]:
    """Rows of small numbers and NULLs."""
    small = st.sampled_from((0, 1, 2, 3, 5, None))
    return st.lists(st.builds(Row, keys, small, st.sampled_from((0, 1, None))), max_size=max_size)


def target_files() -> st.SearchStrategy[list[list[Row]]]:
    """The rows of a table's files, with keys near each other in each file."""
    files = [rows(3, st.sampled_from((low, low + 1, None))) for low in (0, 2, 4, 60)]
    return st.tuples(*files).map(lambda parts: [part for part in parts if part])


def arrow_rows(values: Sequence[Row]) -> pa.Table:
    """Return rows as an Arrow table."""
    return pa.Table.from_pylist([row._asdict() for row in values], schema=SCHEMA)


class ModelTable:
    """A table of either format.

    Attributes:
        handle: The table as statements take it.
    """

    def __init__(
        self,
        folder: Path,
        format_: str,
        files: Sequence[Sequence[Row]],
        *,
        is_partitioned: bool = False,
        transform: Transform[Any, Any] | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._folder, self._is_delta = folder, format_ == "delta"
        if self._is_delta:
            self.handle: Any = str(folder / "delta")
            vectors = {"delta.enableDeletionVectors": "true"}
            for part in ((), *files):
                write_deltalake(
                    self.handle,
                    arrow_rows(part),
                    mode="append",
                    partition_by=["p"] if is_partitioned else None,
                    configuration={**vectors, **(properties or {})} if part == () else None,
                )
            return
        catalog = SqlCatalog("m", uri=f"sqlite:///{folder}/m.db?timeout=60", warehouse=f"file://{folder}")
        catalog.create_namespace_if_not_exists("db")
        self.handle = catalog.create_table(
            "db.t", SCHEMA, properties={"format-version": "2", **(properties or {})}
        )
        if is_partitioned:
            with self.handle.update_spec() as update:
                update.add_field("p", transform or BucketTransform(2), "by_p")
                update.add_field("k", IdentityTransform(), "by_k")
        for part in files:
            if part:
                self.handle.append(arrow_rows(part))

    @property
    def version(self) -> Any:
        """The newest version."""
        if self._is_delta:
            return DeltaTable(self.handle).version()
        return self.handle.refresh().current_snapshot() and self.handle.current_snapshot().snapshot_id

    @property
    def rows(self) -> list[Row]:
        """The rows, as delta-rs or PyIceberg reads them, in an order that depends on them alone."""
        if self._is_delta:
            query = QueryBuilder().register("t", DeltaTable(self.handle)).execute("SELECT k, v, p FROM t")
            table = pa.table(query.read_all())
        else:
            table = self.handle.refresh().scan().to_arrow()
        return in_order(Row(*row.values()) for row in table.select(list(Row._fields)).to_pylist())


def in_order(values: Any) -> list[Row]:
    """Return rows in an order that depends on them alone."""
    return sorted(values, key=lambda row: [(value is None, value or 0) for value in row])


MODES = tuple(WriteMode)
