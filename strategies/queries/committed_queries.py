"""The committed set of whole queries, drawn once and kept as data: a line of the file is a query.

It is kept so that figures of two versions come from the same cases; `bench/query_set.py` draws it anew.

"""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from strategies.base.codec import Json, decode_table, encode_table
from strategies.base.data_files import data_file
from strategies.queries.queries import Openness, Query

PATH = data_file("query_set.jsonl.gz")


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
    """Return a query as JSON."""
    return {
        "tables": [encode_table(table) for table in query.tables],
        "sql": query.sql,
        "openness": query.openness.name,
        "unlimited": query.unlimited,
        "key_count": query.key_count,
        "limit": query.limit,
        "offset": query.offset,
        "features": sorted(query.features),
    }


def decode_query(json: Json) -> Query:
    """Return the query that was encoded."""
    return Query(
        tables=tuple(decode_table(table) for table in json["tables"]),
        sql=json["sql"],
        openness=Openness[json["openness"]],
        unlimited=json["unlimited"],
        key_count=json["key_count"],
        limit=json["limit"],
        offset=json["offset"],
        features=frozenset(json["features"]),
    )
