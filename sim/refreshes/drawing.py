"""Draw definitions, users and operations on tables; all tables have the columns k, g and v."""

import random
from collections.abc import Sequence
from typing import TypeAlias

from sim.refreshes.model import Reader, Writer

COLUMNS = "(k INTEGER, g TEXT, v INTEGER)"
LAGS = ("'1 minute'", "'1 minute'", "'2 minutes'", "'5 minutes'", "DOWNSTREAM")
# A statement, and the statements that undo it.
Operation: TypeAlias = tuple[str, tuple[str, ...]]
# The most operators that may be nested in one definition.
DEPTH_MAX = 2


def definition(draw: random.Random, tables: Sequence[str], small: Sequence[str], depth: int = 0) -> str:
    """Draw a query over tables; it joins small tables only, so that results stay small."""
    first = source(draw, tables, small, depth)
    match draw.randrange(18):
        case 0:
            return f"SELECT * FROM {first} x"
        case 1 | 2:
            return f"SELECT x.k, x.g, x.v FROM {first} x WHERE x.v > {draw.randint(0, 3)}"
        case 3:
            return f"SELECT x.v AS k, x.g, x.k + 1 AS v FROM {first} x WHERE x.k IS NOT NULL"
        case 4 | 5:
            return f"SELECT x.k, y.g, x.v FROM {first} x JOIN {draw.choice(small)} y ON x.k = y.k"
        case 6 | 7:
            return f"SELECT x.k, y.g, y.v FROM {first} x LEFT JOIN {draw.choice(small)} y ON x.k = y.k"
        case 8:
            other = draw.choice(small)
            return f"SELECT COALESCE(x.k, y.k) AS k, y.g, x.v FROM {first} x FULL JOIN {other} y ON x.k = y.k"
        case 9 | 10:
            other = source(draw, tables, small, depth)
            return f"SELECT x.k, x.g, x.v FROM {first} x UNION ALL SELECT y.k, y.g, y.v FROM {other} y"
        case 11:
            return f"SELECT DISTINCT x.k, x.g, x.v FROM {first} x"
        case 12 | 13:
            return f"SELECT COUNT(*) AS k, x.g, SUM(x.v) AS v FROM {first} x GROUP BY x.g"
        case 14:
            return f"SELECT x.k, x.g, SUM(x.v) OVER (PARTITION BY x.g) AS v FROM {first} x"
        case _:
            return f"SELECT x.k, x.g, x.v + 0 * (1 % x.v) AS v FROM {first} x"


def source(draw: random.Random, tables: Sequence[str], small: Sequence[str], depth: int) -> str:
    """Draw a table, or a query in brackets."""
    if depth + 1 < DEPTH_MAX and draw.random() < 0.4:
        return f"({definition(draw, tables, small, depth + 1)})"
    return draw.choice(tables)


def drawn_statements(draw: random.Random, bases: Sequence[str], tables: Sequence[str]) -> list[str]:
    """Draw statements that create base tables, and dynamic tables over them and over each other."""
    statements = [f"CREATE TABLE {name} {COLUMNS}" for name in bases]
    readable = list(bases)
    view = draw.random() < 0.3
    for at, name in enumerate(tables):
        recent = readable[-2:] if draw.random() < 0.5 else readable
        query = definition(draw, recent, bases)
        lag = draw.choice(LAGS) if at + 1 < len(tables) else draw.choice(LAGS[:-1])
        mode = draw.choice(("", "", "", "REFRESH_MODE = FULL "))
        initialize = draw.choice(("", "", "INITIALIZE = ON_SCHEDULE "))
        statements.append(
            f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {lag} WAREHOUSE = w {mode}{initialize}AS {query}"
        )
        readable.append(name)
        if view and at == 0:
            statements.append(f"CREATE VIEW s.w AS {definition(draw, readable, bases, DEPTH_MAX)}")
            readable.append("s.w")
    return statements


def dividing_table(table: str, base: str) -> str:
    """Return a statement that creates a table whose query fails over a row of zeros."""
    query = f"SELECT x.k, x.g, x.v + 0 * (1 % x.v) AS v FROM {base} x"
    return f"CREATE DYNAMIC TABLE {table} TARGET_LAG = '1 minute' WAREHOUSE = w AS {query}"


