"""The names of queries in the predicate cache: a filter of a scan, or the first rows of it by an order.

Two queries with one name have the same rows of a block as answers. What the rules know of a predicate is all
that its value depends on, beside the session's settings; what they do not know has no name.
"""

import hashlib
from collections.abc import Iterable

from pyspark.sql import SparkSession

from pruning.expressions.plans import Filter, SortItem, is_filtered_scan, nodes
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Expression, Opaque
from pruning.spark.drive.leaf_tables import LeafTable, is_part
from pruning.spark.drive.scans import TableScan
from pruning.spark.iceberg.tables import IcebergTable
from pruning.spark.jvm.gateway import printed_elements
from pruning.spark.lake.tables import ParquetTable
from pruning.techniques.cache_entries import CacheKey
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import TopKSite

# Settings by which a scan may leave out files that it cannot read; options of a reader have their last parts.
_IGNORES = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
_NUMBER = "skipproof.leaf"


class NotCached(Exception):
    """Raised for a query that has no name in the cache; the text says why."""


def filter_key(scan: TableScan) -> CacheKey:
    """Return the name of a scan's own filter.

    Raises:
        NotCached: the scan has no filter, or one that has no name.
    """
    if not scan.is_filtered:
        raise NotCached("the scan has no filter")
    return _key(scan, [scan.own_filter.predicate], f"{scan.own_filter.predicate!r}", None)


def top_k_key(scan: TableScan, site: TopKSite, path: KeyPath) -> CacheKey:
    """Return the name of the first rows of a scan, after its own filter, by all keys of an order.

    Raises:
        NotCached: other things than the scan, its filter and its order decide the rows, or one of these has
            no name.
    """
    if not is_filtered_scan(site.sort.child):
        raise NotCached("rows of other tables, or groups of rows, are sorted")
    items = tuple(site.sort.items)
    (whole,) = key_paths(site.sort.child, tuple(item.key for item in items))
    order = []
    for item, key in zip(items, whole.keys, strict=True):
        if key is None or whole.scan is not path.scan:
            raise NotCached("a key of ORDER BY is not made of the table's columns alone")
        order.append(SortItem(key, item.descending, item.nulls_first))
    filters = sum(isinstance(node, Filter) for node in nodes(site.sort.child))
    if filters != len(scan.leaf.chain.conditions):
        raise NotCached("not all conditions are on the table's columns alone")
    expressions = [scan.own_filter.predicate, *(item.key for item in order)]
    return _key(scan, expressions, f"{scan.own_filter.predicate!r} ORDER BY {order!r}", site.wanted)


def _key(scan: TableScan, expressions: Iterable[Expression], text: str, wanted: int | None) -> CacheKey:
    for node in (node for expression in expressions for node in walk(expression)):
        if isinstance(node, Opaque):
            raise NotCached(f"no rule knows {node.sql}")
    columns = {**scan.table.data_columns, **scan.table.partition_columns}
    conf = scan.spark._jsparkSession.sessionState().conf()
    return CacheKey(
        table="\0".join(scan.table.roots),
        predicate=text,
        wanted=wanted,
        ansi=bool(conf.ansiEnabled()),
        zone=str(conf.sessionLocalTimeZone()),
        collation=scan.spark.conf.get("spark.sql.session.collation", ""),
        settings=(
            ("columns", repr(sorted((name, repr(type_)) for name, type_ in columns.items()))),
            ("options", _options(scan.spark, scan.table)),
            ("settings", _settings(scan.spark)),
            ("spark", scan.spark.version),
        ),
    )


def _options(spark: SparkSession, table: LeafTable) -> str:
    """Return all that a relation says of how its files are read.

    Raises:
        NotCached: the table is read in another way.
    """
    if isinstance(table, IcebergTable) or is_part(table):
        raise NotCached("Spark does not list the files of the table")
    if not isinstance(table, ParquetTable):
        return ""
    options = printed_elements(spark, table.leaf.relation().options())
    for name in _IGNORES:
        ignore = name.rpartition(".")[2]
        if any(option.lower() == f"{ignore} -> true".lower() for option in options):
            raise NotCached(f"{ignore} is set, so that a file may be left out")
    return "\n".join(sorted(option for option in options if not option.startswith(f"{_NUMBER} -> ")))


def _settings(spark: SparkSession) -> str:
    """Return a digest of the session's settings of SQL, among which are none of this process alone.

    Raises:
        NotCached: Spark may leave out files.
    """
    settings = printed_elements(spark, spark._jsparkSession.sessionState().conf().getAllConfs())
    settings = sorted(setting for setting in settings if setting.startswith("spark.sql."))
    for name in _IGNORES:
        if f"{name} -> true" in settings:
            raise NotCached(f"{name} is set, so that a file may be left out")
    return hashlib.sha256("\n".join(settings).encode()).hexdigest()
