"""The commands on a warehouse of dynamic tables: `skipproof tables`."""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pruning.errors import InputError
from skipproof import extras
from skipproof.commands import showing, showing_tables
from skipproof.commands.cli_options import Json, check_positive
from skipproof.commands.endings import VIOLATED, Commands
from skipproof.commands.flights import flights as flights_of_demo
from skipproof.sessions import spark_session

if TYPE_CHECKING:
    from dynamic_tables.warehouse.warehouse import Warehouse

tables = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Dynamic tables: results of queries that are kept up to date.",
)

WarehouseOption = Annotated[
    Path,
    typer.Option(
        "--warehouse",
        metavar="DIR",
        envvar="SKIPPROOF_WAREHOUSE",
        help="The directory of the warehouse.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A dynamic table.")]
Rows = Annotated[int, typer.Option("--rows", min=0, help="How many rows to print.")]


@contextlib.contextmanager
def open_place(directory: Path) -> Iterator["Warehouse"]:
    """Open a warehouse; Spark starts when something is too much for Python, and ends with the command."""
    with extras.importing(extras.TABLES):
        import dynamic_tables.warehouse.warehouse as warehouses
    with contextlib.ExitStack() as started:
        sessions: list[Any] = []

        def session() -> Any:
            if not sessions:
                sessions.append(started.enter_context(spark_session()))
            return sessions[0]

        warehouse = warehouses.open(directory, session)
        started.callback(warehouse.close)
        yield warehouse


@tables.command()
def init(
    warehouse: WarehouseOption,
    format: Annotated[
        str, typer.Option("--format", help="The format of the tables: parquet, delta or iceberg.")
    ] = "parquet",
    as_json: Json = False,
) -> None:
    """Make a new warehouse."""
    with extras.importing(extras.TABLES):
        import dynamic_tables.warehouse.warehouse as warehouses
    warehouses.init(warehouse, format=format)
    showing_tables.show_message(f"{warehouse} is a warehouse now", as_json=as_json)


@tables.command()
def sql(
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="One statement of SQL.")],
    warehouse: WarehouseOption,
    rows: Rows = 20,
    as_json: Json = False,
) -> None:
    """Run a statement: CREATE, ALTER, DROP, INSERT, UPDATE, DELETE, MERGE or SELECT."""
    with open_place(warehouse) as place:
        showing_tables.show_answer(place.sql(statement), rows, as_json=as_json)


@tables.command()
def query(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT.")],
    warehouse: WarehouseOption,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="A past time.", show_default="now"),
    ] = None,
    rows: Rows = 20,
    as_json: Json = False,
) -> None:
    """Query tables as they are now, or were at a data timestamp."""
    with open_place(warehouse) as place:
        answer = place.query(query, as_of_us=None if as_of is None else microseconds(as_of))
        showing_tables.show_answer(answer, rows, as_json=as_json)


def microseconds(text: str) -> int:
    """Return a time as microseconds since 1970; without a zone it is in UTC.

    Raises:
        InputError: The text is no time.
    """
    if text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--as-of {text}: give a time like 2026-11-26T10:00:00, or microseconds") from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1_000_000)


