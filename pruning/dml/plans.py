"""Planning of DELETE, UPDATE and MERGE over Parquet files: the row groups that must be rewritten ([P] 7).

Nothing is written here. A plan tells which files stay, which can be dropped unread, and what to do with each
row group of the others. Conditions are Spark SQL over the target's columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.arguments import check_choice, check_flag, check_sequence, check_text, describe_value
from pruning.errors import InputError
from pruning.expressions.trees import Column
from pruning.metadata.files.listing import Paths
from pruning.metadata.footers.other_columns import other_columns_of
from pruning.metadata.pages.page_blocks import is_by_pages
from pruning.metadata.table.schema import column_types
from pruning.rules.sets.truths import Match
from pruning.spark.drive.predicates import blocks_of, classify, parse
from pruning.techniques.dml import rewriting
from pruning.techniques.dml.rewriting import BlockTotals, Condition, Fate, Rewriting, Sizes, Then, When
from pruning.techniques.dml.source_keys import may_equal
from pruning.techniques.plan.raising import may_raise
from pruning.verdicts.classification import classify_blocks

# The source's key columns, by the target's names: arrays, an Arrow table, or a Spark DataFrame.
Keys: TypeAlias = Mapping[str, Any] | pa.Table | Any

_FATES = {Fate.UNTOUCHED: "untouched", Fate.DELETED: "deleted", Fate.REWRITTEN: "rewritten"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """One WHEN clause of MERGE.

    Attributes:
        when: The rows that it applies to.
        then: The action on these rows.
        condition: The part of its AND over the target's columns alone, in SQL; None if there is none.
        more: Whether its AND has other parts, such as one over the source's columns.
    Raises:
        InputError: an argument is of another type.
    """

    when: When
    then: Then
    condition: str | None = None
    more: bool = False

    def __post_init__(self) -> None:
        check_choice("when", self.when, When)
        check_choice("then", self.then, Then)
        if self.condition is not None:
            check_text("condition", self.condition)
        check_flag("more", self.more)


@dataclass(frozen=True, eq=False, kw_only=True)
class RewritePlan:
    """The effect of a statement on files and row groups.

    Attributes:
        statement: "DELETE", "UPDATE" or "MERGE".
        blocks: The fate of each row group, in the metadata's order.
        metadata: The block metadata that the plan was made from.
    """

    statement: str
    blocks: Rewriting
    metadata: pa.Table

    @cached_property
    def row_groups(self) -> pa.Table:
        """The row groups as a table: file, row_group, row_count, byte_count, fate, joined, whole.

        `fate` is untouched (copy it if its file is rewritten), deleted (leave it out, unread) or
        rewritten (test each row, or none if `whole`, because all of them change). `joined`, for MERGE,
        means that the row group must be read for the join with the source, whatever its fate.
        """
        fates = pa.array(list(_FATES.values())).take(pa.array(self.blocks.fates))
        located = self.metadata.select(["file", "row_group", "row_count", "byte_count"])
        for name, lanes in (("fate", fates), ("joined", self.blocks.joined), ("whole", self.blocks.whole)):
            located = located.append_column(name, pa.array(lanes))
        return located

    @cached_property
    def files(self) -> dict[str, str]:
        """The fate of each file, in the metadata's order.

        A file is untouched or deleted if all its row groups are, else rewritten.
        """
        rows_with_place = self.row_groups.append_column("place", pa.array(range(self.row_groups.num_rows)))
        grouped = rows_with_place.group_by("file").aggregate(
            [("fate", "min"), ("fate", "max"), ("place", "min")]
        )
        # Arrow gives the groups in an order that depends on the hashes of the names.
        fates = grouped.sort_by("place_min").to_pydict()
        rows = zip(fates["file"], fates["fate_min"], fates["fate_max"], strict=True)
        return {
            file: least if least == greatest else _FATES[Fate.REWRITTEN] for file, least, greatest in rows
        }

    def files_of(self, fate: Fate) -> tuple[str, ...]:
        """Return the files with one fate, in the metadata's order.

        Raises:
            InputError: it is no `Fate`.
        """
        check_choice("fate", fate, Fate)
        return tuple(file for file, file_fate in self.files.items() if file_fate == _FATES[fate])

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-ready values, without the row groups of untouched and deleted files."""
        rewritten = self.files_of(Fate.REWRITTEN)
        listed = self.row_groups.filter(
            pc.or_(
                pc.is_in(self.row_groups["file"], pa.array(rewritten, pa.string())), self.row_groups["joined"]
            )
        )
        return {
            "statement": self.statement,
            "files": {name: list(self.files_of(fate)) for fate, name in _FATES.items()},
            "row_groups": listed.to_pylist(),
            "totals": {name: _tally_counts(self.blocks.tally(fate)) for fate, name in _FATES.items()},
            "not_read": _tally_counts(self.blocks.unread_totals),
        }

    def __str__(self) -> str:
        lines = [f"{self.statement} over {len(self.files):,} files, {len(self.metadata):,} row groups"]
        for fate, name in _FATES.items():
            lines.append(
                f"  {name:<11}{len(self.files_of(fate)):,} files; {_tally_text(self.blocks.tally(fate))}"
            )
        only_joined = int(self.blocks.joined[self.blocks.fates != Fate.REWRITTEN].sum())
        if only_joined:
            lines.append(f"  {'joined':<11}{only_joined:,} row groups are read only for the join")
        lines.append(f"  {'not read':<11}{_tally_text(self.blocks.unread_totals)}")
        return "\n".join(lines)


