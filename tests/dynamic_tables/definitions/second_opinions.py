"""The rows of a definition by DuckDB, which shares neither the parser's meaning nor any operator with us.

Shares   the parser, which writes the definition in the dialect of DuckDB.
Removes  binding, algebra, evaluation and storage: the rows come from the drawn writes.
Leaves   what DuckDB writes otherwise, for which a text of its own is here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import sqlglot
from as_duckdb import NotRendered, answer
from definition_sets import Definition

from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.types import Kind, Type
from strategies.dynamic.base_tables import Version
from strategies.dynamic.contents import SourceTable
from strategies.dynamic.drawn_definitions import LETTERS
from strategies.dynamic.shop_tables import SHOP
from strategies.dynamic.sql_texts import NESTED, as_json

TYPES: Mapping[Kind, str] = {
    Kind.INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    **dict.fromkeys(NESTED, "JSON"),
}
ELEMENTS = (
    "SELECT unnest(range(json_array_length({0})::BIGINT)) AS place,"
    " unnest(CAST({0} AS JSON[])) ->> '$' AS {1}"
)
TAGS = f"LATERAL ({ELEMENTS.format('tags', 'tag')}) f"
MARKS = f"LATERAL ({ELEMENTS.format('''(page -> 'marks')''', 'mark')}) g"
# The definitions that the parser does not translate to DuckDB.
TEXTS: Mapping[str, str] = {
    "members of objects": """SELECT customer, page ->> 'path', CAST(page ->> 'size' AS BIGINT) FROM visits""",
    "a group by a member": """SELECT page ->> 'path' AS path, count(*), sum(seconds) FROM visits
        GROUP BY path""",
    "an exact average": """SELECT product, CAST(round(avg(quantity), 6) AS DECIMAL(38, 6)) FROM sales
        GROUP BY product""",
    "FLATTEN of a list": f"SELECT customer, place, tag FROM visits, {TAGS}",
    "FLATTEN with OUTER": f"SELECT customer, place, tag FROM visits LEFT JOIN {TAGS} ON TRUE",
    "FLATTEN of an object": "SELECT seconds, unnest(json_keys(page)) AS name FROM visits",
    "FLATTEN of a member": f"""SELECT seconds, CAST(mark AS BIGINT) FROM visits, {MARKS}
        WHERE CAST(mark AS BIGINT) > 0""",
    "a group above FLATTEN": f"""SELECT tag, count(*), count(DISTINCT customer) FROM visits, {TAGS}
        GROUP BY tag""",
    "DISTINCT above FLATTEN": f"SELECT DISTINCT tag FROM visits, {TAGS}",
    "a join above FLATTEN": f"""SELECT region, tag FROM visits v JOIN customers c ON v.customer = c.customer,
        {TAGS}""",
    "a window above FLATTEN": f"SELECT customer, tag, count(*) OVER (PARTITION BY tag) FROM visits, {TAGS}",
    "a named window": """SELECT product, price, rank() OVER w, max(price) OVER w FROM products
        WINDOW w AS (PARTITION BY category ORDER BY price)""",
    # Of no text, a list is NULL in DuckDB, and empty here.
    "texts in one": """SELECT region,
        coalesce(string_agg(active::text, ',' ORDER BY active::text), '') FROM customers GROUP BY region""",
    "FLATTEN twice": f"SELECT tag, CAST(mark AS BIGINT) FROM visits, {TAGS}, {MARKS}",
}


class SecondOpinion:
    """The tables of one version in DuckDB."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.connection = duckdb.connect()
        if SHOP[0].identity in version:
            for table in SHOP:
                self.load(table)

    def load(self, table: SourceTable) -> None:
        """Create a table with its rows."""
        columns = ", ".join(f"{field.name} {type_name(field.type)}" for field in table.fields)
        self.connection.execute(f"CREATE TABLE {table.identity} ({columns})")
        values = ", ".join("?" * len(table.fields))
        types = [field.type for field in table.fields]
        rows = [list(map(as_parameter, row, types)) for row in self.version[table.identity].values()]
        if rows:
            self.connection.executemany(f"INSERT INTO {table.identity} VALUES ({values})", rows)

    def rows(self, definition: Definition) -> Sequence[Row] | None:
        """Return the rows of a definition; None of a drawn one that DuckDB has no SQL for."""
        if definition.relation is None:
            text = TEXTS.get(definition.name)
            if text is None:
                (text,) = sqlglot.transpile(definition.text, read="snowflake", write="duckdb")
            return self.connection.execute(text).fetchall()
        try:
            return answer(self.connection, definition.relation, LETTERS, self.version)
        except NotRendered:
            return None


def type_name(kind: Type) -> str:
    """Return DuckDB's name of a type."""
    return f"DECIMAL(18, {kind.scale})" if kind.kind is Kind.DECIMAL else TYPES[kind.kind]


def as_parameter(value: Cell, kind: Type) -> Any:
    """Return a cell as a parameter of a statement."""
    return json.dumps(as_json(value)) if kind.kind in NESTED and value is not None else value
