"""Compare the simulator's predictions with [M] Figures 4 to 8, and measure its running time.

    python bench/metadata_figures.py [--markdown]

The world is that of `sim/scenarios/metadata-columnar-or-footers.toml`. Two of its numbers are fitted, to the
two points of Figure 4 that the text gives; all else is predicted with them as they are. Then: processor
seconds of runs over 3 million blocks; tasks of many blocks held against tasks of one, at 10,000 blocks; and
what the size of tasks does to an answer where the blocks that match lie together.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from sim.files import read
from sim.scans.checks import violations
from sim.scans.events import QueryBegan, QueryEnded, ScanPlanned
from sim.scans.measures import measures
from sim.scans.model import MetadataLocation
from sim.scans.run import ScanRun
from sim.scans.scenario import QuerySpec, Scenario, world_of_seed

SCENARIO = Path(__file__).parents[1] / "sim" / "scenarios" / "metadata-columnar-or-footers.toml"
PETABYTE, TEN_TERABYTES = 3_000_000, 30_000
BLOCKS_BOTH_WAYS = 10_000
BLOCKS_OF_SIZES = 300_000
# So few that tasks have five blocks at first; of 100 nodes each would have one.
NODES_BOTH_WAYS = 10
# A query that finds the metadata in memory comes when the one that scans it first is over.
LATER_US = 60_000_000
IN_A_MILLION, IN_A_THOUSAND = "k < 1000", "k < 1000000"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """One run.

    Attributes:
        seconds, metadata_seconds: Of the last query, by the simulated clock.
        work_seconds: Of workers and of the metadata service, of all queries.
        took: Processor seconds of the simulation and of its checks.
    """

    run: ScanRun
    seconds: float
    metadata_seconds: float
    work_seconds: float
    took: float


def run_query(
    blocks: int,
    condition: str,
    keeping: MetadataLocation,
    *,
    columns_read: int = 2,
    is_hot: bool = False,
    nodes: int | None = None,
    blocks_per_task: int | None = None,
    guided: int | None = None,
) -> Ran:
    """Run one query, or the same one twice if metadata is to be hot."""
    given = read(SCENARIO)
    query = QuerySpec(sql=f"SELECT * FROM t WHERE {condition}", columns_read=columns_read)
    world = replace(given.world, metadata=replace(given.world.metadata, keeping=keeping))
    warehouse = world.warehouse
    warehouse = replace(
        warehouse,
        nodes=nodes or warehouse.nodes,
        blocks_per_task=blocks_per_task or warehouse.blocks_per_task,
        guided=warehouse.guided if guided is None else guided,
    )
    world = replace(world, warehouse=warehouse)
    scenario = Scenario(
        title="",
        claim="",
        world=world,
        table=(replace(given.table[0], blocks=blocks),),
        query=(query, *([replace(query, arrives_us=LATER_US)] if is_hot else [])),
    )
    began = time.process_time()
    run = world_of_seed(scenario, 0).run(0)
    wrong = violations(run)
    took = time.process_time() - began
    assert not wrong, wrong[0]
    last = f"q{len(scenario.query) - 1}"
    times = [
        event.at_us
        for event in run.trace
        if isinstance(event, QueryBegan | QueryEnded) and event.query == last
    ]
    planned = [
        event.took_us for event in run.trace if isinstance(event, ScanPlanned) and event.scan == f"{last}/t"
    ]
    return Ran(
        run=run,
        seconds=(times[-1] - times[0]) / 1e6,
        metadata_seconds=sum(planned) / 1e6,
        work_seconds=measures(run)["work_us"] / 1e6,
        took=took,
    )


def predictions() -> Iterator[tuple[str, str, str, str]]:
    """Return the predictions: name, source, the simulator's figure and the published one."""
    columnar = run_query(PETABYTE, IN_A_MILLION, MetadataLocation.COLUMNAR)
    footers = run_query(PETABYTE, IN_A_MILLION, MetadataLocation.FOOTERS)
    yield "1 PB, 1 in a million, columnar", "Figure 4, fitted", f"{columnar.seconds:.2f} s", "2.5 s"
    yield "the same, footers", "Figure 4, fitted", f"{footers.seconds:.1f} s", "120 s"
    for wide, published in ((2, "0.2 of 1.2 s"), (23, "0.8 of 8.9 s")):
        hot = run_query(PETABYTE, IN_A_THOUSAND, MetadataLocation.COLUMNAR, columns_read=wide, is_hot=True)
        found = f"{hot.metadata_seconds:.2f} of {hot.seconds:.1f} s"
        yield f"1 in a thousand, {wide} columns: metadata, of all", "section 6", found, published
    small = [run_query(TEN_TERABYTES, IN_A_MILLION, keeping).seconds for keeping in MetadataLocation]
    yield "10 TB: footers to columnar", "section 6", f"{small[1] / small[0]:.1f}", "5 to 10"
    ratio = footers.work_seconds / columnar.work_seconds
    yield "1 PB, 1 in a million: slot seconds, the same way", "section 6", f"{ratio:,.0f}", "30,000"
    low = [run_query(PETABYTE, IN_A_THOUSAND, keeping).work_seconds for keeping in MetadataLocation]
    yield "1 PB, 1 in a thousand: slot seconds", "section 6", f"{low[1] / low[0]:,.0f}", "6,000"
    yield "simulating 1 PB, columnar", "processor time", f"{columnar.took:.1f} s", "at most 30 s"
    yield "simulating 1 PB, footers", "processor time", f"{footers.took:.1f} s", "at most 120 s"


def both_ways() -> Iterator[tuple[str, str, str, str]]:
    """Yield predictions with tasks of many blocks, and of one."""
    for keeping in MetadataLocation:
        for condition in (IN_A_MILLION, "k < 500000000", "k >= 0"):
            many = run_query(BLOCKS_BOTH_WAYS, condition, keeping, nodes=NODES_BOTH_WAYS)
            one = run_query(BLOCKS_BOTH_WAYS, condition, keeping, nodes=NODES_BOTH_WAYS, blocks_per_task=1)
            seconds = 100 * (many.seconds / one.seconds - 1)
            work = 100 * (many.work_seconds / one.work_seconds - 1)
            size = f"{BLOCKS_BOTH_WAYS:,} blocks, {NODES_BOTH_WAYS} nodes"
            what = f"{size}, {condition}, {keeping.value}: the scenario's tasks"
            yield what, "to tasks of one", f"time {seconds:+.2f} %, work {work:+.2f} %", "within 1 %"


def task_sizes() -> Iterator[tuple[str, str, str, str]]:
    """Yield predictions with fixed and guided task sizes; one block of 1,000 matches, all adjacent."""
    for size in (500, 100, 20):
        for guided in (0, given_guided()):
            done = run_query(
                BLOCKS_OF_SIZES, IN_A_THOUSAND, MetadataLocation.FOOTERS, blocks_per_task=size, guided=guided
            )
            what = f"{BLOCKS_OF_SIZES:,} blocks, footers, tasks of up to {size}, guided = {guided}"
            yield what, "sizes of tasks", f"{done.seconds:.1f} s, simulated in {done.took:.1f} s", ""


def given_guided() -> int:
    """Return the least blocks per task of the scenario."""
    return read(SCENARIO).world.warehouse.guided


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", action="store_true", help="For docs/explanation/simulator.md.")
    markdown = parser.parse_args().markdown
    head = ("what", "where it is from", "simulated", "published, or asked")
    rows = [*predictions(), *both_ways(), *task_sizes()]
    if markdown:
        print("\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * 4, *rows)))
        return
    table = Table(*head)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
