"""The invariants of every run of dynamic tables, as pure functions of its trace and record.

=======  ============================================================================================
DVS-1    contents equal what the defining query gives at the data timestamp, after every refresh
DVS-2    each source was read at exactly that timestamp
DVS-3    data timestamps increase, and each is committed once, later than itself
DVS-4    readers see what was committed, with its timestamp, and never an older version
DVS-5    a table has one refresh at a time
DVS-6    a refresh starts when all tables that it reads have its timestamp
DVS-7    the lag that readers see agrees with p + w + d
DVS-8    scheduled timestamps are ticks, and a table's period is not shorter than upstream's
DVS-9    nothing is computed where no source changed
DVS-10   the reported state of each table is possible, at any time
DVS-11   a table is suspended after too many errors in a row, not before; then it is not scheduled
DVS-12   once users and faults are quiet, each table meets its target lag, or the reason is reported
DVS-13   no exception is raised that must never be raised
DVS-16   a requested refresh comes after all that the user has committed, by the clock of that node
=======  ============================================================================================

DVS-14 and DVS-15 are claims about histories, and the isolation checker judges them
(`sim.refreshes.histories`).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from dynamic_tables.catalog.entities import State
from dynamic_tables.catalog.graphs import node_of
from dynamic_tables.scheduling.policy import ERRORS_MAX
from dynamic_tables.scheduling.scheduler import ERRORS, TICK_US
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.errors import UserError
from pruning.errors import InputError
from sim.kernel.scenario_schema import Violation
from sim.kernel.trace import Event
from sim.refreshes.events import (
    Broken,
    Committed,
    EndReported,
    Executed,
    Flagged,
    LagJudged,
    Misstated,
    ReadDone,
    RefreshOrdered,
    RefreshRequested,
    Restarted,
    Resumed,
    Suspended,
)
from sim.refreshes.recording import CommittedRefresh
from sim.refreshes.run import RefreshRun
from sim.refreshes.truths import ExpectedContents

_SHOWN_MAX = 3


def violations(run: RefreshRun) -> list[Violation]:
    """Return the violations of all invariants, at most a few of each."""
    reported = []
    for check in CHECKS:
        for number, violation in enumerate(check(run)):
            if number == _SHOWN_MAX:
                break
            reported.append(violation)
    return reported


def check_contents(run: RefreshRun) -> Iterator[Violation]:
    """DVS-1. Contents equal what the defining query gives at the data timestamp."""
    if run.setup.world.persisted:
        return
    truths = ExpectedContents(run.record)
    for refresh in run.record.refreshes:
        try:
            expected = truths.of(refresh.table, refresh.data_us)
        except (InputError, UserError) as error:
            yield _violation("DVS-1", refresh, f"it was refreshed, and its query fails: {error}")
            continue
        if refresh.contents != expected:
            rows = {**expected, **refresh.contents}
            row_id = next(row for row in rows if refresh.contents.get(row) != expected.get(row))
            difference = f"row {row_id} is {refresh.contents.get(row_id)}, not {expected.get(row_id)}"
            yield _violation("DVS-1", refresh, f"{refresh.action}: {difference}")


def check_sources(run: RefreshRun) -> Iterator[Violation]:
    """DVS-2. Each source was read at exactly the data timestamp."""
    if run.setup.world.persisted:
        return
    record, truths = run.record, ExpectedContents(run.record)
    versions = {(refresh.table, refresh.data_us): refresh.version for refresh in record.refreshes}
    for refresh in record.refreshes:
        for source, consumed in refresh.versions.items():
            if source in record.bases:
                expected = truths.base_version(source, refresh.data_us)
            elif refresh.data_us in record.inherited.get(source, ()):
                continue
            else:
                expected = versions.get((source, refresh.data_us), -1)
            if consumed.number != expected:
                yield _violation(
                    "DVS-2", refresh, f"it read version {consumed.number} of {source}, not {expected}"
                )


def check_order(run: RefreshRun) -> Iterator[Violation]:
    """DVS-3. Data timestamps increase, and each commit comes after its own."""
    newest: dict[TableId, int] = {}
    for refresh in run.record.refreshes:
        if refresh.data_us <= newest.get(refresh.table, -1):
            yield _violation("DVS-3", refresh, f"it was at {newest[refresh.table]} us before")
        if refresh.committed.physical_us <= refresh.data_us:
            yield _violation(
                "DVS-3", refresh, f"it was committed at {refresh.committed}, before its own timestamp"
            )
        newest[refresh.table] = refresh.data_us


def check_sights(run: RefreshRun) -> Iterator[Violation]:
    """DVS-4. Readers see what was committed, and never an older version."""
    committed = {(refresh.table, refresh.data_us): refresh for refresh in run.record.refreshes}
    newest: dict[TableId, int] = {}
    for sight in run.record.sights:
        inherited = sight.data_us in run.record.inherited.get(sight.table, ())
        refresh = committed.get((sight.table, sight.data_us))
        what = ""
        if sight.data_us < newest.get(sight.table, -1):
            what = f"a reader sees it at {sight.data_us} us, after {newest[sight.table]} us"
        elif refresh is None and not inherited:
            what = f"a reader sees it at {sight.data_us} us, which was not committed"
        elif refresh is not None and (refresh.at_us > sight.at_us or refresh.contents != sight.contents):
            what = f"a reader sees at {sight.data_us} us what was not committed"
        if what:
            yield Violation(invariant="DVS-4", at_us=sight.at_us, what=f"{sight.table}: {what}")
        newest[sight.table] = sight.data_us


def check_one_at_a_time(run: RefreshRun) -> Iterator[Violation]:
    """DVS-5. A flagged refresh may be taken for lost; a new scheduler knows of no refresh."""
    running: dict[TableId, RefreshOrdered] = {}
    flagged: set[TableId] = set()
    for event in run.trace:
        match event:
            case Restarted():
                running.clear()
            case Flagged():
                flagged.add(event.table)
            case EndReported():
                order = running.get(event.table)
                if (
                    order is not None
                    and order.data_us == event.data_us
                    and event.attempt in (-1, order.attempt)
                ):
                    del running[event.table]
            case RefreshOrdered():
                order = running.get(event.table)
                if order is not None and event.table not in flagged:
                    what = f"{event.data_us} us is started while {order.data_us} us runs"
                    yield Violation(invariant="DVS-5", at_us=event.at_us, what=f"{event.table}: {what}")
                running[event.table] = event
                flagged.discard(event.table)


def check_upstream_first(run: RefreshRun) -> Iterator[Violation]:
    """DVS-6, for first attempts: a later one may find that upstream was replaced, and fails then."""
    have: set[tuple[TableId, int]] = set()
    for event, state in _with_states(run):
        if isinstance(event, Committed):
            have.add((event.table, event.data_us))
        elif isinstance(event, RefreshOrdered) and event.attempt == 0 and event.table in state.entities:
            for source in node_of(state, state.entities[event.table]).upstream:
                inherited = event.data_us in run.record.inherited.get(source, ())
                if (source, event.data_us) not in have and not inherited:
                    what = f"{event.data_us} us is started before {source} has it"
                    yield Violation(invariant="DVS-6", at_us=event.at_us, what=f"{event.table}: {what}")


def check_lag(run: RefreshRun) -> Iterator[Violation]:
    """DVS-7. Lag is e - v; it is at most p + w + d of the refresh that ends it."""
    began: dict[tuple[TableId, int], int] = {}
    newest: dict[TableId, Committed] = {}
    most: dict[TableId, ReadDone] = {}
    for event in run.trace:
        match event:
            case RefreshOrdered(attempt=0):
                began[event.table, event.data_us] = event.at_us
            case ReadDone():
                last = newest.get(event.table)
                if last is not None and event.lag_us != event.at_us - last.data_us:
                    what = f"readers see {event.lag_us} us, not {event.at_us - last.data_us} us"
                    yield Violation(invariant="DVS-7", at_us=event.at_us, what=f"{event.table}: {what}")
                most[event.table] = event
            case Committed():
                last, read = newest.get(event.table), most.pop(event.table, None)
                start = began.get((event.table, event.data_us))
                if last is not None and start is not None:
                    period, wait = event.data_us - last.data_us, start - event.data_us
                    peak = period + wait + (event.at_us - start)
                    if peak != event.peak_us or (read is not None and read.lag_us > peak):
                        what = f"lag is {event.peak_us} us and seen as {read and read.lag_us}, not {peak} us"
                        yield Violation(invariant="DVS-7", at_us=event.at_us, what=f"{event.table}: {what}")
                newest[event.table] = event


def check_alignment(run: RefreshRun) -> Iterator[Violation]:
    """DVS-8. Scheduled timestamps are ticks of the table's period."""
    phase = run.setup.world.phase_us
    for event in run.trace:
        if not isinstance(event, RefreshOrdered) or event.trigger != "scheduled":
            continue
        what = ""
        if (event.data_us - phase) % TICK_US:
            what = f"{event.data_us} us is no tick"
        elif event.at_tick and event.attempt == 0 and event.at_us - event.data_us < TICK_US // 2:
            # Other orders may belong to periods that were changed since.
            if event.above_us > event.period_us:
                what = f"its period {event.period_us} us is shorter than {event.above_us} us upstream"
            elif not event.period_us or (event.data_us - phase) % event.period_us:
                what = f"{event.data_us} us is no tick of its period {event.period_us} us"
        if what:
            yield Violation(invariant="DVS-8", at_us=event.at_us, what=f"{event.table}: {what}")