def plan_delete(predicate: str, where: pa.Table | Paths) -> RewritePlan:
    """Plan `DELETE ... WHERE predicate`.

    Args:
        predicate: A condition in Spark SQL over the columns' exact names.
        where: One or more Parquet files or directories, or block metadata from `collect`.
    Raises:
        InputError: as `pruning.classify`.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> plan_delete("x > 5", pruning.collect(folder.name)).row_groups["fate"].to_pylist()
        ['untouched', 'deleted']
    """
    metadata = _row_groups_of(where)
    blocks = rewriting.deletion(_sizes(metadata), _classify_condition(predicate, metadata))
    return RewritePlan(statement="DELETE", blocks=blocks, metadata=metadata)


def plan_update(predicate: str, where: pa.Table | Paths) -> RewritePlan:
    """Plan `UPDATE ... SET ... WHERE predicate`; arguments and errors are those of `plan_delete`.

    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> plan_update("x < 2", pruning.collect(folder.name)).row_groups["fate"].to_pylist()
        ['rewritten', 'untouched']
    """
    metadata = _row_groups_of(where)
    blocks = rewriting.update(_sizes(metadata), _classify_condition(predicate, metadata))
    return RewritePlan(statement="UPDATE", blocks=blocks, metadata=metadata)


def plan_merge(
    where: pa.Table | Paths,
    clauses: Sequence[MergeClause],
    *,
    keys: Keys | None = None,
    null_safe: bool = False,
    on: str | None = None,
    on_more: bool = False,
) -> RewritePlan:
    """Plan `MERGE INTO`: the row groups of the target that it rewrites, and those that it reads.

    ON is the conjunction of an equality for each of `keys` with the target's column of that name, of `on`,
    and of other conditions if `on_more`.

    Args:
        where: The target: Parquet files or directories, or block metadata from `collect`.
        clauses: The WHEN clauses in the statement's order; at least one.
        keys: The source's values of each key, NULLs included, by the target's column: Arrow arrays or
            lists, an Arrow table, or a DataFrame, whose distinct values are collected to this process.
        null_safe: Whether the equalities are `<=>`.
        on: The part of ON over the target's columns alone, in Spark SQL; None if there is none.
        on_more: Whether ON has other parts. They may raise, so no block is dropped unread.
    Raises:
        InputError: as `pruning.classify`; or an argument is of another type, there is no clause, a clause
            has an action that its kind cannot have, a key is no column, or its values are not of its type.
    Example:
        >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
        >>> clause = MergeClause(when=When.MATCHED, then=Then.UPDATE)
        >>> plan = plan_merge(pruning.collect(folder.name), [clause], keys={"x": [2, 7]})
        >>> plan.row_groups["fate"].to_pylist()
        ['rewritten', 'untouched']
    """
    _check_merge(clauses, null_safe=null_safe, on=on, on_more=on_more)
    metadata = _row_groups_of(where)
    on_condition = _condition(on, metadata, more=on_more)
    merge_clauses = [
        rewriting.Clause(
            when=clause.when,
            then=clause.then,
            # The condition of WHEN NOT MATCHED is over the source's rows, so it proves nothing about a block.
            condition=_condition(clause.condition, metadata, more=clause.more)
            if clause.when is not When.NOT_MATCHED
            else None,
        )
        for clause in clauses
    ]
    excluded = _blocks_without_partner(
        metadata, {} if keys is None else _key_arrays(keys), null_safe=null_safe
    )
    blocks = rewriting.merge(_sizes(metadata), merge_clauses, on=on_condition, excluded=excluded)
    return RewritePlan(statement="MERGE", blocks=blocks, metadata=metadata)


