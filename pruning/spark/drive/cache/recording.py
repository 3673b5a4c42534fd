"""Recording which blocks of a scan had rows of its filter, when a query that reads them all has run.

The pruned DataFrame collects, above the scan and its filter, where in files its rows come from: as metrics,
which `DataFrame.observe` collects too. Spark hands them to a listener when the query has succeeded,
and the next `prune` with a cache takes them from there.
"""

import contextlib
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from pruning.expressions.plans import Aggregate, Filter, Plan, Project, Scan, Sort, is_filtered_scan, nodes
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.evaluation import alias, project
from pruning.spark.drive.cache.questions import TECHNIQUE, CacheQuestion
from pruning.spark.drive.cache.row_places import with_row_files, with_row_places
from pruning.spark.drive.cache.scan_blocks import ScanBlocks
from pruning.spark.drive.leaf_tables import may_have_lost_files
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.gateway import (
    Java,
    class_name,
    elements,
    jvm,
    mapping,
    sequence,
    simple_name,
    singleton,
    string_array,
    subtrees,
)
from pruning.spark.versioned.tables import table_attributes
from pruning.techniques.cache_entries import CacheKey
from pruning.techniques.plan.raising import may_raise
from pruning.techniques.predicate_cache import PredicateCache

_LISTENER, _PACKAGE = "CompletedReads", "pruning.spark.drive.cache"
_PREFIX = "skipproof.reads."
_SEPARATOR = "\1"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
# The most DataFrames whose runs are waited for.
WAITING_MAX = 100
# A row group is told from others by so many binary digits of its rows' ordinals.
_PARTS_BITS = 4
# The listener is told by another thread, for which so many ms are waited.
WAIT_MS = 1_000
# The actions that run a plan to its end.
_ACTIONS = frozenset({"collect", "collectToPython", "collectAsArrowToPython", "count", "command", "save"})
# The operators that read each input to its end, if they are read so themselves. Joins may stop at the end of
# a side, and the first rows by an order may be those of an input that is sorted.
_READS_ALL = frozenset(
    {
        "AQEShuffleReadExec",
        "AdaptiveSparkPlanExec",
        "CollectMetricsExec",
        "ColumnarToRowExec",
        "DataWritingCommandExec",
        "ExpandExec",
        "FilterExec",
        "HashAggregateExec",
        "InputAdapter",
        "ObjectHashAggregateExec",
        "ProjectExec",
        "ResultQueryStageExec",
        "ShuffleExchangeExec",
        "ShuffleQueryStageExec",
        "SortAggregateExec",
        "SortExec",
        "UnionExec",
        "WholeStageCodegenExec",
        "WriteFilesExec",
    }
)
# The techniques of which the rows that a filter keeps are not decided.
_HARMLESS = frozenset({"deletes", "filter", TECHNIQUE})


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A scan whose DataFrame may be run: its name in the cache, its blocks, and those that it reads."""

    cache: "weakref.ref[PredicateCache]"
    key: CacheKey
    blocks: ScanBlocks
    kept: np.ndarray
    shift: int


# The scans that are waited for, by the names of their metrics.
_WAITING: "OrderedDict[str, _Waiting]" = OrderedDict()
_LOCK = threading.Lock()


def may_be_recorded(tree: Plan, scan: TableScan) -> bool:
    """Tell whether running a query tells which blocks of its only scan have rows of the scan's filter.

    It does not where rows are left out for another reason, or the filter may raise on rows that are deleted.
    """
    if any(removal.technique not in _HARMLESS for removal in scan.removals) or scan.needed_conditions:
        return False
    if may_have_lost_files(scan.table) and may_raise(scan.own_filter.predicate):
        return False
    above = [node for node in nodes(tree) if isinstance(node, Filter)]
    return (
        all(isinstance(node, Aggregate | Filter | Project | Scan | Sort) for node in nodes(tree))
        and sum(map(is_filtered_scan, above)) == len(scan.leaf.chain.conditions)
        and bool((scan.read_scan_set().matches == Match.SOME).any())
    )


def with_metrics(scan: TableScan, question: CacheQuestion, leaf: Java, subtree: Java) -> Java | None:
    """Return a subtree over a leaf of the analyzed plan, and the leaf's filter, with metrics of its rows.

    Claim     The query has the same rows. If a metric is taken, each row of the scan on which its filter is
              TRUE is at a place of the metric.
    Premises  `may_be_recorded`. Spark merges metrics of tasks that have succeeded, and of each task's rows.
    Proof     (1) Each row that is dropped fails conditions that the query drops it by; Spark evaluates them
                  at the same place, and not again above.
              (2) Spark's reader counts the rows of a file, those of row groups that it skips too.
              (3) An action and operators that read all of their input have read all rows of the scan.
    Unsound   if a file changes while the query runs.

    Args:
        scan: The scan of the leaf.
        question: The question whose answer is recorded.
        leaf: The leaf of the analyzed plan.
        subtree: What is read in its place: the leaf, or fewer files of it.
    Returns:
        None where the conditions cannot be evaluated there.
    """
    spark, own = scan.spark, scan.own_filter
    expressions = jvm(spark).org.apache.spark.sql.catalyst.expressions
    logical = jvm(spark).org.apache.spark.sql.catalyst.plans.logical
    blocks = question.blocks
    shift = max(0, blocks.fewest_rows.bit_length() - 1 - _PARTS_BITS)
    filtered = subtree
    for condition in reversed(own.conditions):
        moved = _over_leaf(spark, condition, own.names, leaf)
        if moved is None:
            return None
        filtered = logical.Filter(moved, filtered)
    located = (
        with_row_files(spark, filtered) if blocks.are_files else with_row_places(spark, filtered, shift=shift)
    )
    if located is None:
        return None
    struct = singleton(spark, f"{_EXPRESSIONS}.CreateStruct").apply(sequence(spark, located.columns))
    collected = expressions.aggregate.CollectSet(struct).toAggregateExpression()
    fresh = singleton(spark, f"{_EXPRESSIONS}.NamedExpression")
    metric = alias(spark, collected, "places", fresh.newExprId())
    name = f"{_PREFIX}{uuid.uuid4().hex}"
    metrics = logical.CollectMetrics(name, sequence(spark, [metric]), located.plan, len(_WAITING))
    _listen(spark)
    with _LOCK:
        kept = scan.read_scan_set().kept_groups
        _WAITING[name] = _Waiting(weakref.ref(question.cache), question.key, blocks, kept, shift)
        while len(_WAITING) > WAITING_MAX:
            _WAITING.popitem(last=False)
    return project(spark, list(elements(subtree.output())), metrics)


def record_completed_runs(spark: SparkSession) -> None:
    """Record, in their caches, what queries have read that have been run to their ends since.

    Raises:
        InputError: the directory of a cache cannot be written.
    """
    if not _WAITING:
        return
    # Where others are told so much that it takes longer, what comes later is taken next time.
    with contextlib.suppress(Py4JError):
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(WAIT_MS)
    runs: dict[tuple[str, str], list[Sequence[str]]] = {}
    for text in string_array(spark, java_instance(spark, _LISTENER, package=_PACKAGE).take()):
        if text:
            run, action, name, path, *rows = text.split(_SEPARATOR)
            runs.setdefault((run, name), []).append((action, path, *rows))
    for (_, name), places in runs.items():
        if all(has_read_all(action, path) for action, path, *_ in places):
            with _LOCK:
                waiting = _WAITING.pop(name, None)
            if waiting is not None:
                _record(waiting, [text for _, _, *rows in places for text in rows])


def has_read_all(action: str, path: str) -> bool:
    """Tell whether an action, and the operators between a plan's root and a metric, read all rows below."""
    return action in _ACTIONS and all(name in _READS_ALL for name in path.split(",") if name)


