"""Measure the time and memory of checking histories of up to a million transactions.

    python bench/isolation_scale.py [--transactions N] [--without-networkx]

Each transaction has four operations; a tenth of them are derivations, on 10,000 objects (see
`isolation_workload.py`). Each figure is of one process with one thread that reads the history from Parquet:

- the check of a history without a cycle, to the verdict PL-3, at N transactions, a tenth and a hundredth of
  them, and the exponent by which the processor time grows;
- the check of a history with 5 % readers of two dynamic tables of which one is behind the other, and then the
  search for every reader that closes a cycle of one anti-dependency, with the share of searches left unknown;
- the components of the same graph by networkx.

Times are processor seconds and, beside them, seconds by the clock.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from isolation_workload import workload
from rich.console import Console
from rich.table import Table

from oracles import isolation
from oracles.isolation.columns import Columns
from oracles.isolation.cycles import closing_transactions
from oracles.isolation.edges import edges
from oracles.isolation.files import entries
from oracles.isolation.parquet_rows import table_of
from oracles.isolation.validity import validated_facts

SKEWED = 0.05
SECONDS_MAX, BYTES_MAX, UNKNOWN_MAX = 15.0, 3 * 2**30, 0.01


@contextmanager
def measure_seconds(found: dict[str, Any], name: str) -> Iterator[None]:
    """Record the processor seconds and the wall-clock seconds of a block under a name."""
    processor, clock = time.process_time(), time.perf_counter()
    yield
    found[name] = time.process_time() - processor
    found[f"{name} by the clock"] = time.perf_counter() - clock


def read(path: Path) -> Columns:
    (entry,) = entries(path)
    assert entry.columns is not None, entry.problem
    return entry.columns


def write(path: Path, transactions: int, skewed: float) -> dict[str, Any]:
    """Write a history; how many rows it has."""
    table = table_of(workload(transactions, skewed=skewed))
    pq.write_table(table, path)
    return {"rows": len(table), "bytes": path.stat().st_size}


def check(path: Path) -> dict[str, Any]:
    """Read and check a history."""
    found: dict[str, Any] = {}
    with measure_seconds(found, "read"):
        columns = read(path)
    with measure_seconds(found, "check"):
        result = isolation.check(columns)
    assert result.problem is None, result.problem
    return {**found, "phenomena": result.phenomena, "unknown": result.unknown, "strongest": result.strongest}


def singles(path: Path) -> dict[str, Any]:
    """Search for every reader that closes a cycle of one anti-dependency."""
    known = validated_facts(read(path))
    graph = edges(known, literal=False)
    found: dict[str, Any] = {"edges": len(graph)}
    with measure_seconds(found, "search"):
        readers, searches, unknown = closing_transactions(graph, len(known.transactions), known.end)
    return {**found, "readers": len(readers), "searches": searches, "unknown": unknown}


def networkx(path: Path) -> dict[str, Any]:
    """Return the components of the same graph by networkx, from arrays of its edges on."""
    import networkx as nx

    graph = edges(validated_facts(read(path)), literal=False)
    ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    found: dict[str, Any] = {"edges": len(ends)}
    with measure_seconds(found, "build"):
        directed = nx.DiGraph(ends)
    with measure_seconds(found, "components"):
        found["largest"] = max(map(len, nx.strongly_connected_components(directed)))
    return found


STEPS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "check": check,
    "singles": singles,
    "networkx": networkx,
}


def apart(step: str, path: Path, transactions: int = 0, skewed: float = 0.0) -> dict[str, Any]:
    """Run a step in a process of its own; return its figures with the peak memory."""
    command = [sys.executable, __file__, "--step", step, "--file", str(path)]
    command += ["--transactions", str(transactions), "--skewed", str(skewed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{step}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run_step(arguments: argparse.Namespace) -> None:
    pa.set_cpu_count(1)
    if arguments.step == "write":
        found = write(arguments.file, arguments.transactions, arguments.skewed)
    else:
        found = STEPS[arguments.step](arguments.file)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found))


def seconds(found: dict[str, Any], *names: str) -> str:
    """Format seconds of the processor and of the wall clock as `4.7 (5.1)`."""
    processor = sum(found[name] for name in names)
    clock = sum(found[f"{name} by the clock"] for name in names)
    return f"{processor:.2f} ({clock:.2f})"


def gigabytes(found: dict[str, Any]) -> str:
    return f"{found['memory'] / 2**30:.2f}"


def acyclic(out: Console, folder: Path, sizes: list[int]) -> dict[int, dict[str, Any]]:
    table = Table("transactions", "rows", "read, s", "check, s", "both, s", "memory, GiB", "strongest")
    found = {}
    for size in sizes:
        path = folder / f"acyclic-{size}.parquet"
        rows = apart("write", path, size)["rows"]
        found[size] = one = apart("check", path)
        both = seconds(one, "read", "check")
        levels = ", ".join(one["strongest"])
        table.add_row(
            f"{size:,}",
            f"{rows:,}",
            seconds(one, "read"),
            seconds(one, "check"),
            both,
            gigabytes(one),
            levels,
        )
    out.print(table)
    if sizes[-1] > sizes[0]:
        grown = {name: _exponent(found, *names) for name, names in COSTS.items()}
        told = ", ".join(f"{name} by the power {exponent:.2f}" for name, exponent in grown.items())
        out.print(f"from {sizes[0]:,} to {sizes[-1]:,} transactions the processor time grows: {told}")
    return found


COSTS = {"the check": ("check",), "with the reading": ("read", "check")}


def _exponent(found: dict[int, dict[str, Any]], *names: str) -> float:
    """Return the power of the size that the time is, from the smallest size to the largest."""
    first, last = min(found), max(found)
    times = [sum(found[size][name] for name in names) for size in (first, last)]
    return math.log(times[1] / times[0]) / math.log(last / first)


def print_skewed(out: Console, folder: Path, size: int) -> None:
    path = folder / "skewed.parquet"
    apart("write", path, size, SKEWED)
    one, every = apart("check", path), apart("singles", path)
    share = every["unknown"] / max(every["searches"], 1)
    out.print(
        f"\n{SKEWED:.0%} skewed readers, {size:,} transactions: checked in {seconds(one, 'read', 'check')} s "
        f"and {gigabytes(one)} GiB;\n  {', '.join(one['phenomena'])}; strongest {', '.join(one['strongest'])}"
    )
    out.print(
        f"  {every['readers']:,} readers close one anti-dependency's cycle; {every['searches']:,} searches "
        f"in {seconds(every, 'search')} s,\n  {every['unknown']:,} of them unknown, {share:.4%} (at most "
        f"{UNKNOWN_MAX:.0%}: {'yes' if share <= UNKNOWN_MAX else 'no'})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, default=1_000_000)
    parser.add_argument("--without-networkx", action="store_true")
    parser.add_argument("--step", choices=["write", *STEPS], help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--skewed", type=float, default=0.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step is not None:
        run_step(arguments)
        return
    out, size = Console(highlight=False, width=130), arguments.transactions
    sizes = sorted({max(size // share, 1_000) for share in (100, 10, 1)})
    with tempfile.TemporaryDirectory(prefix="isolation-") as temporary:
        folder = Path(temporary)
        whole = acyclic(out, folder, sizes)[sizes[-1]]
        took, memory = whole["read by the clock"] + whole["check by the clock"], whole["memory"]
        held = took <= SECONDS_MAX and memory <= BYTES_MAX and "PL-3" in whole["strongest"]
        out.print(f"PL-3 in {SECONDS_MAX:.0f} s and {BYTES_MAX / 2**30:.0f} GiB: {'yes' if held else 'no'}")
        print_skewed(out, folder, size)
        if not arguments.without_networkx:
            beside = apart("networkx", folder / f"acyclic-{sizes[-1]}.parquet")
            out.print(
                f"\nnetworkx, the {beside['edges']:,} edges of the acyclic history: built in "
                f"{seconds(beside, 'build')} s, components in {seconds(beside, 'components')} s, "
                f"{gigabytes(beside)} GiB"
            )


if __name__ == "__main__":
    main()
