"""The committed sets of whole queries, drawn once and kept as data: a line of a file is a query.

They are kept so that figures of two versions come from the same cases; `bench/query_set.py` draws them anew.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from strategies.base.codec import Json, decode_table, encode_table
from strategies.base.data_files import data_file
from strategies.base.tables import Table
from strategies.queries.queries import (
    PARQUET,
    ChangeKind,
    Openness,
    Query,
    SourceKind,
    TableChange,
    TableSource,
)

PATH = data_file("query_set.jsonl.gz")
# Queries over tables of any source, some of which change.
SOURCES_PATH = data_file("source_query_set.jsonl.gz")


def read_queries(path: Path = PATH, *, every: int = 1, part: tuple[int, int] = (1, 1)) -> Iterator[Query]:
    """Read the set, or a share of it, in order.

    Args:
        every: Take every `every`-th query.
        part: Of these, the i-th of n equal parts, as (i, n), from (1, n) to (n, n).
    """
    number, parts = part
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for ordinal, line in enumerate(lines):
            if ordinal % every == 0 and ordinal // every % parts == number - 1:
                yield decode_query(json.loads(line))


def write_queries(queries: Iterable[Query], path: Path = PATH) -> None:
    """Write the set; equal sets give equal files."""
    lines = (json.dumps(encode_query(query), separators=(",", ":")) for query in queries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode(), compresslevel=9, mtime=0))


def encode_query(query: Query) -> Json:
    """Return a query as JSON; sources and changes are left out where there is nothing to say of them."""
    json = {
        "tables": [encode_table(table) for table in query.tables],
        "sql": query.sql,
        "openness": query.openness.name,
        "unlimited": query.unlimited,
        "key_count": query.key_count,
        "limit": query.limit,
        "offset": query.offset,
        "features": sorted(query.features),
    }
    if any(source != PARQUET for source in query.sources):
        json["sources"] = [_encode_source(source) for source in query.sources]
    if query.changes:
        json["changes"] = [_encode_change(query, change) for change in query.changes]
    return json


def decode_query(json: Json) -> Query:
    """Return the query that was encoded."""
    tables = tuple(decode_table(table) for table in json["tables"])
    return Query(
        tables=tables,
        sql=json["sql"],
        openness=Openness[json["openness"]],
        unlimited=json["unlimited"],
        key_count=json["key_count"],
        limit=json["limit"],
        offset=json["offset"],
        features=frozenset(json["features"]),
        sources=tuple(_decode_source(source) for source in json.get("sources", ())),
        changes=tuple(_decode_change(tables, change) for change in json.get("changes", ())),
    )


def _encode_source(source: TableSource) -> Json:
    return [source.kind.name, source.blocks_per_file, source.statistics]


def _decode_source(json: Json) -> TableSource:
    kind, blocks_per_file, statistics = json
    return TableSource(SourceKind[kind], blocks_per_file, statistics)


def _encode_change(query: Query, change: TableChange) -> Json:
    added = Table(query.tables[change.table].columns, change.blocks)
    return {
        "kind": change.kind.name,
        "table": change.table,
        "gone": list(change.gone),
        "blocks": encode_table(added)["blocks"],
        "in_place": change.in_place,
    }


def _decode_change(tables: Sequence[Table], json: Json) -> TableChange:
    columns = encode_table(Table(tables[json["table"]].columns, ()))["columns"]
    return TableChange(
        kind=ChangeKind[json["kind"]],
        table=json["table"],
        gone=tuple(json["gone"]),
        blocks=decode_table({"columns": columns, "blocks": json["blocks"]}).blocks,
        in_place=json["in_place"],
    )
