"""What happened to dynamic tables: events of the trace. Tables are told by identity; `Named` tells names."""

from sim.kernel.trace import Event


class Named(Event, frozen=True, kw_only=True, tag="Named"):
    """An identity stands under a name from now on."""

    table: str
    name: str
    kind: str


class Executed(Event, frozen=True, kw_only=True, tag="Executed"):
    """A statement was executed, or `refused` with a reason."""

    sql: str
    node: int
    refused: str


class Asked(Event, frozen=True, kw_only=True, tag="Asked"):
    """A user asks for a refresh, at `asked_us` by the clock of the user's node; `Executed` follows."""

    table: str
    asked_us: int


class Wrote(Event, frozen=True, kw_only=True, tag="Wrote"):
    """A user's transaction changed a table, or was `aborted`."""

    transaction: int
    table: str
    rows: int
    aborted: bool


class ReadDone(Event, frozen=True, kw_only=True, tag="ReadDone"):
    """A user's transaction has read a dynamic table, which is that much behind."""

    transaction: int
    table: str
    data_us: int
    lag_us: int


class Ordered(Event, frozen=True, kw_only=True, tag="Ordered"):
    """The scheduler ordered a refresh, `at_tick` if a tick made it.

    A table that is not scheduled has period 0. `above_us` is the longest period of the tables that it reads.
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
    """A worker of a warehouse has begun to compute, and will take so long."""

    table: str
    data_us: int
    attempt: int
    warehouse: str
    takes_us: int


class Committed(Event, frozen=True, kw_only=True, tag="Committed"):
    """A refresh is committed; its lag was and is now so much."""

    table: str
    data_us: int
    attempt: int
    action: str
    inserted: int
    deleted: int
    peak_us: int
    trough_us: int


class CommittedAlready(Event, frozen=True, kw_only=True, tag="CommittedAlready"):
    """A refresh found that the table has its timestamp, or what it started from is passed."""

    table: str
    data_us: int
    attempt: int


class Failed(Event, frozen=True, kw_only=True, tag="Failed"):
    """A refresh failed; `validation` is that which failed it, or 0."""

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


class Told(Event, frozen=True, kw_only=True, tag="Told"):
    """The scheduler heard that a refresh ended: how, by fault, or as a success."""

    table: str
    data_us: int
    attempt: int
    how: str


class Restarted(Event, frozen=True, kw_only=True, tag="Restarted"):
    """Another scheduler took the place of one that was lost; of refreshes on their way it knows nothing."""


class Skipped(Event, frozen=True, kw_only=True, tag="Skipped"):
    """The scheduler passed over a timestamp."""

    table: str
    data_us: int
    reason: str


class NotStarted(Event, frozen=True, kw_only=True, tag="NotStarted"):
    """A refresh that nothing may skip failed before it began."""

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
    """The operators were told of a refresh without a heartbeat."""

    table: str
    data_us: int
    silent_us: int


class MessageTroubled(Event, frozen=True, kw_only=True, tag="MessageTroubled"):
    """A message was lost or doubled."""

    message: str
    how: str


class Purged(Event, frozen=True, kw_only=True, tag="Purged"):
    """What was overwritten before a time is forgotten."""

    horizon_us: int


class Broken(Event, frozen=True, kw_only=True, tag="Broken"):
    """Something raised what it never should; its type and text."""

    what: str


class Misstated(Event, frozen=True, kw_only=True, tag="Misstated"):
    """The state that is told of a table is none that it can have."""

    table: str
    told: str
    what: str


class Judged(Event, frozen=True, kw_only=True, tag="Judged"):
    """At the end: how a table stands to its target lag, and why if it is beyond, if that is known."""

    table: str
    condition: str
    lag_us: int
    target_us: int
    because: str
    unexplained: bool
