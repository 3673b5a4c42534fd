"""Check that the hunt finds known defects of old releases, without being told what they are.

    python bench/museum.py [--room N] [--only NAME] [--seeds N,N] [--seconds S] [--jobs N]
                           [--environments DIR] [--results FILE] [--json]

Each release runs in an environment of its own, made by pip when it is missing. A finding convicts it if the
finding has the traits of its area (`museums/releases.py`) and the current release, or the first one without
the fault, answers the same question about the same table rightly. What the current release gets wrong too is
passed over. Where the current release itself is on trial, what convicts is an answer that contradicts both
the engine with nothing to prune by and the reference. The seconds are those of the hunt: neither shrinking
nor judging is counted. Several jobs share the machine.

With several seeds a release is convicted if it is so by two thirds of them. The result of each release and
seed is appended to a file as a line of JSON; a later run of the same code with the same seconds takes from
there what is in it already, unless the release could not be asked. The command fails if one release is not
convicted.
"""

import argparse
import json
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from museums.releases import Release
from museums.rooms import ROOMS
from museums.trials import Trial, make_environments, try_release
from rich.console import Console
from rich.table import Table

import oracles.answers
import skipproof.stand
import strategies.engines

SECONDS_MAX = 300.0
_DIRECTORY = Path(__file__).parent.parent / ".museum"


def run_trials(
    tasks: Sequence[tuple[Release, int]], environments: Path, *, jobs: int, seconds_max: float
) -> Iterator[dict[str, Any]]:
    """Try each release with each seed, and yield each result when it ends; install all environments first."""
    # Hashed before the trials, because the code may change while they run.
    of_run = {"code": state_of_code(), "seconds_max": seconds_max}
    for release, _ in tasks:
        make_environments(release, environments)
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        trials = {}
        for release, seed in tasks:
            trial = pool.submit(try_release, release, environments, seed=seed, seconds_max=seconds_max)
            trials[trial] = release, seed
        for trial in as_completed(trials):
            release, seed = trials[trial]
            yield {"seed": seed, **of_run, **_outcome(release, trial).to_dict()}


def _outcome(release: Release, trial: Future[Trial]) -> Trial:
    """Return the outcome of a trial that has ended; an error of the stand ends this trial alone."""
    error = trial.exception()
    if error is None:
        return trial.result()
    print("".join(traceback.format_exception(error)), file=sys.stderr)
    because = f"{type(error).__name__} in the stand: {error}"
    return Trial(release=release, finding=None, elsewhere=(), examples=0, seconds=0.0, because=because)


@cache
def state_of_code() -> str:
    """Return a hash of the code of what is drawn, of the stand, of the judge, and of the trials."""
    packages = (strategies.engines, skipproof.stand, oracles.answers)
    directories = [Path(package.__path__[0]) for package in packages] + [Path(__file__).with_name("museums")]
    digest = sha256()
    for path in (path for directory in directories for path in sorted(directory.rglob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def saved_results(path: Path, *, seconds_max: float) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the results of a file by release and seed.

    They are of this code and of the same seconds, and of releases that were asked.
    """
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    results = [json.loads(line) for line in lines]
    return {
        (result["release"], result["seed"]): result
        for result in results
        if result.get("code") == state_of_code()
        and result["seconds_max"] == seconds_max
        and not result["because"]
    }


def is_convicted(results: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether at least two thirds of a release's seeds convict it."""
    return 3 * sum(result["convicted"] for result in results) >= 2 * len(results)


def verdict(result: Mapping[str, Any]) -> str:
    """Return the result in a word or a sentence."""
    return "convicted" if result["convicted"] else f"NOT CONVICTED {result['because']}".rstrip()


def main() -> None:
    """Try the releases."""
    names = [release.name for room in ROOMS.values() for release in room]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--room", type=int, default=1, choices=list(ROOMS))
    parser.add_argument("--only", action="append", metavar="NAME", choices=names)
    parser.add_argument("--seeds", type=_seeds, default=(0,), metavar="N,N")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX)
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--environments", type=Path, default=_DIRECTORY, metavar="DIR")
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    chosen = [
        release
        for release in ROOMS[arguments.room]
        if arguments.only is None or release.name in arguments.only
    ]
    file = arguments.results or arguments.environments / f"room-{arguments.room}.jsonl"
    results = saved_results(file, seconds_max=arguments.seconds)
    tasks = [(release, seed) for seed in arguments.seeds for release in chosen]
    left = [(release, seed) for release, seed in tasks if (release.name, seed) not in results]
    if len(left) < len(tasks):
        print(f"{len(tasks) - len(left)} of {len(tasks)} results are in {file}", file=sys.stderr)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        for result in run_trials(
            left, arguments.environments, jobs=arguments.jobs, seconds_max=arguments.seconds
        ):
            results[result["release"], result["seed"]] = result
            print(json.dumps(result), file=out, flush=True)
            print(result["release"], result["seed"], verdict(result), file=sys.stderr, flush=True)
    ordered = {release.name: [results[release.name, seed] for seed in arguments.seeds] for release in chosen}
    if arguments.json:
        print(json.dumps(ordered, indent=1))
    else:
        show(Console(), ordered)
    sys.exit(not all(map(is_convicted, ordered.values())))


def _seeds(text: str) -> tuple[int, ...]:
    """Return seeds that commas separate."""
    return tuple(dict.fromkeys(int(part) for part in text.split(",")))


def show(out: Console, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print a table of the results."""
    table = Table("release", "area", "seed", "examples", "seconds", "what", "traits", "found before")
    for name, of_seeds in results.items():
        for result in of_seeds:
            table.add_row(
                name,
                result["area"],
                str(result["seed"]),
                f"{result['examples']:,}",
                f"{result['seconds']:.1f}",
                result["difference"] if result["convicted"] else verdict(result),
                ", ".join(result.get("traits", ())),
                str(len(result["elsewhere"])),
            )
    out.print(table)
    convicted = sum(map(is_convicted, results.values()))
    out.print(f"{convicted} of {len(results)} convicted, each by two thirds of its seeds")


if __name__ == "__main__":
    main()