@tables.command()
def refresh(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Refresh a table and everything that it is computed from, as of now."""
    with open_place(warehouse) as place:
        place.refresh(name)
        ((_, event),) = place.history(name, limit=1)
        showing_tables.show_message(f"{name} is refreshed", as_json=as_json, number=event.number)


@tables.command()
def run(
    warehouse: WarehouseOption,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Refreshes that are computed at a time.")
    ] = 2,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", callback=check_positive, help="End after this time.", show_default="until Ctrl-C"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Keep the tables within their target lags; another process may take over when this one ends."""
    with open_place(warehouse) as place:
        driver = place.driver(workers=workers)
        end = None if seconds is None else time.monotonic() + seconds
        log = showing_tables.EventLines(place, as_json=as_json)

        def is_over() -> bool:
            log.show_new()
            return end is not None and time.monotonic() >= end

        driver.run(is_over)
        log.show_new()


@tables.command()
def status(warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Show the state of each dynamic table."""
    with open_place(warehouse) as place:
        states = place.status()
        if as_json:
            showing.print_json([asdict(state) for state in states])
        else:
            showing_tables.show_statuses(states, place.driven_by())


@tables.command()
def history(
    warehouse: WarehouseOption,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A dynamic table.", show_default="all")
    ] = None,
    rows: Rows = 20,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write histories there, for `skipproof history`."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was written, refreshed, skipped or failed, newest first."""
    with open_place(warehouse) as place:
        if export is not None:
            lines = [json.dumps(history) for history in place.isolation_histories()]
            export.write_text("\n".join(lines) + "\n", encoding="utf-8")
            showing_tables.show_message(f"{len(lines)} histories are written to {export}", as_json=as_json)
            return
        showing_tables.show_events(place.history(name, limit=rows), as_json=as_json)


@tables.command()
def explain(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Show how a table is maintained, and what a refresh now would do; nothing is refreshed."""
    with open_place(warehouse) as place:
        explanation = place.explain(name)
        if as_json:
            showing.print_json(asdict(explanation))
        else:
            showing_tables.show_explanation(explanation)


@tables.command()
def verify(
    warehouse: WarehouseOption,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A dynamic table.", show_default="all")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare tables with their queries, computed in full at the same versions of what they read."""
    with open_place(warehouse) as place:
        verdicts = place.verify(name)
        if as_json:
            showing.print_json([asdict(verdict) for verdict in verdicts])
        else:
            showing_tables.show_verdicts(verdicts)
    if any(verdict.wrong_count for verdict in verdicts):
        raise typer.Exit(VIOLATED)


@tables.command()
def attach(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new base table.")],
    location: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A table of Delta Lake or Iceberg, or Parquet files."),
    ],
    warehouse: WarehouseOption,
    key: Annotated[
        str, typer.Option("--key", metavar="COLUMNS", help="Columns whose values are unique, as a,b.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Make a base table that follows a table which others write."""
    with open_place(warehouse) as place:
        place.attach(name, location, key=[column.strip() for column in key.split(",") if column.strip()])
        showing_tables.show_message(f"{name} follows {location}", as_json=as_json)


@tables.command()
def publish(
    name: Name,
    location: Annotated[str, typer.Argument(metavar="PATH", help="The directory of the copy.")],
    warehouse: WarehouseOption,
    format: Annotated[str, typer.Option("--format", help="delta or iceberg; none to stop.")] = "delta",
    as_json: Json = False,
) -> None:
    """Keep a copy of a table that other programs read, as fresh as the table."""
    with open_place(warehouse) as place:
        place.publish(name, location, "" if format == "none" else format)
        showing_tables.show_message(f"{name} is published at {location}", as_json=as_json)


@tables.command()
def compact(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A table.")],
    warehouse: WarehouseOption,
    as_json: Json = False,
) -> None:
    """Write small files of a table anew; its rows stay the same."""
    with open_place(warehouse) as place:
        done = place.compact(name)
        message = f"{name} is compacted" if done else f"another writer changed {name} meanwhile: try again"
        showing_tables.show_message(message, as_json=as_json)


@tables.command()
def expire(
    warehouse: WarehouseOption,
    hours: Annotated[float, typer.Option("--hours", callback=check_positive, help="The time to keep.")] = 168,
    as_json: Json = False,
) -> None:
    """Remove versions, data timestamps and events of earlier times, which no refresh needs."""
    with open_place(warehouse) as place:
        removed = place.expire(place.account.now_us() - round(hours * 3_600_000_000))
        message = (
            f"{removed.versions} versions, {removed.files} files, {removed.timestamps} data timestamps and "
            f"{removed.events} events are removed"
        )
        showing_tables.show_message(message, as_json=as_json, **asdict(removed))


@tables.command()
def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="DIR", help="Make the warehouse here.", show_default="a temporary one"
        ),
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=31, help="Days of January 2013.")] = 2,
    as_json: Json = False,
) -> None:
    """Keep four tables up to date while real flights arrive hour by hour, and verify them."""
    with extras.importing(extras.TABLES):
        import dynamic_tables.warehouse.warehouse as warehouses
        from skipproof.commands import tables_demo
    flights = flights_of_demo()
    with tempfile.TemporaryDirectory(prefix="skipproof-tables-") as temporary:
        directory = Path(temporary) / "warehouse" if keep is None else keep
        warehouses.init(directory)
        with open_place(directory) as place:
            tables_demo.prepare(place)
            hours = []
            for hour in tables_demo.run(place, flights, days):
                hours.append(hour)
                if not as_json:
                    showing_tables.show_hour(hour)
            verdicts = place.verify()
            if as_json:
                showing.print_json(
                    {"hours": list(map(asdict, hours)), "verdicts": list(map(asdict, verdicts))}
                )
            else:
                answer = place.query("SELECT * FROM late_by_airline ORDER BY flights DESC LIMIT 5")
                showing_tables.show_answer(answer, 5, as_json=False)
                print(tables_demo.summary(hours, verdicts, directory))
    if any(verdict.wrong_count for verdict in verdicts):
        raise typer.Exit(VIOLATED)


def change(warehouse: Path, statement: str, as_json: bool) -> None:
    """Run a statement that changes the catalog."""
    with open_place(warehouse) as place:
        showing_tables.show_answer(place.sql(statement), 0, as_json=as_json)


@tables.command()
def alter(
    name: Name,
    warehouse: WarehouseOption,
    target_lag: Annotated[
        str, typer.Option("--target-lag", metavar="LAG", help="As '5 minutes', or DOWNSTREAM.")
    ],
    as_json: Json = False,
) -> None:
    """Change the target lag of a table."""
    lag = target_lag if target_lag.upper() == "DOWNSTREAM" else f"'{target_lag}'"
    change(warehouse, f"ALTER DYNAMIC TABLE {name} SET TARGET_LAG = {lag}", as_json)


@tables.command()
def suspend(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Stop scheduled refreshes of a table, and of all that read it."""
    change(warehouse, f"ALTER DYNAMIC TABLE {name} SUSPEND", as_json)


@tables.command()
def resume(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Start scheduled refreshes of a table again."""
    change(warehouse, f"ALTER DYNAMIC TABLE {name} RESUME", as_json)


@tables.command()
def drop(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Drop a table; it can be restored."""
    change(warehouse, f"DROP TABLE {name}", as_json)


@tables.command()
def undrop(name: Name, warehouse: WarehouseOption, as_json: Json = False) -> None:
    """Restore the table dropped last under a name."""
    change(warehouse, f"UNDROP TABLE {name}", as_json)
