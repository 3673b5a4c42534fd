"""Check that the hunt catches every mutant of the small engine, and measure how soon.

    PYTHONPATH=. python bench/small_engine_mutants.py [--only NAME] [--seed N] [--seconds S] [--json FILE]

Each mutant is hunted alone until one of its answers contradicts itself. An example is one question, asked
with statistics and without; nothing is shrunk. The command fails if a mutant survives.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from mutants.small_engine.catalogue import MUTANTS
from mutants.small_engine.mutating import Mutant
from skipproof.stand.hunt.hunting import Limits, capabilities, hunt

SECONDS_MAX = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """The result of hunting a mutant; `verdict` is empty if it survived."""

    mutant: str
    cause: str
    classes: str
    verdict: str
    examples: int
    seconds: float


def catch(mutant: Mutant, *, seed: int, seconds_max: float) -> Catch:
    """Hunt one mutant until it is caught, or the time is over."""
    engine = mutant.engine()
    limits = Limits(seconds=seconds_max, findings=1, worlds_to_shrink=0)
    state = hunt(engine, capabilities(engine), limits, hunt_seed=seed)
    verdict, examples, seconds = "", state.examples, state.seconds
    for finding in state.findings:
        assert finding.outcome.contradiction is not None
        verdict = finding.outcome.contradiction.verdict.value
        examples, seconds = finding.examples, finding.seconds
    return Catch(
        mutant=mutant.name,
        cause=mutant.cause,
        classes=" ".join(sorted(mutant.classes)),
        verdict=verdict,
        examples=examples,
        seconds=round(seconds, 1),
    )


def catches_table(catches: Sequence[Catch]) -> Table:
    """Return a table with a row for each mutant, and the medians."""
    table = Table(title=f"{len(catches)} mutants of the small engine")
    for heading in ("mutant", "cause", "verdict", "examples", "seconds"):
        table.add_column(heading, justify="right" if heading in ("examples", "seconds") else "left")
    for one in catches:
        table.add_row(
            one.mutant,
            one.cause,
            one.verdict or "[red]survived[/red]",
            f"{one.examples:,}",
            f"{one.seconds:.1f}",
        )
    caught = [one for one in catches if one.verdict]
    if caught:
        table.add_section()
        examples = statistics.median(one.examples for one in caught)
        seconds = statistics.median(one.seconds for one in caught)
        table.add_row(f"{len(caught)} caught", "", "median", f"{examples:,.0f}", f"{seconds:.1f}")
    return table


def main() -> None:
    """Hunt, print, and fail if a mutant survives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", help="the mutants whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="of each hunt (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX, help="for each (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures too")
    arguments = parser.parse_args()
    chosen = [one for one in MUTANTS if (arguments.only or "") in one.name]
    if not chosen:
        parser.error(f"no mutant's name contains {arguments.only!r}")
    catches = [
        catch(one, seed=arguments.seed, seconds_max=arguments.seconds)
        for one in track(chosen, description="hunting", console=Console(stderr=True))
    ]
    Console(width=150).print(catches_table(catches))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(one) for one in catches], indent=1) + "\n")
    sys.exit(not all(one.verdict for one in catches))


if __name__ == "__main__":
    main()
