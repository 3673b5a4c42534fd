"""Accounts of a few statements, and runs of them with other events in their trace."""

from dataclasses import replace

from sim.refreshes.events import Began, Committed, Failed, Named
from sim.refreshes.model import RefreshWorld, Setup, Statement
from sim.refreshes.naming import display_names
from sim.refreshes.run import RefreshRun, run

S = 1_000_000
BASE = "CREATE TABLE s.t (k INTEGER, v INTEGER)"


def table(name: str, lag: str, query: str) -> str:
    """A statement that creates a dynamic table."""
    return f"CREATE DYNAMIC TABLE s.{name} TARGET_LAG = {lag} WAREHOUSE = w AS {query}"


def play(*statements: str | tuple[int, str]) -> RefreshRun:
    """Run statements for 200 s without rows; a number is the second at which a statement comes."""
    given_statements = tuple(
        Statement(sql=one) if isinstance(one, str) else Statement(sql=one[1], at_us=one[0] * S)
        for one in statements
    )
    world = RefreshWorld(until_us=150 * S, settle_us=50 * S)
    return run(Setup(world=world, statement=given_statements), seed=0)


def identities(done: RefreshRun) -> dict[str, str]:
    """Identities by name."""
    return {name: identity for identity, name in display_names(done).items()}


def committed_event(table_id: str, at_s: int, data_s: int, *, peak_s: int = 0) -> Committed:
    """Return the event of a refresh that is committed."""
    return Committed(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=0, action="NO_DATA", inserted=0,
        deleted=0, peak_us=peak_s * S, trough_us=(at_s - data_s) * S,
    )  # fmt: skip


def began(table_id: str, at_s: int, data_s: int, action: str, *, attempt: int = 0) -> Began:
    """Return the event of a refresh that has chosen its action."""
    return Began(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=attempt, node=0, action=action,
        cause="changed", changed=1,
    )  # fmt: skip


def failed_event(table_id: str, at_s: int, data_s: int, fault: str) -> Failed:
    """Return the event of a refresh that failed."""
    return Failed(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=0, fault=fault, validation=0, because=""
    )


def with_trace(done: RefreshRun, *events: object) -> RefreshRun:
    """Return a run with other events; the names of its tables stay."""
    kept = [event for event in done.trace if isinstance(event, Named)]
    return replace(done, trace=[*kept, *events])


ONE = play(BASE, table("d", "'1 minute'", "SELECT k, v FROM t"))
