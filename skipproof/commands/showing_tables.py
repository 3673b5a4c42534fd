"""The output of the commands on a warehouse of dynamic tables."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from skipproof.commands import showing

if TYPE_CHECKING:
    from dynamic_tables.warehouse.answers import Answer
    from dynamic_tables.warehouse.events import LoggedEvent
    from dynamic_tables.warehouse.statuses import Explanation, TableStatus
    from dynamic_tables.warehouse.verifying import Verdict
    from dynamic_tables.warehouse.warehouse import Warehouse
    from skipproof.commands.tables_demo import Hour


# Details of events that programs alone read.
ONLY_IN_JSON = frozenset({"committed", "sources", "reads", "token"})


def show_message(message: str, *, as_json: bool, **values: Any) -> None:
    """Print what a command did."""
    if as_json:
        showing.print_json({"message": message, **values})
    else:
        print(message)


def show_answer(answer: "Answer", rows_max: int, *, as_json: bool) -> None:
    """Print rows, or what a statement did."""
    if answer.message:
        show_message(answer.message, as_json=as_json)
        return
    rows = answer.rows[:rows_max]
    if as_json:
        showing.print_json({"columns": answer.columns, "rows": rows, "row_count": len(answer.rows)})
    else:
        showing.show_rows(showing.console(), answer.columns, rows, len(answer.rows))


def moment(time_us: int | None) -> str:
    """Return a time in UTC."""
    if time_us is None:
        return ""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def duration(length_us: int | None) -> str:
    """Return a length of time, as people read it.

    >>> duration(61_500_000), duration(250_000), duration(7_200_000_000)
    ('61.5 s', '0.2 s', '2.0 h')
    """
    if length_us is None:
        return ""
    seconds = length_us / 1_000_000
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


def show_statuses(states: Sequence["TableStatus"], holder: str | None) -> None:
    """Print the states of dynamic tables, and who drives the warehouse."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("table", "state", "lag", "target", "mode", "last action", "+rows", "-rows", "rows", "cost"):
        table.add_column(name, overflow="fold")
    for state in states:
        table.add_row(
            escape(state.name),
            state.state,
            duration(state.lag_us),
            duration(state.target_us),
            state.mode.lower(),
            state.action,
            str(state.inserted),
            str(state.deleted),
            str(state.rows),
            duration(state.cost_us),
        )
    out = showing.console()
    out.print(table)
    for state in states:
        if state.detail:
            out.print(escape(f"{state.name}: {state.detail}"))
        if state.why_full:
            out.print(escape(f"{state.name} is computed in full: {state.why_full}"))
    out.print(escape(f"driven by {holder}" if holder else "no driver runs: `skipproof tables run` is one"))


def event_line(name: str, event: "LoggedEvent") -> str:
    """Return an event as one line."""
    body = dict(event.body)
    if "data_us" in body:
        body["data"] = moment(body.pop("data_us"))
    shown = (part for part in body if not part.endswith("_us") and part not in ONLY_IN_JSON)
    details = ", ".join(f"{part} {body[part]}" for part in shown)
    return f"{moment(event.at_us)}  {event.kind.value}  {name}  {details}"


def event_dict(name: str, event: "LoggedEvent") -> dict[str, Any]:
    """Return an event for JSON."""
    return {
        "number": event.number,
        "at_us": event.at_us,
        "table": name,
        "kind": event.kind.value,
        **event.body,
    }


def show_events(events: Sequence[tuple[str, "LoggedEvent"]], *, as_json: bool) -> None:
    """Print events."""
    if as_json:
        showing.print_json([event_dict(name, event) for name, event in events])
        return
    for name, event in events:
        print(event_line(name, event))


class EventLines:
    """The events of a running driver, each printed once: as a line, or as a line of JSON."""

    def __init__(self, warehouse: "Warehouse", *, as_json: bool) -> None:
        self.warehouse = warehouse
        self.as_json = as_json
        self.last = warehouse.account.events.newest()

    def show_new(self) -> None:
        """Print the events since the last call."""
        events = self.warehouse.account.events.read(after=self.last)
        for event in reversed(events):
            self.last = event.number
            entity = self.warehouse.account.catalog.state.entities.get(event.identity)
            name = "" if entity is None else entity.name
            if self.as_json:
                print(json.dumps(event_dict(name, event)), flush=True)
            else:
                print(event_line(name, event), flush=True)


def show_hour(hour: "Hour") -> None:
    """Print one hour of the demo."""
    kinds = ", ".join(f"{hour.actions.count(kind)} {kind}" for kind in sorted(set(hour.actions)))
    print(
        f"January {hour.day}, {hour.hour:2} h: {hour.arrived:3} flights, {hour.changed:4} rows changed "
        f"by {kinds} in {hour.milliseconds:.0f} ms",
        flush=True,
    )


def show_verdicts(verdicts: Sequence["Verdict"]) -> None:
    """Print comparisons of tables with their queries."""
    for verdict in verdicts:
        outcome = f"{verdict.wrong_count} wrong rows" if verdict.wrong_count else "as its query"
        detail = f": {verdict.detail}" if verdict.detail else ""
        print(f"{verdict.name}: {outcome if verdict.checked else 'not compared'}{detail}")


def show_explanation(explanation: "Explanation") -> None:
    """Print how a table is maintained."""
    print(f"{explanation.name}, refresh mode {explanation.mode}, in {explanation.location}")
    if explanation.obstacle:
        print(f"the whole result is computed each time: {explanation.obstacle}")
    else:
        for node in explanation.nodes:
            print(f"{'  ' * (node.depth + 1)}{node.operator}: {node.way}")
    print(f"a refresh now: {explanation.action}, because {explanation.cause}")
    for name, count in explanation.changed_rows.items():
        print(f"  {name}: {count} changed rows")
    print(f"  rows of all tables that it reads: {explanation.rows}")
