"""The trace events of dynamic tables. Events hold identities of tables; `Named` gives their names."""

from sim.kernel.trace import Event


class Named(Event, frozen=True, kw_only=True, tag="Named"):
    """An identity has a name from now on."""

    table: str
    name: str
    kind: str


class Executed(Event, frozen=True, kw_only=True, tag="Executed"):
    """A statement was executed, or `refused` with a reason."""

    sql: str
    node: int
    refused: str


class RefreshRequested(Event, frozen=True, kw_only=True, tag="Asked"):
    """A user asked for a refresh, at `asked_us` by the clock of the user's node; `Executed` follows."""

    table: str
    asked_us: int


class Wrote(Event, frozen=True, kw_only=True, tag="Wrote"):
    """A user's transaction changed a table, or was `aborted`."""

    transaction: int
    table: str
    rows: int
    aborted: bool


class ReadDone(Event, frozen=True, kw_only=True, tag="ReadDone"):
    """A user's transaction has read a dynamic table, which lags by `lag_us`."""

    transaction: int
    table: str
    data_us: int
    lag_us: int


class RefreshOrdered(Event, frozen=True, kw_only=True, tag="Ordered"):
    """The scheduler ordered a refresh; `at_tick` is true if a tick caused it.

    The period of a table that is not scheduled is 0. `above_us` is the longest period of the tables it reads.
    """

    table: str
    data_us: int
    attempt: int
    trigger: str
    period_us: int
    above_us: int
    at_tick: bool


class Began(Event, frozen=True, kw_only=True, tag="Began"):
    """A refresh has chosen its action."""

    table: str
    data_us: int
    attempt: int
    node: int
    action: str
    cause: str
    changed: int


class Computing(Event, frozen=True, kw_only=True, tag="Computing"):
    """A worker of a warehouse has begun to compute; this takes `takes_us`."""

    table: str
    data_us: int
    attempt: int
    warehouse: str
    takes_us: int


class Committed(Event, frozen=True, kw_only=True, tag="Committed"):
    """A refresh was committed; lag was `peak_us` before it and is `trough_us` after it."""

    table: str
    data_us: int
    attempt: int
    action: str
    inserted: int
    deleted: int
    peak_us: int
    trough_us: int


class CommittedAlready(Event, frozen=True, kw_only=True, tag="CommittedAlready"):
    """A refresh found that the table has its timestamp already, or a later one than it started from."""

    table: str
    data_us: int
    attempt: int


class Failed(Event, frozen=True, kw_only=True, tag="Failed"):
    """A refresh failed; `validation` is the number of the validation that failed it, or 0."""

    table: str
    data_us: int
    attempt: int
    fault: str
    validation: int
    because: str


class Died(Event, frozen=True, kw_only=True, tag="Died"):
    """The worker of a refresh died."""

    table: str
    data_us: int
    attempt: int
    phase: str


class EndReported(Event, frozen=True, kw_only=True, tag="Told"):
    """The scheduler heard that a refresh ended; `how` is `finished` or the kind of the fault."""

    table: str
    data_us: int
    attempt: int
    how: str


class Restarted(Event, frozen=True, kw_only=True, tag="Restarted"):
    """A new scheduler replaced a lost one; it knows of no refresh under way."""


class Skipped(Event, frozen=True, kw_only=True, tag="Skipped"):
    """The scheduler skipped a timestamp."""

    table: str
    data_us: int
    reason: str


class NotStarted(Event, frozen=True, kw_only=True, tag="NotStarted"):
    """A refresh that may not be skipped failed before it began."""

    table: str
    data_us: int
    trigger: str
    reason: str


class Suspended(Event, frozen=True, kw_only=True, tag="Suspended"):
    """The scheduler suspended a table."""

    table: str
    reason: str


class Resumed(Event, frozen=True, kw_only=True, tag="Resumed"):
    """The scheduler resumed a table."""

    table: str


class Flagged(Event, frozen=True, kw_only=True, tag="Flagged"):
    """The operators were told of a refresh whose heartbeats stopped."""

    table: str
    data_us: int
    silent_us: int


class MessageTroubled(Event, frozen=True, kw_only=True, tag="MessageTroubled"):
    """A message was lost or doubled."""

    message: str
    how: str


class Purged(Event, frozen=True, kw_only=True, tag="Purged"):
    """Versions that were overwritten before `horizon_us` were purged."""

    horizon_us: int


class Broken(Event, frozen=True, kw_only=True, tag="Broken"):
    """An exception was raised that must never be raised; its type and text."""

    what: str


class Misstated(Event, frozen=True, kw_only=True, tag="Misstated"):
    """The reported state of a table contradicts the facts."""

    table: str
    told: str
    what: str


class LagJudged(Event, frozen=True, kw_only=True, tag="Judged"):
    """The lag of a table at the end of the run, and the reason, if known, for a lag beyond its target."""

    table: str
    condition: str
    lag_us: int
    target_us: int
    because: str
    unexplained: bool
