"""Scenarios of dynamic tables: statements, users and faults."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Template
from typing import Literal

import msgspec

from pruning.errors import InputError
from sim.kernel.model import Model
from sim.kernel.scenario_schema import IsolationClaim, Positive, ScenarioSchema, Violation
from sim.kernel.trace import Trace
from sim.refreshes import faults as faulty
from sim.refreshes.checks import violations
from sim.refreshes.faults import AnyFault, NodeCrash, Skew
from sim.refreshes.histories import histories
from sim.refreshes.measures import measures
from sim.refreshes.model import Reader, RefreshWarehouse, RefreshWorld, Setup, Statement, Writer
from sim.refreshes.results import results
from sim.refreshes.run import RefreshRun, run
from sim.refreshes.worlds import small_world

DYNAMIC_TABLES = "dynamic tables"


class DrawnRefreshFaults(Model, frozen=True, kw_only=True):
    """Faults that are drawn for each seed, in addition to the named ones.

    Attributes:
        tables: The names of tables that may be late or slow.
        bases: Base tables that may be poisoned.
    """

    count_max: Positive = 5
    tables: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()


class RefreshScenario(ScenarioSchema, frozen=True, kw_only=True):
    """A scenario file of dynamic tables.

    Attributes:
        drawn: True if everything is drawn from each seed, and nothing is named.
        sql: Statements that are executed first, in their order, in one text; each ends with a semicolon.
        words: The texts that replace `$name` in `sql`, by name, so that they can vary.
        statement: Statements at their times.
    """

    simulates: Literal["dynamic tables"]
    drawn: bool = False
    world: RefreshWorld = RefreshWorld()
    warehouse: tuple[RefreshWarehouse, ...] = (RefreshWarehouse(),)
    sql: str = ""
    words: dict[str, str] = msgspec.field(default_factory=dict)
    statement: tuple[Statement, ...] = ()
    writer: tuple[Writer, ...] = ()
    reader: tuple[Reader, ...] = ()
    fault: tuple[AnyFault, ...] = ()
    faults_drawn: DrawnRefreshFaults | None = None

    def validate(self) -> "RefreshScenario":
        """Return this scenario if its parts go together.

        Raises:
            InputError: its parts do not go together.
        """
        named = bool(self.sql or self.words or self.statement or self.writer or self.reader or self.fault)
        if self.drawn and (named or self.faults_drawn or self.world != RefreshWorld()):
            raise InputError("`draw_faults` draws the world, statements, users and faults: name none of them")
        if not self.drawn and not (self.sql or self.statement):
            raise InputError("it needs `sql` or a [[statement]], or `draw_faults = true`")
        _fill_words(self.sql, self.words)
        nodes = self.world.nodes
        for part in (*self.statement, *self.writer, *self.reader, *self.fault):
            node = getattr(part, "node", 0)
            if isinstance(part, Statement | Writer | Reader | NodeCrash | Skew) and not 0 <= node < nodes:
                raise InputError(f"there is no node {node}; there are nodes 0 to {nodes - 1}")
        for fault in self.fault:
            if fault.from_us < 0 or fault.until_us < fault.from_us:
                raise InputError(f"a fault lasts from {fault.from_us} us until {fault.until_us} us")
        return self

    def play(self, seed: int) -> "RefreshScenarioRun":
        """Run the scenario with one seed."""
        if self.drawn:
            world = small_world(seed)
            return RefreshScenarioRun(world.run(seed))
        return RefreshScenarioRun(run(self.setup, self.plan(seed), seed=seed))

    @property
    def setup(self) -> Setup:
        """The input of every seed."""
        texts = _fill_words(self.sql, self.words).split(";")
        first = tuple(Statement(sql=text.strip()) for text in texts if text.strip())
        return Setup(
            world=self.world,
            warehouse=self.warehouse,
            statement=(*first, *self.statement),
            writer=self.writer,
            reader=self.reader,
        )

    def plan(self, seed: int) -> tuple[AnyFault, ...]:
        """Return the faults of a seed."""
        if self.faults_drawn is None:
            return self.fault
        targets = faulty.Targets(
            nodes=self.world.nodes,
            bases=self.faults_drawn.bases,
            tables=self.faults_drawn.tables,
            surgeries=(),
            span_us=self.world.until_us,
        )
        draw = random.Random(f"{seed}/faults")
        return (*self.fault, *faulty.draw_faults(draw, targets, count_max=self.faults_drawn.count_max))


def _fill_words(sql: str, words: Mapping[str, str]) -> str:
    """Return statements with their words replaced.

    Raises:
        InputError: a word has no text, or is not used.
    """
    template = Template(sql)
    idle = [name for name in words if name not in template.get_identifiers()]
    if idle:
        raise InputError(f"the word {idle[0]} stands nowhere in `sql`: write ${idle[0]} there")
    try:
        return template.substitute(words)
    except KeyError as error:
        raise InputError(
            f"`sql` has ${error.args[0]}, and [words] does not tell what stands for it"
        ) from error
    except ValueError as error:
        raise InputError(f"`sql` has a $ without a name: {error}") from error


@dataclass(frozen=True, slots=True)
class RefreshScenarioRun:
    """A run of a scenario of dynamic tables, and its outcome."""

    run: RefreshRun

    @property
    def trace(self) -> Trace:
        """The events of the run."""
        return self.run.trace

    def measures(self) -> Mapping[str, float]:
        """Return the measures (`sim.refreshes.measures`)."""
        return measures(self.run)

    def latencies_us(self) -> Mapping[str, int]:
        """Return no latency: this simulation answers no queries."""
        return {}

    def violations(self) -> Iterable[Violation]:
        """Return the violated invariants (`sim.refreshes.checks`)."""
        return violations(self.run)

    def histories(self) -> Iterable[IsolationClaim]:
        """Return the histories that the isolation checker has to judge."""
        return histories(self.run)

    def results(self) -> Mapping[str, str]:
        """Return a digest of each refresh's result (`sim.refreshes.results`)."""
        return results(self.run)
