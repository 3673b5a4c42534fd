"""The reasons for which techniques removed nothing from a scan, and what would change that."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import leaf_names, walk
from pruning.expressions.trees import And, Expression, IsNull, Not, Opaque
from pruning.metadata.table.structs import field_of, whole
from pruning.metadata.views.clustering import clustering
from pruning.spark.drive.report import Decline, readable
from pruning.spark.drive.scans import TableScan
from pruning.verdicts.densities import densities

# Techniques that do not apply to a query say so in these words.
ABSENT = {
    "filter": "the query has no condition on its columns alone",
    "join": "no join of the query drops its rows that have no partner",
    "limit": "the query has no LIMIT that any of its rows satisfy",
    "top-k": "the query has no ORDER BY with LIMIT whose first key comes from it",
}
# The conjuncts that are looked at, of tables of so many blocks.
CONJUNCTS_MAX, BLOCKS_MAX = 4, 10_000
STORE_IT = "compare a column itself, or store what is computed as a column"
BACKFILL = "pruning.backfill(path) finds the bounds of files that have none"
# Blocks overlap if a value lies in this share of them.
OVERLAP = 0.25


def declined_techniques(scan: TableScan) -> tuple[Decline, ...]:
    """Return the techniques that removed nothing from a scan, each with the reason."""
    acted = {removal.technique for removal in scan.removals}
    declined = {name: Decline(name, reason) for name, reason in ABSENT.items()} | scan.declined
    if "filter" not in acted and scan.is_filtered and scan.scan_set is not None:
        reasons = list(_filter_reasons(scan))
        if reasons:
            reason = "; ".join(reason for reason, _ in reasons)
            remedy = "; ".join(dict.fromkeys(remedy for _, remedy in reasons if remedy))
            declined["filter"] = Decline("filter", reason, remedy)
    return tuple(decline for name, decline in declined.items() if name not in acted)


def _filter_reasons(scan: TableScan) -> Iterator[tuple[str, str]]:
    """Yield, of each conjunct of a scan's filter, why it excludes nothing, and what would change that."""
    predicate = scan.own_filter.predicate
    parts = predicate.operands if isinstance(predicate, And) else (predicate,)
    telling = [part for part in parts if not (isinstance(part, Not) and isinstance(part.operand, IsNull))]
    if not telling:
        yield "its only condition is that columns are not NULL", ""
    for part in telling[:CONJUNCTS_MAX]:
        opaque = next((node for node in walk(part) if isinstance(node, Opaque)), None)
        if opaque is not None:
            yield (
                f"no rule knows {opaque.sql}",
                STORE_IT,
            )
        elif len(scan.read_scan_set().keep) <= BLOCKS_MAX:
            yield from _reasons_of_columns(scan, part)


def _reasons_of_columns(scan: TableScan, part: Expression) -> Iterator[tuple[str, str]]:
    """Yield what is known of the columns of a conjunct: no bounds, or bounds that overlap."""
    metadata = scan.metadata_of(part)
    stored = whole(metadata.column("columns"))
    for name in dict.fromkeys(leaf_names(part)):
        if stored.type.get_field_index(name) < 0:
            yield (
                f"no metadata of {name} is known",
                BACKFILL,
            )
            continue
        facts = field_of(stored, name)
        overlap = clustering(field_of(facts, "min"), field_of(facts, "max"))
        blocks = metadata.num_rows
        if overlap is None:
            yield (
                f"no bounds of {name} are known",
                BACKFILL,
            )
        elif overlap.depth > 1 + OVERLAP * (blocks - 1):
            share = _share_of_rows(part, scan)
            skipped = 0 if share is None else max(0, round(100 * (1 - share - 1 / blocks)))
            yield (
                f"blocks overlap: a value of {name} lies in {overlap.depth:,.0f} of {blocks:,} of them",
                f"clustering by {name} would skip about {skipped} %" if skipped else "",
            )
        else:
            yield f"each block may hold a row with {readable(to_sql(part))}", ""


def _share_of_rows(part: Expression, scan: TableScan) -> float | None:
    """Estimate the share of all rows on which a condition is TRUE, from 0 to 1."""
    metadata = scan.metadata_of(part)
    shares = densities(part, metadata.combine_chunks())
    rows = pc.cast(metadata.column("row_count"), "float64").to_numpy()
    if shares is None or not rows.sum():
        return None
    return float(np.average(shares, weights=rows))