def check_actions(run: RefreshRun) -> Iterator[Violation]:
    """DVS-9. No refresh computes anything if no source changed."""
    record = run.record
    last: dict[TableId, CommittedRefresh] = {}
    for refresh in record.refreshes:
        before = last.get(refresh.table)
        last[refresh.table] = refresh
        if before is None or refresh.cause not in ("changed", "mode"):
            continue
        changed = False
        for source, consumed in refresh.versions.items():
            old = before.versions.get(source)
            if source in record.bases and old is not None:
                held = [contents for _, contents in record.bases[source][old.number : consumed.number + 1]]
                changed |= any(contents != other for contents, other in pairwise(held))
            else:
                changed |= old is None or old.number != consumed.number
        if not changed:
            yield _violation("DVS-9", refresh, f"{refresh.action}, and no source changed")


def check_states(run: RefreshRun) -> Iterator[Violation]:
    """DVS-10. The reported state of each table is possible."""
    for event in run.trace:
        if isinstance(event, Misstated):
            what = f"{event.table} is told {event.told}: {event.what}"
            yield Violation(invariant="DVS-10", at_us=event.at_us, what=what)


def check_suspension(run: RefreshRun) -> Iterator[Violation]:
    """DVS-11. A new scheduler counts errors from 0, and does not suspend or resume a table by starting."""
    errors: dict[TableId, int] = {}
    orders: dict[TableId, RefreshOrdered] = {}
    suspended: set[TableId] = set()
    started_us = -1
    for event, state in _with_states(run):
        match event:
            case Restarted(at_us=started_us):
                errors.clear()
                orders.clear()
            case Suspended() | Resumed() if event.at_us == started_us:
                how = "suspended" if isinstance(event, Suspended) else "resumed"
                what = f"{event.table}: {how} by the start of a scheduler"
                yield Violation(invariant="DVS-11", at_us=started_us, what=what)
            case RefreshOrdered():
                entity = state.entities.get(event.table)
                now = entity is not None and entity.suspended is not None
                if event.table in suspended and not now:
                    errors.pop(event.table, None)
                (suspended.add if now else suspended.discard)(event.table)
                what = ""
                if event.trigger == "scheduled" and event.attempt == 0 and event.at_tick and now:
                    what = "it is suspended, and refreshed"
                elif event.trigger == "scheduled" and errors.get(event.table, 0) > ERRORS_MAX and not now:
                    what = f"it is refreshed after {errors[event.table]} errors in a row"
                if what:
                    yield Violation(invariant="DVS-11", at_us=event.at_us, what=f"{event.table}: {what}")
                orders[event.table] = event
            case EndReported():
                order = orders.get(event.table)
                if order is not None and (order.data_us, order.attempt) == (event.data_us, event.attempt):
                    del orders[event.table]
                    if event.how == "user" and order.trigger == "scheduled":
                        errors[event.table] = errors.get(event.table, 0) + 1
                elif event.how == "finished" and order is not None and order.data_us == event.data_us:
                    del orders[event.table]
                    errors.pop(event.table, None)
            case Suspended(reason=reason) if reason == ERRORS:
                suspended.add(event.table)
                if errors.get(event.table, 0) <= ERRORS_MAX:
                    what = f"suspended after {errors.get(event.table, 0)} errors in a row"
                    yield Violation(invariant="DVS-11", at_us=event.at_us, what=f"{event.table}: {what}")


