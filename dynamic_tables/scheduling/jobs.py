"""The jobs of tables: which of them run, which wait for others, and the effects when one ends."""

from collections.abc import Iterable
from heapq import heappop, heappush

from dynamic_tables.scheduling.events import Command, Fail, Reason, Skip, StartRefresh, Trigger
from dynamic_tables.scheduling.tracking import NEVER_US, WAITING, Job, TrackedTable


class Jobs:
    """All jobs of one scheduler.

    A table's jobs run one after the other (R-DVS-30). A job starts as soon as no table that it reads still
    has to get its timestamp (R-DVS-72).

    Attributes:
        now_us: The time of the present step.
        commands: The commands of the present step so far.
        running: The tables whose first job is running.
    """

    def __init__(self) -> None:
        """Start without jobs."""
        self.now_us = NEVER_US
        self.commands: list[Command] = []
        self.running: dict[TrackedTable, None] = {}
        # The time, a count that orders equal times, the table, its job, and the attempt.
        self._later: list[tuple[int, int, TrackedTable, Job, int]] = []
        self._later_count = 0

    def add(self, table: TrackedTable, data_us: int, trigger: Trigger) -> None:
        """Add a job, and start it if nothing blocks it."""
        table.jobs.append(Job(data_us, trigger, self.waits(table, data_us), self.now_us))
        self.start_next(table)

    def waits(self, table: TrackedTable, data_us: int) -> int:
        """Return the number of sources of a table that have yet to get a timestamp."""
        count = 0
        for source in table.upstream:
            if source.jobs and source.is_to_get(data_us):
                count += 1
        return count

    def start_next(self, table: TrackedTable) -> None:
        """Start the first job of a table if it waits for nothing more."""
        if table.jobs:
            job = table.jobs[0]
            if job.started_us == WAITING and job.waits == 0:
                self.start(table, job)

    def start(self, table: TrackedTable, job: Job) -> None:
        """Start an attempt at a job."""
        job.started_us = job.heartbeat_us = self.now_us
        job.flagged = job.resting = False
        self.running[table] = None
        self.commands.append(StartRefresh(table.table, job.data_us, job.attempt, job.trigger))

    def finish(self, table: TrackedTable) -> None:
        """Complete the first job of a table, and start the jobs that waited for it."""
        data_us = table.jobs.pop(0).data_us
        self.running.pop(table, None)
        table.record_refresh(data_us)
        for reader in table.downstream:
            for waiting in reader.jobs:
                if waiting.data_us == data_us and waiting.started_us == WAITING:
                    waiting.waits -= 1
                    self.start_next(reader)
        if table.jobs:
            self.start_next(table)

    def fail(self, table: TrackedTable) -> None:
        """End the running job of a table without giving the table its timestamp."""
        job = table.jobs.pop(0)
        self.running.pop(table, None)
        self.not_got(table, job.data_us)
        self.start_next(table)

    def not_got(self, table: TrackedTable, data_us: int) -> None:
        """Cancel the jobs that wait for a timestamp that a table will not get (R-DVS-36)."""
        self.cancel(table.downstream, data_us, Reason.UPSTREAM)

    def cancel(self, tables: Iterable[TrackedTable], data_us: int, reason: Reason) -> None:
        """Cancel a timestamp for tables that have not started on it, and for tables that wait for them."""
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

    def check(self, table: TrackedTable) -> None:
        """Update the jobs of a table that have not started, after its sources changed."""
        for job in [job for job in table.jobs if job.started_us == WAITING]:
            if all(source.has(job.data_us) or source.is_to_get(job.data_us) for source in table.upstream):
                job.waits = self.waits(table, job.data_us)
            else:
                self.cancel([table], job.data_us, Reason.UPSTREAM)
        self.start_next(table)

    def retry(self, table: TrackedTable, after_us: int) -> None:
        """Plan another attempt at the running job, after a delay."""
        job = table.jobs[0]
        job.attempt += 1
        job.resting = True
        self.running.pop(table, None)
        self._later_count += 1
        heappush(self._later, (self.now_us + after_us, self._later_count, table, job, job.attempt))

    def next_retry_us(self) -> int | None:
        """Return the time of the next planned attempt; None if none is planned."""
        return self._later[0][0] if self._later else None

    def start_retries(self) -> None:
        """Start the attempts whose time has come."""
        while self._later and self._later[0][0] <= self.now_us:
            _, _, table, job, attempt = heappop(self._later)
            if table.running is job and job.attempt == attempt:
                self.start(table, job)
