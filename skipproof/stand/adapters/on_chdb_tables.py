"""The adapter of ClickHouse's own tables: a part of small granules for each block, in chDB.

What may prune are the primary key, partitions, skip indexes, projections and statistics of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .on_chdb import COMMON_SETTINGS, FILTER_WORD, OnChDB, settings_to_try
from .serving import Unsupported

_SWITCH = ("1", "0")
_SETTINGS = {
    "use_primary_key": _SWITCH,
    "use_skip_indexes": _SWITCH,
    "use_skip_indexes_on_data_read": _SWITCH,
    "use_skip_indexes_for_disjunctions": _SWITCH,
    "use_skip_indexes_for_top_k": _SWITCH,
    "use_statistics_for_part_pruning": _SWITCH,
    "use_statistics_for_min_max_aggregation": _SWITCH,
    "use_partition_pruning": _SWITCH,
    "use_index_for_in_with_subqueries": _SWITCH,
    "merge_tree_coarse_index_granularity": ("2",),
    "optimize_read_in_order": _SWITCH,
    "optimize_distinct_in_order": _SWITCH,
    "optimize_aggregation_in_order": _SWITCH,
    "optimize_use_projections": _SWITCH,
    "optimize_use_implicit_projections": _SWITCH,
    "optimize_use_projection_filtering": _SWITCH,
    "query_plan_top_k_through_join": _SWITCH,
    "enable_join_runtime_filters_index_analysis": ("1",),
}
_TEXTS = ["string"]
_INTEGERS = ["int8", "int16", "int32", "int64"]
_KEYS = [*_INTEGERS, "uint8", "uint16", "uint32", "uint64", "string", "date", "boolean"]
_TIMES = ["date", "timestamp"]
# The options of tables, each with the values that hunts draw. Names of columns stand for themselves.
_LAYOUTS: dict[str, list[Any]] = {
    "order_by": [
        "tuple()", "({b}, {a})", "({a}, {rid})", "{a} DESC", "{rid}",
        {"only": _INTEGERS, "value": "-{a}"}, {"only": _TEXTS, "value": "lower({a})"},
        {"only": _TIMES, "value": "toYear({a})"},
    ],
    "partition_by": [
        # More partitions take long, and an insertion of more than a hundred is refused.
        {"only": _KEYS, "rows_max": 300, "value": "{a}"}, {"only": _INTEGERS, "value": "{a} % 2"},
        {"only": _TIMES, "value": "toYYYYMM({a})"}, "{rid} % 2",
    ],
    "index_granularity": [1, 3, 8192],
    "minmax": ["{a}", "{b}", "{rid}"],
    "set(0)": ["{a}", "{b}", {"only": _INTEGERS, "value": "{a} % 2"}],
    "set(2)": ["{a}", "{b}"],
    "bloom_filter": ["{a}", "{b}"],
    "tokenbf_v1(64, 2, 0)": [{"only": _TEXTS, "value": "{a}"}, {"only": _TEXTS, "value": "lower({a})"}],
    "ngrambf_v1(2, 64, 2, 0)": [{"only": _TEXTS, "value": "{a}"}, {"only": _TEXTS, "value": "lower({a})"}],
    "text(tokenizer = splitByNonAlpha)": [{"only": _TEXTS, "value": "{a}"}],
    "text(tokenizer = ngrams(2))": [{"only": _TEXTS, "value": "{a}"}],
    "granules_per_index": [2],
    "projection": [
        "SELECT * ORDER BY {b}", "SELECT * ORDER BY {a}, {rid}",
        "SELECT {a}, count(), min({rid}) GROUP BY {a}", "SELECT {a}, count({b}), max({b}) GROUP BY {a}",
        "SELECT count({a}), max({b})",
    ],
    "low_cardinality": [{"only": _TEXTS, "value": True}],
    "required": [True],
    "wide": [True],
    "merged": [True],
}  # fmt: skip
_TABLE_OPTIONS = ("order_by", "partition_by", "index_granularity", "granules_per_index", "projection")
_FLAGS = ("low_cardinality", "required", "wide", "merged")
_INDEXES_WITHOUT_NULL = [kind for kind in _LAYOUTS if "bf_v1" in kind]
# Some functions mean something else where a column may be NULL: IS NOT DISTINCT FROM finds NaN there alone.
SCHEMA_OPTIONS = ["required", *_INDEXES_WITHOUT_NULL]


class OnChDBTables(OnChDB):
    """Inserts each block as one part, and keeps parts from being merged; plain tables are in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, Any] = {}

    def hello(self) -> dict[str, Any]:
        """Return the version and the abilities of ClickHouse with tables that it may change."""
        hello = super().hello()
        settings = settings_to_try(COMMON_SETTINGS | _SETTINGS)
        return dict(
            hello,
            engine="chdb-tables",
            tables="own",
            formats=[],
            areas=[*hello["areas"], "dml"],
            settings=settings | {FILTER_WORD: ["WHERE", "PREWHERE"]},
            layouts=_LAYOUTS,
            schema_options=SCHEMA_OPTIONS,
            writes=False,
        )

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes each table, of parts or in memory."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("files")
        self._tables = tables
        text, names = super().setup(tables, settings)
        self.sql.null_for_empty = any(map(self._required, tables.values()))
        return text, names

    def is_pruned(self, table: dict[str, Any]) -> bool:
        """Tell whether a table has the form that may be pruned."""
        return bool(table.get("statistics", True))

    def table_statements(self, name: str, table: dict[str, Any]) -> Iterator[str]:
        """Yield the statements that make a table."""
        if not self.is_pruned(table):
            yield from self.memory_statements(name, table)
            return
        quoted = self.sql.name(name)
        yield self._create(quoted, table)
        yield from (self.insert(quoted, block, table) for block in table["blocks"] if block)
        if _layout(table).get("merged"):
            yield f"OPTIMIZE TABLE {quoted} FINAL"

    def _create(self, quoted: str, table: dict[str, Any]) -> str:
        """Return the statement that makes a table of parts."""
        layout = _layout(table)
        granules = layout.get("granules_per_index", 1)
        parts = [self.structure(table)]
        required = self._required(table)
        types = {column["name"]: column["type"] for column in table["columns"]}
        indexes = [
            kind
            for kind, of in layout.items()
            if kind not in (*_TABLE_OPTIONS, *_FLAGS) and _has_index(kind, of, types, required)
        ]
        # ClickHouse refuses a second text index of a column.
        second = [kind for kind in indexes if kind.startswith("text(")][1:]
        indexes = [kind for kind in indexes if kind not in second]
        parts += [
            f"INDEX index_{at} {layout[kind]} TYPE {kind} GRANULARITY {granules}"
            for at, kind in enumerate(indexes)
        ]
        if "projection" in layout:
            parts.append(f"PROJECTION projection_0 ({layout['projection']})")
        order = layout.get("order_by", table["columns"][0]["name"])
        settings = {
            "index_granularity": layout.get("index_granularity", 2),
            "allow_nullable_key": 1,
            "allow_floating_point_partition_key": 1,
            "allow_experimental_reverse_key": 1,
            "lightweight_mutation_projection_mode": "'rebuild'",
            # Parts of more than a byte are merged only when it is asked for.
            "max_bytes_to_merge_at_max_space_in_pool": 1,
            "max_bytes_to_merge_at_min_space_in_pool": 1,
        }
        if layout.get("wide"):
            settings["min_bytes_for_wide_part"] = 0
        text = f"CREATE TABLE {quoted} ({', '.join(parts)}) ENGINE = MergeTree"
        if "partition_by" in layout:
            text += f" PARTITION BY {layout['partition_by']}"
        texts = ", ".join(f"{name} = {value}" for name, value in settings.items())
        return f"{text} ORDER BY {order if order.endswith(')') else f'({order})'} SETTINGS {texts}"

    def structure(self, table: dict[str, Any]) -> str:
        """Return the names and types of a table's columns."""
        text = self.sql.structure(table["columns"], required=self._required(table))
        if _layout(table).get("low_cardinality"):
            text = text.replace("Nullable(String)", "LowCardinality(Nullable(String))")
        return text

    def _required(self, table: dict[str, Any]) -> frozenset[str]:
        """Return the columns that may not be NULL."""
        layout = _layout(table)
        if not (layout.get("required") or any(name in _INDEXES_WITHOUT_NULL for name in layout)):
            return frozenset()
        rows = [row for block in table["blocks"] for row in block]
        lacks_null = (all(row[at] is not None for row in rows) for at in range(len(table["columns"])))
        names = (column["name"] for column in table["columns"])
        return frozenset(name for name, lacks in zip(names, lacks_null, strict=True) if lacks)

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of one statement, or of a change of a table that is made again after it was read."""
        if not question["change"]:
            return super().ask(question)
        source = question["source"]
        table = self._tables[source["table"]]
        quoted = self.sql.name(source["table"])
        where = "true" if source["where"] is None else self.sql.term(source["where"])
        if question["change"] == "delete":
            # A table in memory has only the older statement.
            words = f"DELETE FROM {quoted}" if self.is_pruned(table) else f"ALTER TABLE {quoted} DELETE"
            change = f"{words} WHERE {where}"
        else:
            _refuse_key(question["change"], table)
            value = self.sql.literal(question["to"]["literal"], question["to"]["type"])
            column = self.sql.name(question["change"])
            change = f"ALTER TABLE {quoted} UPDATE {column} = {value} WHERE {where}"
        columns = ", ".join(map(self.sql.answer_column, question["select"])) or "1"
        restored = [f"DROP TABLE {quoted}", *self.table_statements(source["table"], table)]
        return (
            "try:\n"
            f"    con.query({change!r})\n"
            f"    answer = rows_of({f'SELECT {columns} FROM {quoted}'!r})\n"
            "finally:\n" + "".join(f"    con.query({statement!r})\n" for statement in restored)
        )


def _has_index(kind: str, of: str, types: dict[str, str], required: frozenset[str]) -> bool:
    """Tell whether a column may have a skip index of a kind."""
    name = next(name for name in re.findall(r"\w+", of) if name in types)
    if kind in _INDEXES_WITHOUT_NULL:
        return name in required
    return kind != "bloom_filter" or not types[name].startswith(("date", "decimal"))


def _refuse_key(name: str, table: dict[str, Any]) -> None:
    """Refuse an update of a column by which rows are in order or in partitions.

    Raises:
        Unsupported: the column is one.
    """
    layout, columns = _layout(table), table["columns"]
    terms = (layout.get("order_by", columns[0]["name"]), layout.get("partition_by", ""))
    if any(re.search(rf"\b{name}\b", term) for term in terms):
        raise Unsupported("updates of keys")


def _layout(table: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a table."""
    return table.get("layout") or {}


ADAPTER = OnChDBTables