def _row_groups_of(where: pa.Table | Paths) -> pa.Table:
    """Return the block metadata of row groups.

    Raises:
        InputError: as `blocks_of`, or the blocks are runs of pages, which no statement can rewrite alone.
    """
    metadata = blocks_of(where)
    if is_by_pages(metadata):
        raise InputError(
            "The blocks are runs of pages, and statements rewrite row groups; give what "
            "`pruning.collect(paths)` returns, or paths."
        )
    return metadata


def _check_merge(clauses: Any, *, null_safe: Any, on: Any, on_more: Any) -> None:
    check_sequence("clauses", clauses, "MergeClause")
    for clause in clauses:
        if not isinstance(clause, MergeClause):
            raise InputError(f"An element of clauses is {describe_value(clause)}; give a MergeClause.")
    if on is not None:
        check_text("on", on)
    check_flag("null_safe", null_safe)
    check_flag("on_more", on_more)


def _sizes(metadata: pa.Table) -> Sizes:
    return Sizes(metadata["row_count"].to_numpy(), pc.fill_null(metadata["byte_count"], -1).to_numpy())


def _condition(predicate: str | None, metadata: pa.Table, *, more: bool) -> Condition | None:
    """Return the verdicts of a condition, which has unknown parts if `more`; None if it is empty."""
    if predicate is not None:
        return _classify_condition(predicate, metadata, more=more)
    return Condition(np.full(len(metadata), Match.SOME, np.int8), may_raise=True) if more else None


def _classify_condition(predicate: str, metadata: pa.Table, *, more: bool = False) -> Condition:
    others = other_columns_of(metadata.schema)
    raising = more or may_raise(parse(predicate, column_types(metadata), others))
    return Condition(classify(predicate, metadata).to_numpy(), raising)


def _key_arrays(keys: Keys) -> dict[str, Any]:
    """Return the keys as Arrow arrays by name."""
    if isinstance(keys, Mapping):
        for name in keys:
            check_text("The name of a key", name)
        return dict(keys)
    if not isinstance(keys, pa.Table):
        if not hasattr(keys, "_collect_as_arrow"):
            raise InputError(
                f"The keys are a {type(keys).__name__}; give arrays by name, an Arrow table or a DataFrame."
            )
        names, batches = keys.columns, keys.distinct()._collect_as_arrow()
        keys = pa.Table.from_batches(batches) if batches else pa.table({name: pa.nulls(0) for name in names})
    return dict(zip(keys.column_names, keys.columns, strict=True))


def _blocks_without_partner(metadata: pa.Table, keys: Mapping[str, Any], *, null_safe: bool) -> np.ndarray:
    """Return the flags of blocks in which no row can have a partner, by one of the keys alone."""
    excluded = np.zeros(len(metadata), bool)
    types = column_types(metadata)
    for name, values in keys.items():
        if name not in types:
            raise InputError(
                f"The key {name!r} is no column of the target with bounds; leave it out and set on_more=True."
            )
        condition = may_equal(Column(name, types[name]), values, null_safe=null_safe)
        excluded |= classify_blocks(condition, metadata).to_numpy() == Match.NONE
    return excluded


def _tally_counts(tally: BlockTotals) -> dict[str, int | None]:
    return {"row_groups": tally.blocks, "rows": tally.rows, "bytes": tally.bytes}


def _tally_text(tally: BlockTotals) -> str:
    size = "bytes unknown" if tally.bytes is None else f"{tally.bytes:,} bytes"
    return f"{tally.blocks:,} row groups, {tally.rows:,} rows, {size}"