def check_settled(run: RefreshRun) -> Iterator[Violation]:
    """DVS-12. Each table meets its target lag at the end, or the reason is known."""
    for event in run.trace:
        if isinstance(event, LagJudged) and event.unexplained:
            what = f"{event.condition}, {event.lag_us} us behind, and its target is {event.target_us} us"
            yield Violation(invariant="DVS-12", at_us=event.at_us, what=f"{event.table}: {what}")


def check_nothing_broke(run: RefreshRun) -> Iterator[Violation]:
    """DVS-13. No exception was raised that must never be raised."""
    for event in run.trace:
        if isinstance(event, Broken):
            yield Violation(invariant="DVS-13", at_us=event.at_us, what=event.what)


def check_manual(run: RefreshRun) -> Iterator[Violation]:
    """DVS-16, for refreshes that start at once; those that wait received their timestamp then, too."""
    request: RefreshRequested | None = None
    for event in run.trace:
        match event:
            case RefreshRequested():
                request = event
            case Executed():
                request = None
            case RefreshOrdered(trigger="manual") if (
                request is not None and event.data_us <= request.asked_us
            ):
                what = f"{event.data_us} us is asked for at {request.asked_us} us"
                yield Violation(invariant="DVS-16", at_us=event.at_us, what=f"{event.table}: {what}")


CHECKS: tuple[Callable[[RefreshRun], Iterator[Violation]], ...] = (
    check_contents,
    check_sources,
    check_order,
    check_sights,
    check_one_at_a_time,
    check_upstream_first,
    check_lag,
    check_alignment,
    check_actions,
    check_states,
    check_suspension,
    check_settled,
    check_nothing_broke,
    check_manual,
)


def _with_states(run: RefreshRun) -> Iterator[tuple[Event, State]]:
    """Yield each event with the state of the catalog at that moment."""
    states = iter(run.record.states)
    following = next(states, None)
    state = State()
    for place, event in enumerate(run.trace):
        while following is not None and following.place <= place:
            state = following.state
            following = next(states, None)
        yield event, state


def _violation(invariant: str, refresh: CommittedRefresh, what: str) -> Violation:
    return Violation(
        invariant=invariant, at_us=refresh.at_us, what=f"{refresh.table} at {refresh.data_us} us: {what}"
    )
