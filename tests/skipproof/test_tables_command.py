"""The commands `skipproof tables`: what they print, what they leave, and how they end."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from skipproof.commands.cli_tables import microseconds
from skipproof.commands.showing_tables import duration


@pytest.fixture
def tables(run: Any, tmp_path: Path, monkeypatch: Any) -> Any:
    """Runs a command on a warehouse with a base table and a dynamic one."""
    monkeypatch.setenv("SKIPPROOF_WAREHOUSE", str(tmp_path / "w"))

    def command(*arguments: str) -> tuple[int, str, str]:
        status, out, errors = run("tables", *arguments)
        return status, out, errors

    for arguments in (
        ("init",),
        ("sql", "CREATE TABLE flights (carrier TEXT, delay INTEGER)"),
        ("sql", "INSERT INTO flights VALUES ('UA', 5), ('AA', 40), ('UA', 90)"),
        (
            "sql",
            "CREATE DYNAMIC TABLE late TARGET_LAG = '1 minute' REFRESH_MODE = AUTO AS"
            " SELECT carrier, count(*) AS n FROM flights WHERE delay > 15 GROUP BY carrier",
        ),
    ):
        status, _, errors = command(*arguments)
        assert (status, errors) == (0, "")
    return command


def test_a_table_is_refreshed_and_read(tables: Any) -> None:
    tables("sql", "DELETE FROM flights WHERE carrier = 'AA'")
    status, out, _ = tables("refresh", "late")
    assert (status, out) == (0, "late is refreshed\n")
    _, out, _ = tables("query", "SELECT * FROM late ORDER BY n", "--json")
    assert json.loads(out) == {"columns": ["carrier", "n"], "rows": [["UA", 1]], "row_count": 1}
    _, out, _ = tables("query", "SELECT * FROM late", "--rows", "0")
    assert "1 row" in out


def test_the_past_is_read_as_of_a_time(tables: Any) -> None:
    _, out, _ = tables("history", "late", "--json")
    then = max(event["data_us"] for event in json.loads(out) if event["kind"] == "refreshed")
    tables("sql", "DELETE FROM flights")
    tables("refresh", "late")
    _, out, _ = tables("query", "SELECT * FROM late", "--as-of", str(then), "--json")
    assert json.loads(out)["row_count"] == 2
    status, _, errors = tables("query", "SELECT * FROM late", "--as-of", "2001-01-01")
    assert status == 2
    assert "no data timestamp of this warehouse is at or before" in errors
    status, _, errors = tables("query", "SELECT * FROM late", "--as-of", "yesterday")
    assert (status, errors.count("\n")) == (2, 1)


def test_the_state_of_tables_is_shown(tables: Any) -> None:
    tables("sql", "CREATE DYNAMIC TABLE total TARGET_LAG = '1 minute' AS SELECT count(*) AS n FROM late")
    _, out, _ = tables("status")
    assert "main.total is computed in full: an aggregate without GROUP BY" in out
    assert "no driver runs" in out
    tables("suspend", "late")
    _, out, _ = tables("status", "--json")
    late, total = json.loads(out)
    assert (late["name"], late["state"], late["detail"]) == ("main.late", "suspended", "by a user")
    assert (total["state"], total["action"], total["inserted"]) == ("ok", "FULL", 1)
    for arguments in (
        ("resume", "late"),
        ("alter", "late", "--target-lag", "DOWNSTREAM"),
        ("alter", "late", "--target-lag", "2 minutes"),
    ):
        assert tables(*arguments)[:2] == (0, "done\n")
    assert tables("alter", "late", "--target-lag", "soon")[0] == 2


def test_how_a_table_is_maintained_is_explained(tables: Any) -> None:
    tables("sql", "INSERT INTO flights VALUES ('DL', 99)")
    _, out, _ = tables("explain", "late")
    assert "group: counts and sums of held rows, adjusted by changed rows" in out
    assert "a refresh now: INCREMENTAL, because a source changed\n  main.flights: 1 changed rows" in out
    _, out, _ = tables("explain", "late", "--json")
    explanation = json.loads(out)
    assert (explanation["action"], explanation["changed_rows"]) == ("INCREMENTAL", {"main.flights": 1})
    assert [node["operator"] for node in explanation["nodes"]][-1] == "scan main.flights"


def test_tables_are_compared_with_their_queries(tables: Any, tmp_path: Path) -> None:
    _, out, _ = tables("verify")
    assert out == "main.late: as its query\n"
    (manifest,) = (tmp_path / "w" / "tables" / "t2" / "versions").glob("*1.json")
    body = json.loads(manifest.read_text())
    body["data"] = []
    manifest.write_text(json.dumps(body))
    status, out, _ = tables("verify", "late")
    assert status == 1
    assert out.startswith("main.late: 2 wrong rows: row g:")


def test_a_dropped_table_is_restored(tables: Any) -> None:
    assert tables("drop", "late")[0] == 0
    status, _, errors = tables("query", "SELECT * FROM late")
    assert status == 2
    assert "there is no table or view late" in errors
    assert tables("undrop", "late")[0] == 0
    assert tables("query", "SELECT * FROM late")[0] == 0


def test_tables_are_driven_for_a_while(tables: Any) -> None:
    status, out, _ = tables("run", "--seconds", "0.5")
    assert status == 0
    lines = out.splitlines()
    assert "action began" in lines[0]
    assert "action ended" in lines[-1]
    status, out, _ = tables("run", "--seconds", "0.5", "--json")
    assert json.loads(out.splitlines()[0])["kind"] == "driver"
    status, out, _ = tables("history", "--rows", "1")
    assert "action ended" in out


def test_ctrl_c_ends_a_driver_that_gives_its_lease_back(tables: Any) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-m", "skipproof", "tables", "run"], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    assert "action began" in driver.stdout.readline()
    time.sleep(0.3)
    os.kill(driver.pid, signal.SIGINT)
    driver.communicate(timeout=60)
    assert driver.returncode == 130
    # Without the lease, the next driver would wait for half a minute.
    status, out, _ = tables("run", "--seconds", "0.5")
    assert status == 0
    assert "action began" in out


def test_bad_input_is_one_sentence(tables: Any, run: Any, tmp_path: Path) -> None:
    for arguments in (
        ("sql", "SELEC 1"),
        ("sql", "INSERT INTO nope VALUES (1)"),
        ("refresh", "flights"),
        ("explain", "nope"),
        ("init",),
        ("init", "--format", "orc", "--warehouse", str(tmp_path / "other")),
        ("status", "--warehouse", str(tmp_path / "nothing")),
    ):
        status, out, errors = tables(*arguments)
        assert (status, out) == (2, ""), arguments
        assert errors.startswith("skipproof: ")
        assert errors.count("\n") == 1


def test_the_demo_keeps_its_warehouse(tables: Any, tmp_path: Path) -> None:
    status, out, _ = tables("demo", "--days", "1", "--keep", str(tmp_path / "kept"), "--json")
    assert status == 0
    report = json.loads(out)
    assert sum(hour["arrived"] for hour in report["hours"]) == 842
    assert [verdict["wrong_count"] for verdict in report["verdicts"]] == [0] * 4
    status, out, _ = tables("verify", "--warehouse", str(tmp_path / "kept"))
    assert status == 0


def test_times_are_read_and_durations_written() -> None:
    assert microseconds("1970-01-01T00:00:01") == 1_000_000
    assert microseconds("1970-01-01T01:00:01+01:00") == 1_000_000
    assert microseconds("5") == 5
    lengths = (None, 900_000, 119_000_000, 600_000_000, 7_200_000_000)
    assert [duration(length) for length in lengths] == ["", "0.9 s", "119.0 s", "10.0 min", "2.0 h"]
