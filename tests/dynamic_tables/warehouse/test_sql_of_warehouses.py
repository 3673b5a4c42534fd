"""The SQL of definitions in a warehouse: its tables are created, filled, maintained and verified."""

from datetime import date
from decimal import Decimal
from pathlib import Path

from dynamic_tables.warehouse.warehouse import init
from dynamic_tables.warehouse.warehouse import open as open_warehouse

CREATED = (
    "CREATE TRANSIENT TABLE flights (carrier VARCHAR(2) COMMENT 'code', delay INTEGER, day DATE, "
    "tags VARIANT) CLUSTER BY (day) COMMENT = 'one row a flight'",
    "CREATE VIEW carriers COMMENT = 'by hand' AS "
    "SELECT * FROM VALUES ('AA', 'American'), ('UA', 'United') AS v (carrier, name)",
    "INSERT INTO flights SELECT column1, column2, column3::date, parse_json(column4) FROM VALUES "
    "('AA', 5, '2025-01-02', '{\"a\": [1, 2]}'), ('AA', 25, '2025-02-02', '{}'), "
    "('UA', 7, '2025-05-01', NULL), ('XX', NULL, '2025-12-29', '[3]')",
    "CREATE TRANSIENT DYNAMIC TABLE delays TARGET_LAG = '1 minute' REFRESH_MODE = INCREMENTAL COMMENT = 'as' "
    "CLUSTER BY (name) AS SELECT name, quarter(day) AS quarter, median(delay) AS middle, "
    "max_by(day, delay) AS worst, listagg(delay, ',') WITHIN GROUP (ORDER BY delay DESC) AS delays "
    "FROM flights LEFT JOIN carriers USING (carrier) GROUP BY GROUPING SETS ((name, quarter(day)), name)",
    "CREATE DYNAMIC TABLE paths TARGET_LAG = '1 minute' AS SELECT carrier, f.path, f.value::text AS value, "
    "ntile(2) OVER (PARTITION BY carrier ORDER BY f.path) AS half "
    "FROM flights, LATERAL FLATTEN(input => tags, recursive => true) f",
)


def test_tables_of_a_warehouse_are_maintained(tmp_path: Path) -> None:
    init(tmp_path / "w")
    warehouse = open_warehouse(tmp_path / "w")
    for statement in CREATED:
        warehouse.sql(statement)
    warehouse.sql("UPDATE flights SET delay = 50 WHERE carrier = 'XX'")
    warehouse.sql("DELETE FROM flights WHERE delay = 7")
    for name in ("delays", "paths"):
        warehouse.refresh(name)
    american = (Decimal("15.000"), date(2025, 2, 2), "25,5")
    other = (Decimal("50.000"), date(2025, 12, 29), "50")
    assert warehouse.query("SELECT * FROM delays ORDER BY name, quarter").rows == (
        ("American", 1, *american),
        ("American", None, *american),
        (None, 4, *other),
        (None, None, *other),
    )
    assert warehouse.query("SELECT * FROM paths ORDER BY path").rows == (
        ("XX", "[0]", "3", 1),
        ("AA", "a", "[1,2]", 1),
        ("AA", "a[0]", "1", 1),
        ("AA", "a[1]", "2", 2),
    )
    assert [verdict.wrong_count for verdict in warehouse.verify()] == [0, 0]
    assert [status.mode for status in warehouse.status()] == ["INCREMENTAL", "INCREMENTAL"]
