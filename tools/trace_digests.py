"""Print a digest of the trace of each scenario, case and seed, to compare two versions of the simulator.

    python tools/trace_digests.py [--seeds N] [SCENARIO.toml ...] > FILE

Equal digests mean equal traces, byte for byte. Run it in two checkouts, and compare the two files.
"""

import argparse
import hashlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from sim.files import read
from sim.kernel.trace import lines
from sim.kernel.varying import Case, cases_with

SCENARIOS = Path(__file__).parents[1] / "sim" / "scenarios"


def trace_digest(case: Case, seed: int) -> str:
    """Return the SHA-256 of the lines of the trace, and of the measures, of one run."""
    played = case.scenario.play(seed)
    digest = hashlib.sha256()
    for line in lines(played.trace):
        digest.update(line)
    digest.update(repr(sorted(played.measures().items())).encode())
    return digest.hexdigest()


def runs(paths: list[Path], seed_count: int) -> Iterator[tuple[str, Case, int]]:
    """Yield each case of each scenario with the first seeds of the scenario."""
    for path in paths:
        scenario = read(path)
        for case in cases_with(scenario, ()):
            first = scenario.seeds.first
            for seed in range(first, first + seed_count):
                yield path.stem, case, seed


def main() -> None:
    """Print a line for each run: scenario, case, seed and digest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("scenarios", nargs="*", type=Path, help="all that are shipped, by default")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds of each case (5)")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    todo = list(runs(arguments.scenarios or sorted(SCENARIOS.glob("*.toml")), arguments.seeds))
    names, cases, seeds = zip(*todo, strict=True)
    with ProcessPoolExecutor(max_workers=arguments.workers) as pool:
        digests = pool.map(trace_digest, cases, seeds)
        for name, case, seed, digest in zip(names, cases, seeds, digests, strict=True):
            print(name, case.name or "-", seed, digest, sep="\t", flush=True)


if __name__ == "__main__":
    main()