def late_join(draw: random.Random, name: str, tables: Sequence[str]) -> str:
    """Draw a statement that creates a join of two tables."""
    left, right = draw.sample(tables, 2)
    query = f"SELECT x.k, y.g, x.v FROM {left} x JOIN {right} y ON x.k = y.k"
    return f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '2 minutes' WAREHOUSE = w AS {query}"


def drawn_writer(draw: random.Random, table: str, others: Sequence[str], nodes: int) -> Writer:
    """Draw a user who keeps a table small."""
    regular = draw.random() < 0.3
    return Writer(
        table=table,
        reads=tuple(draw.sample(others, draw.randint(0, min(2, len(others))))),
        node=draw.randrange(nodes),
        every_us=draw.choice((12_000_000, 24_000_000)) if regular else draw.choice((9, 30, 100)) * 1_000_000,
        regular=regular,
        think_us=draw.choice((0, 0, 3_000_000)),
        inserts=draw.choice((0, 1, 1, 2)),
        updates=draw.randint(0, 1),
        deletes=draw.choice((0, 0, 1)),
        nulls_percent=draw.choice((0, 20)),
        rows_max=draw.choice((3, 6, 10)),
    )


def drawn_readers(
    draw: random.Random, tables: Sequence[str], bases: Sequence[str], nodes: int
) -> list[Reader]:
    """Draw a reader of each dynamic table alone, and one reader of several tables at once."""
    alone = [
        Reader(tables=(name,), node=draw.randrange(nodes), every_us=draw.choice((20, 45)) * 1_000_000)
        for name in tables
    ]
    both = [*tables, *bases]
    several = draw.sample(both, min(len(both), 3))
    return [*alone, Reader(tables=tuple(several), node=draw.randrange(nodes), every_us=20_000_000)]


def disturbances(draw: random.Random, bases: Sequence[str], tables: Sequence[str]) -> list[Operation]:
    """Draw statements that disturb a running account, with the statements that undo them."""
    base, table = draw.choice(bases), draw.choice(tables)
    other = draw.choice(bases)
    query = definition(draw, bases, bases)
    lag = draw.choice(LAGS[:-1])
    return [
        (f"CREATE OR REPLACE TABLE {base} {COLUMNS}", ()),
        (f"CREATE OR REPLACE TABLE {base} {COLUMNS}", ()),
        (f"DROP TABLE {base}", (f"UNDROP TABLE {base}",)),
        (f"DROP DYNAMIC TABLE {table}", (f"UNDROP DYNAMIC TABLE {table}",)),
        (f"ALTER TABLE {base} RENAME TO s.gone", (f"ALTER TABLE s.gone RENAME TO {base}",)),
        (f"ALTER DYNAMIC TABLE {table} RENAME TO s.away", (f"ALTER DYNAMIC TABLE s.away RENAME TO {table}",)),
        (f"ALTER TABLE {base} SWAP WITH {other}", ()),
        ("CREATE SCHEMA z CLONE s", tuple(f"ALTER DYNAMIC TABLE z{name[1:]} RESUME" for name in tables)),
        (f"CREATE DYNAMIC TABLE s.copy CLONE {table}", ("ALTER DYNAMIC TABLE s.copy RESUME",)),
        (f"ALTER DYNAMIC TABLE {table} SUSPEND", (f"ALTER DYNAMIC TABLE {table} RESUME",)),
        (f"ALTER DYNAMIC TABLE {table} REFRESH", (f"ALTER DYNAMIC TABLE {table} REFRESH",)),
        (f"ALTER DYNAMIC TABLE {table} SET TARGET_LAG = {lag}", ()),
        (f"ALTER TABLE {base} DROP COLUMN g", (f"ALTER TABLE {base} ADD COLUMN g TEXT",)),
        (late_join(draw, "s.late", tables), ("DROP DYNAMIC TABLE s.late",)),
        (f"ALTER TABLE {base} ADD COLUMN c INTEGER", (f"ALTER TABLE {base} DROP COLUMN c",)),
        (f"CREATE OR REPLACE DYNAMIC TABLE {table} TARGET_LAG = {lag} WAREHOUSE = w AS {query}", ()),
        (f"CREATE OR REPLACE VIEW s.w AS {query}", ()),
    ]