def _record(waiting: _Waiting, texts: Sequence[str]) -> None:
    """Record the row groups of rows, each with two texts: a file, and the row's ordinal, divided.

    Raises:
        InputError: as `CacheQuestion.record`.
    """
    cache, mask = waiting.cache(), np.zeros(len(waiting.kept), bool)
    pairs = iter(texts)
    for file, part in zip(pairs, pairs, strict=True):
        first = int(part) << waiting.shift
        groups = waiting.blocks.groups_at(file, first, first + (1 << waiting.shift) - 1)
        if groups is None:
            return
        mask[groups] = True
    if cache is not None:
        CacheQuestion(cache, waiting.key, waiting.blocks).record(mask & waiting.kept)


def _over_leaf(spark: SparkSession, condition: Java, names: Mapping[int, str], leaf: Java) -> Java | None:
    """Return a condition of the optimized plan over a leaf of the analyzed plan; None of other attributes."""
    own = {attribute.exprId().id(): attribute for attribute in elements(leaf.output())}
    by_name = {attribute.name: own[attribute.id] for attribute in table_attributes(leaf)}
    changes = []
    for part in elements(subtrees(spark, condition)):
        if simple_name(part) == "AttributeReference":
            attribute = by_name.get(names.get(part.exprId().id(), ""))
            if attribute is None:
                return None
            changes.append((part, attribute))
    return condition.transform(mapping(spark, changes))


def _listen(spark: SparkSession) -> None:
    """Let the listener of this process hear of the session's queries."""
    listener = java_instance(spark, _LISTENER, package=_PACKAGE)
    manager = spark._jsparkSession.listenerManager()
    if not any(class_name(other) == _LISTENER for other in manager.listListeners()):
        manager.register(listener)
