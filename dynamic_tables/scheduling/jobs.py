"""The jobs of tables: which run, which wait for which, and what happens when one ends."""

from collections.abc import Iterable
from heapq import heappop, heappush

from dynamic_tables.scheduling.events import Command, Fail, Reason, Skip, StartRefresh, Trigger
from dynamic_tables.scheduling.tracking import NEVER_US, WAITING, Job, Tracked


class Jobs:
    """All jobs of one scheduler.

    A table's jobs run one after the other (R-DVS-30), and a job starts when no table that is read is
    still to get its timestamp (R-DVS-72).

    Attributes:
        now_us: The time of the present step.
        commands: Of the present step, so far.
        running: The tables whose first job runs.
    """

    def __init__(self) -> None:
        """No jobs."""
        self.now_us = NEVER_US
        self.commands: list[Command] = []
        self.running: dict[Tracked, None] = {}
        # When, a count that orders equal times, the table, its job and the attempt.
        self._later: list[tuple[int, int, Tracked, Job, int]] = []
        self._later_count = 0

    def add(self, table: Tracked, data_us: int, trigger: Trigger) -> None:
        """Plan a job; it may start at once."""
        table.jobs.append(Job(data_us, trigger, self.waits(table, data_us), self.now_us))
        self.start_next(table)

    def waits(self, table: Tracked, data_us: int) -> int:
        """How many of the tables that it reads are still to get a timestamp."""
        count = 0
        for source in table.upstream:
            if source.jobs and source.is_to_get(data_us):
                count += 1
        return count

    def start_next(self, table: Tracked) -> None:
        """Start the first job of a table, if it waits for nothing any more."""
        if table.jobs:
            job = table.jobs[0]
            if job.started_us == WAITING and job.waits == 0:
                self.start(table, job)

    def start(self, table: Tracked, job: Job) -> None:
        """Start an attempt."""
        job.started_us = job.heartbeat_us = self.now_us
        job.flagged = job.resting = False
        self.running[table] = None
        self.commands.append(StartRefresh(table.table, job.data_us, job.attempt, job.trigger))

    def finish(self, table: Tracked) -> None:
        """A table got the timestamp of its first job."""
        data_us = table.jobs.pop(0).data_us
        self.running.pop(table, None)
        table.finished(data_us)
        for reader in table.downstream:
            for waiting in reader.jobs:
                if waiting.data_us == data_us and waiting.started_us == WAITING:
                    waiting.waits -= 1
                    self.start_next(reader)
        if table.jobs:
            self.start_next(table)

    def fail(self, table: Tracked) -> None:
        """The running job of a table ends without its timestamp."""
        job = table.jobs.pop(0)
        self.running.pop(table, None)
        self.not_got(table, job.data_us)
        self.start_next(table)

    def not_got(self, table: Tracked, data_us: int) -> None:
        """A table does not get a timestamp: none of those that wait for it does (R-DVS-36)."""
        self.give_up(table.downstream, data_us, Reason.UPSTREAM)

    def give_up(self, tables: Iterable[Tracked], data_us: int, reason: Reason) -> None:
        """Take away a timestamp from tables that have not started on it, and from all that wait for them."""
        open_tables = [(table, reason) for table in tables]
        stopped = []
        while open_tables:
            table, why = open_tables.pop()
            job = next((job for job in table.jobs if job.data_us == data_us), None)
            if job is None or job.started_us != WAITING:
                continue
            table.jobs.remove(job)
            stopped.append(table)
            if job.trigger is Trigger.SCHEDULED:
                self.commands.append(Skip(table.table, data_us, why))
            else:
                self.commands.append(Fail(table.table, data_us, job.trigger, why))
            open_tables += [(reader, Reason.UPSTREAM) for reader in table.downstream]
        for table in stopped:
            self.start_next(table)

    def check(self, table: Tracked) -> None:
        """After it reads other tables, jobs that have not started wait for these."""
        for job in [job for job in table.jobs if job.started_us == WAITING]:
            if all(source.has(job.data_us) or source.is_to_get(job.data_us) for source in table.upstream):
                job.waits = self.waits(table, job.data_us)
            else:
                self.give_up([table], job.data_us, Reason.UPSTREAM)
        self.start_next(table)

    def try_again(self, table: Tracked, after_us: int) -> None:
        """The running attempt failed; another follows after a while."""
        job = table.jobs[0]
        job.attempt += 1
        job.resting = True
        self.running.pop(table, None)
        self._later_count += 1
        heappush(self._later, (self.now_us + after_us, self._later_count, table, job, job.attempt))

    def due_us(self) -> int | None:
        """When the next attempt follows; None if none is to."""
        return self._later[0][0] if self._later else None

    def start_due(self) -> None:
        """Start the attempts that were to follow by now."""
        while self._later and self._later[0][0] <= self.now_us:
            _, _, table, job, attempt = heappop(self._later)
            if table.running is job and job.attempt == attempt:
                self.start(table, job)
